/* The systems of all rows of a mode (numerics/row_term.h): one pass over the nonzeros in the
 * ordering of the mode sums b and G of a row after the other, and hands some at a time to a sink,
 * which solves or keeps them. No more than a few are in memory at a time. By all OpenMP threads;
 * results do not depend on their number. Implemented in host_systems.c and host_systems_simd.c. */
#pragma once

#include <stdbool.h>

#include "backend/host/host_entries.h"
#include "backend/host/host_rows_simd.h"
#include "backend/host/host_slices.h"
#include "base/error.h"
#include "numerics/row_rules.h"
#include "problem/loss.h"

#define HOST_SYSTEM_PAD 8 /* entries: of the widest vectors                        */

/* R rounded up: entries of a row of a system, the last ones 0. */
static inline uint64_t host_system_ld(uint64_t rank)
{
    return (rank + HOST_SYSTEM_PAD - 1) / HOST_SYSTEM_PAD * HOST_SYSTEM_PAD;
}

/* What is known of the listed entries after a pass. */
struct host_row_totals {
    double misfit;    /* sum of v (x - m)^2 - h m^2, with the new rows    */
    double size;      /* the sum of the magnitudes of what it was summed from */
    double penalty;   /* of a ridge that counts entries                   */
    double violation; /* of counts (struct backend_fit); no sum but the largest */
};

/* *to += *from. */
void host_row_totals_add(struct host_row_totals *to, const struct host_row_totals *from);

/* A system: its numbers, b (ld), q (ld, of counts; else 0) and G (ld x ld), of which entries (i, j)
 * with i <= j count. Where rows take a multiplicative step, there is no G. A short row may have Y
 * in place of G. */
struct host_system {
    double *number, *b, *q, *g;
    uint64_t factor; /* rows of Y (factor x ld), where G = Y'Y; 0: G is there */
};

/* Doubles of a system. */
uint64_t host_system_length(uint64_t rank, bool matrix);

/* The system at `at` (host_system_length). */
struct host_system host_system_at(double *at, uint64_t rank);

/* Rows with their systems, and the rows as they are, a (ld). */
struct host_system_rows {
    uint64_t count;
    uint64_t row[HOST_ROWS_MOST];
    struct host_system system[HOST_ROWS_MOST];
    double *a[HOST_ROWS_MOST];
};

/* Takes the systems of some rows, which it may change as it may the rows' a and scratch. Several
 * threads call it, each with its own *totals and different rows. */
typedef void host_system_sink(void *context, const struct host_system_rows *rows, double *scratch,
                              struct host_row_totals *totals);

struct host_systems {
    const struct host_slices *slices; /* borrowed, as all arrays are                       */
    const struct host_rows *factors;  /* of all modes; that of slices->mode has the old rows */
    const double *now;                /* (R): times the old rows, their weights            */
    const struct loss *loss;
    const struct row_rules *rules;
    host_system_sink *sink; /* NULL: only values are summed */
    void *context;
    uint64_t factor;  /* nonzeros of a row that the sink takes with Y, at most: no more than ld */
    uint64_t rows;    /* that the sink takes at a time, at most */
    uint64_t scratch; /* doubles that the sink needs            */
};

/* The systems of slices [first, last). *totals += what the sink adds. STATUS_MEMORY. */
enum status host_systems_sum(const struct host_systems *s, uint64_t first, uint64_t last,
                             struct host_row_totals *totals, struct error *error);

/* *sums of all slices. STATUS_MEMORY. */
enum status host_systems_values(const struct host_systems *s, struct loss_sums *sums,
                                struct error *error);

/* The rest is only for host_systems.c and its inner loops, host_systems_simd.c, which are compiled
 * once for each SIMD width. Matrices are row-major, and their rows have `ld` entries. */

/* The other modes' rows, of which z of a nonzero is the product; borrowed. */
struct host_products {
    int others;          /* order - 1 */
    uint64_t nnz, ahead; /* nonzeros from a row's prefetch to its use; 0: rows are not prefetched */
    uint64_t rank, ld;
    enum precision precision;                  /* of the entries of `rows`                */
    const void *rows[MAX_ORDER - 1];           /* (I_n x R)                               */
    const uint32_t *coordinate[MAX_ORDER - 1]; /* (nonzeros)                              */
};

/* Nonzeros, and what is computed of them. Arrays have room for a multiple of HOST_SYSTEM_PAD
 * nonzeros: those after the last are computed, too. */
struct host_products_block {
    uint64_t first, count;  /* nonzeros [first, first + count)                   */
    bool one;               /* a[0] is the row of all                            */
    const double *const *a; /* (count): the row (ld) of each nonzero, laid out   */
    double *z;              /* (count x ld); was 0 in the columns from R on      */
    double *m;              /* (count): the inner products of a and z            */
    const double *value;    /* (count): x, where b is not NULL                   */
    double *b;              /* (ld) or NULL                                      */
};

struct host_systems_kernels {
    uint64_t least, most; /* R, where `products` may have a b               */

    /* a (ld) = a row of entries, times `by` (R). */
    void (*read_row)(const struct host_products *p, const void *row, const double *by, double *a);

    /* to (ld) = a (ld), by vectors as `products` takes it. */
    void (*lay_out)(const struct host_products *p, const double *a, double *to);

    /* Makes z and m; or, where x has a b, only adds to b the sum of c[k] z_k, with the c of
     * poisson_term: for nonzeros of one row, of order 3 or 4. */
    void (*products)(const struct host_products *p, const struct host_products_block *x);

    /* b (ld) += sum over k of c[k] z_k. */
    void (*add_vector)(const double *z, uint64_t count, uint64_t ld, const double *c, double *b);

    /* g (ld x ld) += the sum of w[k] z_k z_k', or = where it is fresh, in its entries (i, j) with i
     * <= j at least. wz (count x ld) is scratch. Prefetches the other modes' rows of `count`
     * nonzeros from number `next` on, unless that is 0, while it has little else to wait for. */
    void (*add)(const struct host_products *p, uint64_t next, const double *z, uint64_t count,
                const double *w, double *wz, bool fresh, double *g);

    /* y (count x ld) = sqrt(w[k]) z_k; prefetches likewise. */
    void (*factor)(const struct host_products *p, uint64_t next, const double *z, uint64_t count,
                   const double *w, double *y);
};

extern const struct host_systems_kernels host_systems_double2, host_systems_double4,
    host_systems_double8;
