/* The example tensors of data/, for tests. Include it after cmocka.h. */
#pragma once

#include "support/tensor_reads.h"

/* The caller frees *x. */
static inline void read_data_tensor(struct coo *x, const char *path)
{
    const struct tns_options options = {.index_base = 1};
    struct error error = {0};
    if (read_path(x, path, &options, &error) != STATUS_OK)
        fail_msg("%s", error.message);
}
