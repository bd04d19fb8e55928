/* The systems of all rows of a mode (numerics/row_term.h): one pass over the nonzeros in the
 * ordering of the mode sums b and G of a row after the other, and hands some at a time to a sink,
 * which solves or keeps them. No more than a few are in memory at a time. By all OpenMP threads;
 * results do not depend on their number. */
#ifndef BLCO_HOST_SYSTEMS_H
#define BLCO_HOST_SYSTEMS_H

#include <stdbool.h>

#include "backend/host/host_entries.h"
#include "backend/host/host_rows_simd.h"
#include "backend/host/host_slices.h"
#include "backend/host/host_terms.h"
#include "base/error.h"
#include "numerics/row_rules.h"

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

/* Adds `from` to `to`, systems of parts of one row; their lengths are `length`. */
void host_system_join(double *to, const double *from, uint64_t length);

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
    const struct row_rules *rules;
    host_system_sink *sink;
    void *context;
    uint64_t factor;  /* nonzeros of a row that the sink takes with Y, at most: no more than ld */
    uint64_t rows;    /* that the sink takes at a time, at most */
    uint64_t scratch; /* doubles that the sink needs            */
};

/* The systems of slices [first, last). *totals += what the sink adds. STATUS_MEMORY. */
enum status host_systems_sum(const struct host_systems *s, uint64_t first, uint64_t last,
                             struct host_row_totals *totals, struct error *error);

/* *sums of all slices. STATUS_MEMORY. */
enum status host_systems_values(const struct host_systems *s, struct host_value_sums *sums,
                                struct error *error);

#endif
