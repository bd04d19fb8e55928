/* MTTKRP of some rows straight from its definition, in double precision, to verify tensors that are
 * too large for MTTKRP to be computed twice: one pass over the nonzeros, in pieces, from memory or
 * from their .blco file. */
#ifndef BLCO_BENCH_REFERENCE_ROWS_H
#define BLCO_BENCH_REFERENCE_ROWS_H

#include "formats/tensor_input.h"
#include "model/ktensor.h"

#define BENCH_REFERENCE_NNZ 16 /* nonzeros, evenly spread, whose rows are computed */

struct bench_reference_rows {
    int order;
    uint64_t rank;
    uint64_t rows[MAX_ORDER];                     /* computed, of each mode        */
    uint32_t row[MAX_ORDER][BENCH_REFERENCE_NNZ]; /* (rows): which, ascending      */
    double *m[MAX_ORDER];                         /* (rows x R): rows of M; owned  */
};

/* Computes rows of M of every mode for the factors of k. STATUS_INPUT where the file is damaged,
 * STATUS_MEMORY. The caller frees *s with bench_reference_rows_free, on failure too. */
enum status bench_reference_rows_create(struct bench_reference_rows *s,
                                        const struct tensor_input *input, const struct ktensor *k,
                                        struct error *error);

/* Accepts an empty *s. */
void bench_reference_rows_free(struct bench_reference_rows *s);

#endif
