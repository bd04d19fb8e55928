/* Some rows of M straight from the definition of MTTKRP, in double precision, to verify MTTKRP: one
 * pass over the nonzeros, in pieces, from memory or from their .blco file. */
#pragma once

#include "backend/backend.h"
#include "ranks/rank_tensor.h"

#define BENCH_REFERENCE     "sampled rows on the host"
#define BENCH_REFERENCE_NNZ 16 /* nonzeros, evenly spread, that tell which rows are computed */

struct bench_reference {
    struct shape shape; /* of the rank's part */
    uint64_t rank;
    uint64_t rows[MAX_ORDER];                     /* [n]: how many rows of mode n  */
    uint32_t row[MAX_ORDER][BENCH_REFERENCE_NNZ]; /* [n] (rows): which, ascending  */
    double *m[MAX_ORDER];                         /* [n] (rows x R): of M; owned   */
    double *other;                                /* (longest mode x R): scratch, the M to compare;
                                                     owned                                      */
};

/* *f = rows of M of every mode for the factors of k, of this rank's part of the tensor, which may
 * be unread and whose rows are divided (rank_rows.h). By all OpenMP threads. The caller frees *f
 * with bench_reference_free, after a failure too. STATUS_INPUT where the file is damaged,
 * STATUS_MEMORY. */
enum status bench_reference_create(struct bench_reference *f, const struct rank_tensor *t,
                                   const struct ktensor *k, struct error *error);

/* *difference = ||M - reference|| / ||reference|| for the M of the backend's last MTTKRP, that of
 * `mode`, over the rows that the reference has; 0 where the two are equal. Errors as
 * backend_fetch. */
enum status bench_reference_compare(const struct bench_reference *f, struct backend *b, int mode,
                                    double *difference, struct error *error);

/* The largest relative difference from the reference that rounding can explain. */
double bench_tolerance(enum precision precision, enum conflict conflict, uint64_t nnz);

/* Accepts an empty *f. */
void bench_reference_free(struct bench_reference *f);
