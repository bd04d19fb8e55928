/* The example tensors of data/, for tests. Include it after cmocka.h. */
#ifndef BLCO_DATA_TENSORS_H
#define BLCO_DATA_TENSORS_H

#include "formats/tns/tns.h"

/* The caller frees *x. */
static inline void read_data_tensor(struct coo *x, const char *path)
{
    const struct tns_options options = {.index_base = 1};
    struct tns_report report;
    struct error error = {0};
    if (tns_read(x, path, &options, NULL, &report, &error) != STATUS_OK)
        fail_msg("%s", error.message);
}

#endif
