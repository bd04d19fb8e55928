/* What MTTKRP must give, computed in double precision and in another way than the measured one:
 * for nonzeros that are not read from their file, and for a large streamed tensor, some rows by
 * their definition (bench_reference_rows.h); otherwise, to check a GPU, by the host, unless that
 * would take long; otherwise by the same backend with `atomic`, which adds every nonzero by itself.
 * `atomic` is then confirmed by the other resolutions; where it is the only one measured, it is
 * compared with `register`. */
#ifndef BLCO_BENCH_REFERENCE_H
#define BLCO_BENCH_REFERENCE_H

#include "bench/bench.h"
#include "bench/bench_reference_rows.h"

struct bench_reference {
    char name[64]; /* "the host", "atomic on cuda"            */
    struct shape shape;
    uint64_t rank;
    double *m[MAX_ORDER];               /* (I_n x R) each; NULL where there is a sample; owned */
    struct bench_reference_rows sample; /* empty where m is there */
    double *other;                      /* (longest mode x R): scratch, the M to compare; owned */
};

/* *f = M of every mode for the factors of `start`, to check what the request's kind of backend
 * computes of its tensor, whose rows are divided (rank_rows.h). The caller frees *f with
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
