/* For tests of .blco files: writing a tensor's file in one call, and checking what is read.
 * Include it after cmocka.h and scratch.h. */
#pragma once

#include "base/memory.h"
#include "formats/blco/blco_file.h"
#include "formats/external_sort.h"
#include "support/lines.h"
#include "support/naive.h"
#include "tensor/ordering.h"

static inline void copy_coo(struct coo *to, const struct coo *x)
{
    struct error error = {0};
    assert_int_equal(coo_create(to, &x->shape, x->nnz, &error), STATUS_OK);
    for (int n = 0; n < x->shape.order; n++)
        memcpy(to->index[n], x->index[n], x->nnz * sizeof *x->index[n]);
    memcpy(to->value, x->value, x->nnz * sizeof *x->value);
}

/* Writes the file of x, which does not change. */
static inline enum status write_blco(const struct coo *x, const char *path,
                                     struct external_sort_report *report, struct error *error)
{
    struct external_sort sort;
    struct coo copy;
    *error = (struct error){0};
    copy_coo(&copy, x);
    external_sort_init(&sort, path, 1 << 20, NULL);
    enum status status = external_sort_write(&sort, &copy, report, error);
    external_sort_free(&sort);
    return status;
}

static inline enum status read_blco(struct coo *x, const char *path, struct error *error)
{
    struct blco_file f;
    *x = (struct coo){0};
    *error = (struct error){0};
    if (blco_file_open(&f, path, error) == STATUS_OK)
        blco_file_read(&f, x, NULL, error);
    blco_file_close(&f);
    return error->status;
}

struct placed {
    uint64_t line[MAX_LINE_WORDS], position;
};

static inline int compare_placed(const void *a, const void *b)
{
    const struct placed *p = a, *q = b;
    for (int w = MAX_LINE_WORDS - 1; w >= 0; w--)
        if (p->line[w] != q->line[w])
            return p->line[w] < q->line[w] ? -1 : 1;
    return 0;
}

/* `got` has the nonzeros of x, whose coordinates are distinct, to the last bit, along the ordering
 * `kind`. */
static inline void assert_sorted_along(const struct coo *got, const struct coo *x, int kind)
{
    struct placed *placed = calloc(x->nnz + 1, sizeof *placed);
    struct ordering o;
    assert_non_null(placed);
    ordering_create(&o, kind, &x->shape, 64);
    for (uint64_t i = 0; i < x->nnz; i++) {
        uint32_t coordinate[MAX_ORDER];
        for (int n = 0; n < x->shape.order; n++)
            coordinate[n] = x->index[n][i];
        encode_line(&o, coordinate, placed[i].line);
        placed[i].position = i;
    }
    qsort(placed, x->nnz, sizeof *placed, compare_placed);
    assert_int_equal(got->shape.order, x->shape.order);
    assert_int_equal(got->nnz, x->nnz);
    for (int n = 0; n < x->shape.order; n++) {
        assert_int_equal(got->shape.dims[n], x->shape.dims[n]);
        for (uint64_t i = 0; i < x->nnz; i++)
            assert_int_equal(got->index[n][i], x->index[n][placed[i].position]);
    }
    for (uint64_t i = 0; i < x->nnz; i++)
        assert_memory_equal(&got->value[i], &x->value[placed[i].position], sizeof *x->value);
    free(placed);
}

static inline void assert_sorted_as(const struct coo *got, const struct coo *x)
{
    assert_sorted_along(got, x, ORDERING_ALTO);
}

/* The file's bytes; the caller frees them. */
static inline char *file_bytes(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *size = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static inline struct blco_file_header *header_of(char *bytes)
{
    return (struct blco_file_header *)(void *)bytes;
}

static inline struct blco_file_segment *segment_of(char *bytes)
{
    return (struct blco_file_segment *)(void *)(bytes + header_of(bytes)->directory_offset);
}
