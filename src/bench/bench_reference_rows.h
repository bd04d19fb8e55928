/* Some rows of M straight from the definition of MTTKRP, in double precision, to verify MTTKRP of
 * tensors that are too large to compute all of it twice: one pass over the nonzeros, in pieces,
 * from memory or from their .blco file. */
#ifndef BLCO_BENCH_REFERENCE_ROWS_H
#define BLCO_BENCH_REFERENCE_ROWS_H

#include "model/ktensor.h"
#include "ranks/rank_tensor.h"

#define BENCH_REFERENCE_NNZ 16 /* nonzeros, evenly spread, that tell which rows are computed */

struct bench_reference_rows {
    int order;
    uint64_t rank;
    uint64_t rows[MAX_ORDER];                     /* [n]: how many rows of mode n  */
    uint32_t row[MAX_ORDER][BENCH_REFERENCE_NNZ]; /* [n] (rows): which, ascending  */
    double *m[MAX_ORDER];                         /* [n] (rows x R): of M; owned   */
};

/* *s = rows of M of every mode for the factors of k, of this rank's part of the tensor, which may
 * be unread and whose rows are divided (rank_rows.h). By all OpenMP threads. The caller frees *s
 * with bench_reference_rows_free, after a failure too. STATUS_INPUT where the file is damaged,
 * STATUS_MEMORY. */
enum status bench_reference_rows_create(struct bench_reference_rows *s, const struct rank_tensor *t,
                                        const struct ktensor *k, struct error *error);

/* Accepts an empty *s. */
void bench_reference_rows_free(struct bench_reference_rows *s);

#endif
