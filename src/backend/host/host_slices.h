/* The tensor in the ordering of a mode, as MTTKRP of that mode reads it on the host: slice by
 * slice, with the coordinates of the other modes as plain numbers. So coordinates are decoded only
 * once, and the kernel knows where rows end. Narrow slices take half the bytes: 16-bit coordinates,
 * and values as floats, which equal the doubles. */
#pragma once

#include <stdbool.h>

#include "tensor/blco.h"

#define HOST_SLICES_PAD 8

struct host_slices {
    struct shape shape;
    int mode;
    uint64_t nnz;
    bool narrow;
    uint32_t *coordinate[MAX_ORDER]; /* (nnz) of each other mode, and HOST_SLICES_PAD zeros, so that
                                      * vectors may read on; owned, as all arrays; NULL for `mode`,
                                      * and where narrow */
    double *value;                   /* (nnz); NULL where narrow */
    uint16_t *narrow_coordinate[MAX_ORDER]; /* the same, and NULL unless narrow */
    float *narrow_value;
    uint64_t count; /* slices that have nonzeros                        */
    uint32_t *row;  /* (count), ascending: the coordinates in `mode` that occur */
    uint64_t *end;  /* (count): after the last nonzero of each of them          */
};

/* Makes *s from *b, which is in the ordering of `mode`, and frees *b, by all OpenMP threads. The
 * caller frees *s with host_slices_free. STATUS_MEMORY: *s is empty, *b is freed. */
enum status host_slices_take(struct host_slices *s, struct blco *b, int mode, struct error *error);

/* Makes *s narrow if every value is a float and no other mode is longer than 65536. STATUS_MEMORY:
 * *s is empty. */
enum status host_slices_narrow(struct host_slices *s, struct error *error);

/* The number of the slice of nonzero i. */
uint64_t host_slices_of(const struct host_slices *s, uint64_t i);

/* row (count): the coordinates in s->mode of nonzeros [first, first + count). */
void host_slices_rows(const struct host_slices *s, uint64_t first, uint64_t count, uint32_t *row);

/* to (count): the coordinates in mode n, which is not s->mode, of nonzeros [first, first + count).
 */
void host_slices_coordinates(const struct host_slices *s, int n, uint64_t first, uint64_t count,
                             uint32_t *to);

/* to (count): the values of nonzeros [first, first + count). */
void host_slices_values(const struct host_slices *s, uint64_t first, uint64_t count, double *to);

/* The most bytes that the arrays of nnz nonzeros in up to `rows` slices take. */
uint64_t host_slices_bytes(int order, uint64_t nnz, uint64_t rows);

/* Accepts an empty *s. */
void host_slices_free(struct host_slices *s);
