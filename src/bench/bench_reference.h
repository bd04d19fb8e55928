/* The right results of MTTKRP, in double precision, computed in another way than the measured ones:
 *
 *   - some rows by their definition (bench_reference_rows.h), for nonzeros that stay in their file
 *     and for a large streamed tensor;
 *   - otherwise, to check a GPU, by the host, unless that would take long;
 *   - otherwise by the same backend with `atomic`, which adds every nonzero by itself. The other
 *     resolutions then confirm `atomic`; if it is the only one measured, by `register`. */
#ifndef BLCO_BENCH_REFERENCE_H
#define BLCO_BENCH_REFERENCE_H

#include "bench/bench.h"
#include "bench/bench_reference_rows.h"

struct bench_reference {
    char name[64]; /* "the host", "atomic on cuda"            */
    struct shape shape;
    uint64_t rank;
    double *m[MAX_ORDER];               /* (I_n x R) each; NULL if there is a sample; owned */
    struct bench_reference_rows sample; /* empty if there is m */
    double *other;                      /* (longest mode x R): scratch, the M to compare; owned */
};

/* *f = M of every mode of the request's tensor, whose rows must be divided (rank_rows.h), with the
 * factor matrices of `start`. The caller frees *f with
 * bench_reference_free, after a failure too. STATUS_MEMORY, and errors as backend_open and
 * bench_reference_rows_create. */
enum status bench_reference_create(struct bench_reference *f, const struct bench_request *request,
                                   const struct ktensor *start, struct progress *progress,
                                   struct error *error);

/* *difference = ||M - reference|| / ||reference|| for the M of the backend's last MTTKRP, that of
 * `mode`, over the rows that the reference has; 0 where the two are equal. Errors as
 * backend_fetch. */
enum status bench_reference_compare(const struct bench_reference *f, struct backend *b, int mode,
                                    double *difference, struct error *error);

/* The largest relative difference from the reference (computed in double precision) that rounding
 * can explain. */
double bench_tolerance(enum precision precision, enum conflict conflict, uint64_t nnz);

/* Accepts an empty *f. */
void bench_reference_free(struct bench_reference *f);

#endif
