/* NumPy array files for tests. Include it after cmocka.h and support/scratch.h. */
#pragma once

#include <inttypes.h>

#include "tensor/coo.h"

/* Writes an array of this type, as "<i8", of shape (rows, cols), or (rows,) if cols is 0. Returns
 * the file's path, as scratch_path does. */
static inline const char *npy_write_file(const char *name, const char *type, bool fortran,
                                         uint64_t rows, uint64_t cols, const void *entries)
{
    char header[200], shape[64];
    const size_t size = (size_t)(type[2] - '0') * rows * (cols ? cols : 1);
    char *bytes = malloc(128 + size);
    assert_non_null(bytes);
    snprintf(shape, sizeof shape, cols ? "%" PRIu64 ", %" PRIu64 : "%" PRIu64 ",", rows, cols);
    snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }", type,
             fortran ? "True" : "False", shape);
    memcpy(bytes, "\x93NUMPY\1\0\x76\0", 10);
    memset(bytes + 10, ' ', 117);
    memcpy(bytes + 10, header, strlen(header));
    bytes[127] = '\n';
    memcpy(bytes + 128, entries, size);
    const char *path = scratch_file(name, bytes, 128 + size);
    free(bytes);
    return path;
}

static inline void npy_put(void *to, const char *type, uint64_t i, double value)
{
    switch (type[1] << 8 | type[2]) {
    case 'f' << 8 | '8':
        ((double *)to)[i] = value;
        break;
    case 'f' << 8 | '4':
        ((float *)to)[i] = (float)value;
        break;
    case 'i' << 8 | '8':
    case 'u' << 8 | '8':
        ((int64_t *)to)[i] = (int64_t)value;
        break;
    case 'i' << 8 | '4':
        ((int32_t *)to)[i] = (int32_t)value;
        break;
    case 'u' << 8 | '4':
        ((uint32_t *)to)[i] = (uint32_t)value;
        break;
    case 'i' << 8 | '2':
    case 'u' << 8 | '2':
        ((int16_t *)to)[i] = (int16_t)value;
        break;
    default:
        ((int8_t *)to)[i] = (int8_t)value;
    }
}

/* Writes the coordinates of x, plus `base`, to c.npy and its values to v.npy. Returns both paths
 * with a comma between them, valid until the next call. */
static inline const char *npy_write_coo(const struct coo *x, const char *index_type, bool fortran,
                                        int base, const char *value_type)
{
    static char path[1100];
    const uint64_t order = (uint64_t)x->shape.order, nnz = x->nnz;
    void *entries = malloc(8 * order * nnz);
    assert_non_null(entries);
    for (uint64_t i = 0; i < nnz; i++)
        for (uint64_t n = 0; n < order; n++)
            npy_put(entries, index_type, fortran ? n * nnz + i : i * order + n,
                    (double)x->index[n][i] + base);
    npy_write_file("c.npy", index_type, fortran, nnz, order, entries);
    for (uint64_t i = 0; i < nnz; i++)
        npy_put(entries, value_type, i, x->value[i]);
    npy_write_file("v.npy", value_type, false, nnz, 0, entries);
    free(entries);
    snprintf(path, sizeof path, "%s,%s", scratch_path("c.npy"), scratch_path("v.npy"));
    return path;
}
