/* The systems of all rows of a mode (numerics/row_term.h): one pass over the nonzeros in the
 * ordering of the mode sums b and G of a row after the other, and hands each to a sink, which
 * solves or keeps it. No more than a few are in memory at a time. By all OpenMP threads; results do
 * not depend on their number. */
#ifndef BLCO_HOST_SYSTEMS_H
#define BLCO_HOST_SYSTEMS_H

#include "backend/host/host_entries.h"
#include "backend/host/host_slices.h"
#include "base/error.h"

/* What is known of the listed entries after a pass. */
struct host_row_totals {
    double misfit;  /* sum of v (x - m)^2 - h m^2, with the new rows    */
    double size;    /* the sum of the magnitudes of what it was summed from */
    double penalty; /* of a ridge that counts entries                   */
};

/* A system: b (ld), then G (ld x ld), of which entries (i, j) with i <= j count, then the numbers
 * of enum host_system_number. Systems of parts of a row are added entry by entry. */
enum host_system_number {
    SYSTEM_KNOWN,  /* listed entries whose value is known             */
    SYSTEM_MISFIT, /* struct host_row_totals, with the row as it was  */
    SYSTEM_SIZE,
    SYSTEM_NUMBERS
};

/* R rounded up: entries of a row of a system. */
uint64_t host_system_ld(uint64_t rank);

/* Doubles of a system. */
uint64_t host_system_length(uint64_t rank);

/* Its number `which`. */
static inline double *host_system_number(double *system, uint64_t ld, enum host_system_number which)
{
    return system + ld + ld * ld + which;
}

/* Takes the system of `row`; a (ld) is the row, which it may change as it may `system` and scratch.
 * Several threads call it, each with its own *totals and a different row. */
typedef void host_system_sink(void *context, uint64_t row, double *system, double *a,
                              double *scratch, struct host_row_totals *totals);

struct host_systems {
    const struct host_slices *slices; /* borrowed, as all arrays are                       */
    const struct host_rows *factors;  /* of all modes; that of slices->mode has the old rows */
    const double *now;                /* (R): times the old rows, their weights            */
    double unlisted;                  /* h                                                 */
    host_system_sink *sink;
    void *context;
    uint64_t scratch; /* doubles that the sink needs */
};

/* The systems of slices [first, last). *totals += what the sink adds. STATUS_MEMORY. */
enum status host_systems_sum(const struct host_systems *s, uint64_t first, uint64_t last,
                             struct host_row_totals *totals, struct error *error);

/* *sum_sq = the sum of m^2 over the listed entries whose value is known. STATUS_MEMORY. */
enum status host_systems_model_sq(const struct host_systems *s, double *sum_sq,
                                  struct error *error);

#endif
