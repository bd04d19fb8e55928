/* The parts of a bench_run: what its measurements have in common, opening backends, verifying M,
 * and the measurements of MTTKRP and of ALS. For the bench*.c files only. Implemented in
 * bench_job.c, bench_modes.c and bench_als.c. */
#ifndef BLCO_BENCH_JOB_H
#define BLCO_BENCH_JOB_H

#include "bench/bench.h"

#define BENCH_STAGE "measuring"

/* What all measurements of one bench_run have in common. */
struct bench_job {
    struct bench_result *result;
    const struct bench_request *request;
    struct progress *progress;
    struct ktensor start;
    struct bench_reference reference;
};

/* Fills job->start, a random model, and job->reference, rows of the right MTTKRPs for it. The
 * rank's rows must be divided (rank_rows.h). bench_run frees both. Errors as
 * bench_reference_create. */
enum status bench_prepare_check(struct bench_job *job, struct error *error);

/* Opens a backend for a measurement; calls bench_prepare_check if that divided the rank's rows. The
 * caller closes *b, after a failure too. Errors as backend_prepare, backend_build and
 * bench_prepare_check. */
enum status bench_open(struct bench_job *job, struct backend *b,
                       const struct backend_options *options, struct error *error);

/* Verifies the last M, and notes the bytes that its MTTKRP copied from the host. STATUS_INTERNAL if
 * M is wrong. */
enum status bench_check(const struct bench_job *job, struct backend *b, int mode,
                        enum conflict conflict, struct bench_series *s, struct error *error);

/* Measures MTTKRP of each mode that can have this conflict resolution, into the next
 * bench_resolution of the result. */
enum status bench_measure_modes(struct bench_job *job, enum conflict conflict, struct error *error);

/* Measures ALS, into the result's `als`. */
enum status bench_measure_als(struct bench_job *job, struct error *error);

#endif
