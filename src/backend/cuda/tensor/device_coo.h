/* The nonzeros in device memory: copied or decoded once, sorted once; every ordering is built from
 * them. Implemented in device_coo.c, device_coo_upload.c and device_coo_decode.c. */
#pragma once

#include <stdbool.h>

#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/device_staging.h"
#include "backend/cuda/tensor/device_pairs.h"
#include "formats/blco/blco_file.h"
#include "kernels/tensor/linearise.h"
#include "kernels/tensor/part.h"
#include "kernels/tensor/tuples.h"
#include "tensor/ordering.h"

/* The nonzeros in the order in which they came, until they are sorted. */
struct device_coo {
    struct shape shape;
    uint64_t nnz;
    struct ordering ordering;   /* ordering_common's: the longest mode lowest              */
    bool sorted;                /* the nonzeros are sorted along its line                  */
    uint64_t *line;             /* (nnz): lines in this ordering; NULL where a line has more than 64
                                 * bits; device, owned */
    uint32_t *index[MAX_ORDER]; /* (nnz) each where `line` is NULL; device, owned          */
    double *value;              /* (nnz); device, owned                                    */
    double norm_sq;             /* ||X||^2, where the nonzeros were decoded; else 0        */
    const struct device_pool *pool; /* of these arrays and of what is built from them      */
};

/* Sets everything but the arrays, which are NULL. The pool is borrowed and must outlive *d. */
void device_coo_init(struct device_coo *d, const struct shape *shape, uint64_t nnz,
                     const struct device_pool *pool);

/* Copies x to the device, into arrays of the pool, which is borrowed and works on the staging's
 * stream. x may be freed afterwards.
 * On failure *d is empty. STATUS_MEMORY. */
enum status device_coo_upload(struct device_coo *d, const struct coo *x,
                              struct device_staging *staging, const struct device_pool *pool,
                              struct error *error);

/* As device_coo_upload, from a .blco file: its segments cross the bus as they are and are decoded
 * on the device, so the host needs no memory for coordinates. The tensor's coordinates must fit
 * into words (decoded_layout_create). The segments are checked while they are copied. Sets
 * d->norm_sq. STATUS_INPUT where the file is damaged. Needs device memory beyond the result: the
 * file's bytes, or 8 a nonzero where that is more; 160 MB where lines have more than 64 bits. */
enum status device_coo_decode(struct device_coo *d, const struct blco_file *f,
                              struct device_staging *staging, const struct device_pool *pool,
                              struct error *error);

/* As device_coo_decode, for the nonzeros in `part` alone; only segments that may have some cross
 * the bus. Coordinates count from the first row of each range, part->here has the lengths, and
 * every nonzero has its coordinates (d->index), until device_coo_linearise. d->norm_sq is that of
 * the part. Without nonzeros there are no arrays. Needs device memory beyond the result: the
 * segments' bytes and 160 MB. */
enum status device_coo_decode_part(struct device_coo *d, const struct blco_file *f,
                                   const struct part *part, struct device_staging *staging,
                                   const struct device_pool *pool, struct error *error);

/* *d = of the nonzeros of all ranks, `from` (ranks), those that a rank needs for a mode whose rows
 * are dealt (kernels/tensor/part.h; x, value, nnz and own are set here), in the order of the ranks.
 * `from` have one shape. Without nonzeros there are no arrays. On failure *d is empty.
 * STATUS_MEMORY. */
enum status device_coo_deal(struct device_coo *d, const struct device_coo *from,
                            const struct part_dealt *rows, struct error *error);

/* touched[i] (`rows`, host) = 1 where some nonzero has coordinate i of mode n, else 0; d->index[n]
 * has these coordinates. STATUS_MEMORY. */
enum status device_coo_touched(const struct device_coo *d, int n, unsigned char *touched,
                               uint64_t rows, struct device_staging *staging, struct error *error);

/* Coordinate i of mode n becomes place[i] (`rows`, host). Returns when place has been read.
 * STATUS_MEMORY. */
enum status device_coo_renumber(struct device_coo *d, int n, const uint32_t *place, uint64_t rows,
                                struct device_staging *staging, struct error *error);

/* Gives nonzeros that have their coordinates this shape; where lines have at most 64 bits, d->line
 * takes the place of d->index. STATUS_MEMORY. */
enum status device_coo_linearise(struct device_coo *d, const struct shape *shape,
                                 struct error *error);

/* Sorts the nonzeros along d->ordering. Every `mode n` tensor built from them then sorts by mode
 * n's bits alone, so this pays if there are two or more. Asynchronous. Device memory while it runs:
 * 16 bytes a nonzero where d->line is used, 28 otherwise (36 from 2^32 nonzeros on). STATUS_MEMORY
 * leaves *d as it was. */
enum status device_coo_sort(struct device_coo *d, struct error *error);

/* How many of the lowest bits of o's line need no sorting, since x is already sorted by them. */
int device_coo_sorted_bits(const struct device_coo *x, const struct ordering *o);

/* Sorts x's nonzeros, which are given by their coordinates, along the line of o: the values of p
 * (nnz pairs) become their positions (device_pairs_position_size). The keys are undefined
 * afterwards. STATUS_MEMORY. */
enum status device_coo_sort_positions(struct array_pairs *p, const struct device_coo *x,
                                      const struct ordering *o, struct error *error);

/* Takes the arrays d->index. STATUS_MEMORY. */
enum status device_coo_take_indices(struct device_coo *d, struct error *error);

/* Takes d->value, and d->line or, where a line has more than 64 bits, d->index. STATUS_MEMORY. */
enum status device_coo_take_arrays(struct device_coo *d, struct error *error);

/* x's lines or index arrays, for a kernel that reads them, and d's arrays, for one that selects
 * nonzeros. */
struct tuples_nonzeros device_coo_tuples(const struct device_coo *x);
struct select_target device_coo_target(const struct device_coo *d);

/* Hands the arrays back to the pool; accepts a zeroed one. */
void device_coo_free(struct device_coo *d);
