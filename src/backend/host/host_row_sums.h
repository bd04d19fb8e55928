/* The MTTKRP kernel of the host: goes through consecutive nonzeros, for one tile of columns, sums a
 * row of M in registers, and stores or adds the sum where the next row begins. host_mttkrp.c calls
 * it. Implemented in host_row_sums_simd.c, for each kind of entries and SIMD width. Entries are
 * doubles or floats. A sum of floats has the errors of about a hundred roundings at most: after
 * so many nonzeros of a row, the sum is added to another in double precision. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "backend/host/host_entries.h"
#include "tensor/coo.h"

#define HOST_ROW_SUMS_MAX_TILE 64 /* columns: SIMD_TILE_VECTORS vectors of 16 */

/* Where a summed row goes. */
enum host_row_sink {
    HOST_ROW_STORE,      /* rows ascend: stored in M, and the rows between them zeroed         */
    HOST_ROW_ADD,        /* added to a private window, whose first row is `low`                */
    HOST_ROW_ATOMIC_EACH /* each nonzero by itself added to M under the row's lock; `low` is 0 */
};

/* Nonzeros as the kernel reads them. A stretch is neighbouring nonzeros of one row of M; in the
 * ordering of the mode, it is a slice. Arrays are borrowed. */
struct host_nonzeros {
    bool narrow;                           /* coordinates are uint16_t and values float, in place of
                                            * uint32_t and double                              */
    const void *coordinate[MAX_ORDER - 1]; /* (nnz) of each other mode                         */
    const void *value;                     /* (nnz)                                            */
    const uint32_t *row;                   /* (stretches): of M                                */
    const uint64_t *end;                   /* (stretches): after a stretch's last nonzero      */
};

/* The sum in progress. Arrays are borrowed. */
struct host_row_sums {
    enum host_row_sink sink;
    int others;                         /* order - 1                                            */
    const void *rows[MAX_ORDER - 1];    /* the other modes' factors, from the tile's first column */
    enum precision precision;           /* of entries                                           */
    uint64_t rank;                      /* R, the stride of every row                           */
    uint64_t column, width;             /* the tile: columns [column, column + width)           */
    uint64_t ahead;                     /* nonzeros from a row's prefetch to its use; 0: rows are
                                         * not prefetched                                       */
    void *m;                            /* M, or the private window: rows of R                  */
    uint64_t low, high;                 /* STORE: rows whose sums go to low_row and high_row    */
    void *low_row, *high_row;           /* (R) each                                             */
    uint64_t zero_from, zero_to;        /* STORE: empty rows in [zero_from, zero_to) become zero */
    uint64_t row;                       /* the present row ...                                  */
    double sum[HOST_ROW_SUMS_MAX_TILE]; /* ... and its sum, (width)                         */
};

/* Adds nonzeros [first, last), the first of which is in stretch number `stretch`. */
typedef void host_row_sums_kernel(struct host_row_sums *s, const struct host_nonzeros *x,
                                  uint64_t stretch, uint64_t first, uint64_t last);

struct host_row_sums_kernels {
    /* by whether nonzeros are narrow, whether rows are prefetched, order (3, 4, 5, any), vectors of
     * a tile - 1 */
    host_row_sums_kernel *kernel[2][2][4][4];
};

extern const struct host_row_sums_kernels host_row_sums_double1, host_row_sums_double2,
    host_row_sums_double4, host_row_sums_double8;
extern const struct host_row_sums_kernels host_row_sums_float1, host_row_sums_float4,
    host_row_sums_float8, host_row_sums_float16;

/* The next three are in host_mttkrp.c. Zeroes the tile of rows [from, to) of M, which no nonzero
 * has. */
void host_row_sums_zero(const struct host_row_sums *s, uint64_t from, uint64_t to);

/* One lock for a row is many times cheaper than an atomic addition for each of its entries. Rows
 * that share a lock only wait for each other. */
void host_row_lock(uint64_t row);
void host_row_unlock(uint64_t row);

/* STORE: where the tile of this row's sum goes. */
static inline void *host_row_store(const struct host_row_sums *s, uint64_t row)
{
    if (row == s->low || row == s->high)
        return host_entry(row == s->low ? s->low_row : s->high_row, s->column, s->precision);
    return host_entry(s->m, row * s->rank + s->column, s->precision);
}

/* Other sinks: where the tile of this row's sum is added. */
static inline void *host_row_added(const struct host_row_sums *s, uint64_t row)
{
    return host_entry(s->m, (row - s->low) * s->rank + s->column, s->precision);
}
