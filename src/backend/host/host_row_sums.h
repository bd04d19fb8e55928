/* The MTTKRP kernel of the host: walks consecutive nonzeros of a block for one tile of columns,
 * sums a row of M in registers while the output index stays the same, and hands the row on when it
 * changes. */
#ifndef BLCO_HOST_ROW_SUMS_H
#define BLCO_HOST_ROW_SUMS_H

#include <stdbool.h>
#include <stdint.h>

#include "tensor/coo.h"

#define ROW_SUMS_MAX_TILE 32

/* One mode of a block: where its coordinate stands in the index, and its factor's rows. */
struct row_operand {
    const uint64_t *word; /* (nnz) index words                                            */
    uint64_t mask, base;
    const double *rows; /* the factor from the tile's first column on; NULL for the target */
    int shift;
};

/* What becomes of a summed row. */
enum row_sink {
    ROW_STORE,      /* rows come ascending: stored in M, rows between them zeroed         */
    ROW_ADD,        /* added to a private window, whose first row is `low`                */
    ROW_ATOMIC,     /* added to M as one atomic step; `low` is 0                          */
    ROW_ATOMIC_EACH /* the same after every nonzero                                       */
};

struct row_sums {
    enum row_sink sink;
    int others; /* order - 1 */
    struct row_operand target, other[MAX_ORDER - 1];
    const double *value;           /* (nnz)                                                 */
    uint64_t rank;                 /* R, the stride of every row                            */
    uint64_t column, width;        /* the tile: columns [column, column + width)            */
    bool distant;                  /* the operands' rows are more than a core's cache holds */
    double *m;                     /* M, or the private window                              */
    uint64_t low, high;            /* STORE: these two rows go to low_row and high_row      */
    double *low_row, *high_row;    /* (R) each                                              */
    uint64_t zero_from, zero_to;   /* STORE: empty rows in [zero_from, zero_to) become zero */
    uint64_t row;                  /* the present row ...                                   */
    double sum[ROW_SUMS_MAX_TILE]; /* ... and its sum                                       */
};

static inline uint64_t row_sums_coordinate(const struct row_operand *o, uint64_t i)
{
    return o->base | ((o->word[i] >> o->shift) & o->mask);
}

/* Starts a run of nonzeros at output row `row`. */
void row_sums_begin(struct row_sums *w, uint64_t row);

/* Nonzeros [first, last), all of the block that w->target and w->other describe. */
void row_sums_add(struct row_sums *w, uint64_t first, uint64_t last);

/* Hands on the last row. */
void row_sums_end(struct row_sums *w);

/* The kernels of one vector length (host_row_sums_simd*.c), and what they call that need not be
 * compiled for each. */
typedef void row_sum_kernel(struct row_sums *w, uint64_t first, uint64_t last);

struct row_sum_kernels {
    row_sum_kernel
        *kernel[2][4][2][4]; /* by distant, order (3, 4, 5, any), overlap, vectors of a tile */
};

extern const struct row_sum_kernels host_row_sums_simd1, host_row_sums_simd2, host_row_sums_simd4,
    host_row_sums_simd8;

/* Rows [from, to) of M, which no nonzero has. */
void row_sums_zero(const struct row_sums *w, uint64_t from, uint64_t to);

/* One lock for a row is many times cheaper than an atomic addition for each of its entries. Rows
 * that share a lock only wait for each other. */
void row_lock(uint64_t row);
void row_unlock(uint64_t row);

/* Where STORE leaves a row's tile. */
static inline double *row_store(const struct row_sums *w, uint64_t row)
{
    double *to = row == w->low ? w->low_row : row == w->high ? w->high_row : w->m + row * w->rank;
    return to + w->column;
}

#endif
