/* What a run starts from. */
#pragma once

#include <stdbool.h>

#include "model/ktensor.h"

/* The order is that of checkpoints (checkpoint.h). */
enum guess {
    GUESS_RANDOM, /* uniform on [0, 1) */
    GUESS_NORMAL, /* standard normal   */
    GUESS_MODEL,
    GUESS_NVECS /* approximate singular vectors (nvecs_compute) */
};

struct initial_guess {
    enum guess kind;
    const struct ktensor *model; /* with GUESS_MODEL: a whole model of the same rank, of as many
                                  * modes or fewer; where the run resumes, the checkpoint's;
                                  * borrowed                                                    */
    uint64_t seed;               /* of random entries; also of modes that the model lacks       */
};

/* The random numbers of this kind; uniform for a kind without any. */
enum ktensor_init guess_numbers(enum guess kind);

/* Fills k, which has some rows of a model whose modes have the lengths `whole`, with a random guess
 * or a model. Modes of another length than the model's, or that the model lacks, are random
 * (ktensor_randomise), without signs where nonneg (MAX_ORDER); rows that are NO_ROW are zero. */
void initial_guess_fill(struct ktensor *k, const struct shape *whole,
                        const struct initial_guess *guess, const bool *nonneg);

/* Copies lambda, and of each factor matrix the rows that k has, from the whole model. */
void ktensor_copy_rows(struct ktensor *k, const struct ktensor *whole);

/* Replaces each entry of mode n by its magnitude. */
void ktensor_drop_signs(struct ktensor *k, int n);

/* Replaces each of a[0..count) by its magnitude. */
void entries_drop_signs(double *a, uint64_t count);
