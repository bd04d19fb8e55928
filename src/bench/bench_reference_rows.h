/* Some rows of M straight from the definition of MTTKRP, in double precision, to verify MTTKRP of
 * tensors that are too large to compute all of it twice: one pass over the nonzeros, in pieces,
 * from memory or from their .blco file. */
#ifndef BLCO_BENCH_REFERENCE_ROWS_H
#define BLCO_BENCH_REFERENCE_ROWS_H

#include "ranks/rank_rows.h"
#include "formats/tensor_input.h"
#include "model/ktensor.h"

#define BENCH_REFERENCE_NNZ 16 /* nonzeros, evenly spread, that tell which rows are computed */

struct bench_reference_rows {
    int order;
    uint64_t rank;
    uint64_t rows[MAX_ORDER];                     /* [n]: how many rows of mode n  */
    uint32_t row[MAX_ORDER][BENCH_REFERENCE_NNZ]; /* [n] (rows): which, ascending  */
    double *m[MAX_ORDER];                         /* [n] (rows x R): of M; owned   */
};

/* *s = rows of M of every mode for the factors of k. By all OpenMP threads. Of several ranks, input
 * is this rank's part, which may be unread: then its file has the nonzeros of all ranks. `ranks` is
 * NULL where there is one. The caller frees *s with bench_reference_rows_free, after a failure too.
 * STATUS_INPUT where the file is damaged, STATUS_MEMORY. */
enum status bench_reference_rows_create(struct bench_reference_rows *s,
                                        const struct tensor_input *input,
                                        const struct rank_rows *ranks, const struct ktensor *k,
                                        struct error *error);

/* Accepts an empty *s. */
void bench_reference_rows_free(struct bench_reference_rows *s);

#endif
