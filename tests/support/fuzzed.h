/* For fuzz targets: bytes as a file, and what a reader of tensors leaves. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tensor/coo.h"

#define FUZZED_PATH 32

/* A file in memory, and its path. The caller closes it. */
static inline int fuzzed_file(char path[FUZZED_PATH], const void *bytes, size_t size)
{
    const int fd = memfd_create("fuzz", 0);
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
        abort();
    snprintf(path, FUZZED_PATH, "/proc/self/fd/%d", fd);
    return fd;
}

/* A tensor whose indices are below the lengths, or a message and nothing else. */
static inline void fuzzed_check(enum status status, const struct coo *x, const struct error *error)
{
    if ((status == STATUS_OK) != (error->message[0] == '\0') || (status != STATUS_OK && x->value))
        abort();
    for (uint64_t i = 0; status == STATUS_OK && i < x->nnz; i++)
        for (int n = 0; n < x->shape.order; n++)
            if (x->index[n][i] >= x->shape.dims[n])
                abort();
}
