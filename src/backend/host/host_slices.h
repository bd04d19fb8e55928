/* The tensor in the ordering of a mode, as MTTKRP of that mode reads it on the host: slice by
 * slice, with the coordinates of the other modes as plain numbers. So coordinates are decoded only
 * once, and the kernel knows where rows end. */
#ifndef BLCO_HOST_SLICES_H
#define BLCO_HOST_SLICES_H

#include "tensor/blco.h"

struct host_slices {
    struct shape shape;
    int mode;
    uint64_t nnz;
    uint32_t *coordinate[MAX_ORDER]; /* (nnz) of each other mode; NULL for `mode`; owned */
    double *value;                   /* (nnz); owned                                     */
    uint64_t count;                  /* slices that have nonzeros                        */
    uint32_t *row; /* (count), ascending: the coordinates in `mode` that occur; owned */
    uint64_t *end; /* (count): after the last nonzero of each of them; owned          */
};

/* Makes *s from *b, which is in the ordering of `mode`, and frees *b, by all OpenMP threads. The
 * caller frees *s with host_slices_free. STATUS_MEMORY: *s is empty, *b is freed. */
enum status host_slices_take(struct host_slices *s, struct blco *b, int mode, struct error *error);

/* The number of the slice of nonzero i. */
uint64_t host_slices_of(const struct host_slices *s, uint64_t i);

/* row (count): the coordinates in s->mode of nonzeros [first, first + count). */
void host_slices_rows(const struct host_slices *s, uint64_t first, uint64_t count, uint32_t *row);

/* The most bytes that the arrays of nnz nonzeros in up to `rows` slices take. */
uint64_t host_slices_bytes(int order, uint64_t nnz, uint64_t rows);

/* Accepts an empty *s. */
void host_slices_free(struct host_slices *s);

#endif
