/* Models for tests, and their files in the scratch folder. */
#pragma once

#include <string.h>

#include "base/outfile_set.h"
#include "formats/ktensor/ktensor_io.h"
#include "support/scratch.h"

#define ALL_FORMATS KTENSOR_FORMATS

/* Factor matrices uninitialised. */
static inline struct ktensor model_create(int order, const uint64_t *dims, uint64_t rank)
{
    struct error error = {0};
    struct ktensor k;
    assert_int_equal(ktensor_create(&k, SHAPE(order, dims), rank, &error), STATUS_OK);
    return k;
}

/* Normal factor matrices, unsorted lambda of either sign. */
static inline struct ktensor model_random(int order, const uint64_t *dims, uint64_t rank,
                                          uint64_t seed)
{
    struct ktensor k = model_create(order, dims, rank);
    ktensor_randomise(&k, KTENSOR_NORMAL, seed);
    for (uint64_t r = 0; r < rank; r++)
        k.lambda[r] = (r % 2 ? -1 : 1) * (1.0 + (double)(r * 7 % 5));
    return k;
}

static inline struct ktensor model_copy(const struct ktensor *k)
{
    struct ktensor c = model_create(k->shape.order, k->shape.dims, k->rank);
    memcpy(c.lambda, k->lambda, k->rank * sizeof *k->lambda);
    for (int n = 0; n < k->shape.order; n++)
        memcpy(c.factor[n], k->factor[n], k->shape.dims[n] * k->rank * sizeof(double));
    return c;
}

/* Random factor matrices, descending lambda. */
static inline struct ktensor model_make(const struct shape *shape, uint64_t rank)
{
    struct error error = {0};
    struct ktensor k;
    assert_int_equal(ktensor_create(&k, SHAPE(shape->order, shape->dims), rank, &error), STATUS_OK);
    ktensor_randomise(&k, KTENSOR_NORMAL, rank + 1);
    for (uint64_t r = 0; r < rank; r++)
        k.lambda[r] = 1000.0 / (double)(r + 3);
    return k;
}

/* The model without what is beside it; empty on failure. */
static inline enum status model_read(struct ktensor *k, const char *stem, struct error *error)
{
    struct named_model m = {.stem = stem};
    const enum status status = named_model_read(&m, NULL, error);
    *k = m.k;
    labels_free(&m.names);
    return status;
}

/* ktensor_write, holding the lock of the stem for this call only. */
static inline enum status model_write_at(const struct ktensor *k, const char *stem,
                                         unsigned formats, struct ktensor_files *files,
                                         struct error *error)
{
    struct stem_lock lock;
    *files = (struct ktensor_files){0};
    if (outfile_set_lock(&lock, stem, error) == STATUS_OK)
        ktensor_write(&(struct ktensor_source){.k = k}, NULL, NULL, &lock, formats, files, error);
    stem_lock_release(&lock);
    return error->status;
}

static inline int model_same_bits(const struct ktensor *a, const struct ktensor *b)
{
    if (a->shape.order != b->shape.order || a->rank != b->rank ||
        memcmp(a->lambda, b->lambda, a->rank * sizeof(double)) != 0)
        return 0;
    for (int n = 0; n < a->shape.order; n++)
        if (a->shape.dims[n] != b->shape.dims[n] ||
            memcmp(a->factor[n], b->factor[n], a->shape.dims[n] * a->rank * sizeof(double)) != 0)
            return 0;
    return 1;
}

/* Two modes of lengths 2 and 1, rank 3. */
static inline struct ktensor model_small(void)
{
    struct ktensor k = model_make(&(struct shape){2, {2, 1}}, 3);
    memcpy(k.lambda, (double[]){3, 2.5, 0.1}, 3 * sizeof(double));
    memcpy(k.factor[0], (double[]){1, 0.5, -2, 0, 1e-7, 4}, 6 * sizeof(double));
    memcpy(k.factor[1], (double[]){1, -1, 0.25}, 3 * sizeof(double));
    return k;
}

/* Writes STEM "m"; returns the number of files. */
static inline int model_write(const struct ktensor *k, unsigned formats)
{
    struct error error = {0};
    struct ktensor_files files;
    assert_int_equal(model_write_at(k, scratch_path("m"), formats, &files, &error), STATUS_OK);
    int count = files.count;
    for (int i = 0; i < count; i++)
        assert_int_equal(access(files.path[i], R_OK), 0);
    ktensor_files_free(&files);
    ktensor_files_free(&files);
    return count;
}

static inline void assert_bytes(const char *name, const char *expected, size_t size)
{
    char bytes[4096];
    assert_int_equal(scratch_read(scratch_path(name), bytes, sizeof bytes), size);
    assert_memory_equal(bytes, expected, size);
}
