/* MTTKRP of some rows straight from its definition, for tensors that are too large to be computed
 * twice: the nonzeros are gone through once, in pieces, from memory or from their file. */
#ifndef BLCO_BENCH_REFERENCE_ROWS_H
#define BLCO_BENCH_REFERENCE_ROWS_H

#include "formats/tensor_input.h"
#include "model/ktensor.h"

#define BENCH_REFERENCE_NNZ 16 /* nonzeros, evenly spread, whose rows are computed */

struct bench_reference_rows {
    int order;
    uint64_t rank;
    uint64_t rows[MAX_ORDER];
    uint32_t row[MAX_ORDER][BENCH_REFERENCE_NNZ]; /* (rows), ascending            */
    double *m[MAX_ORDER];                         /* (rows x R); owned            */
};

/* Rows of M of every mode for the factors of k. On failure *s is still to be freed. STATUS_INPUT
 * where the file is damaged, STATUS_MEMORY. */
enum status bench_reference_rows_create(struct bench_reference_rows *s,
                                        const struct tensor_input *input, const struct ktensor *k,
                                        struct error *error);

/* Accepts an empty one. */
void bench_reference_rows_free(struct bench_reference_rows *s);

#endif
