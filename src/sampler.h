/* Draws cells of a tensor by the distributions of a generate_skew. */
#ifndef BLCO_SAMPLER_H
#define BLCO_SAMPLER_H

#include "cells.h"
#include "generate.h"
#include "permutation.h"

/* Indices of one mode, or tuples of the pool, by their Zipf rank. */
struct zipf {
    uint64_t length;
    double exponent;
    double *quantile; /* (ZIPF_STEPS + 1), values of the quantile function; owned; NULL: uniform */
};

struct sampler {
    struct generate_skew skew;
    struct cell_layout layout;
    uint64_t seed;
    struct zipf mode[MAX_ORDER], pool;
    struct permutation label[MAX_ORDER]; /* rank to index */
    double run_start;                    /* probability that a draw starts a run    */
    double run_decay;                    /* log of the probability that it goes on  */
};

/* On failure *s is empty. The spec must have been checked. */
enum status sampler_create(struct sampler *s, const struct generate_spec *spec, uint64_t seed,
                           struct error *error);
void sampler_free(struct sampler *s);

/* Fills `cells` with draws, duplicates included, by all OpenMP threads. Rounds differ; the first
 * one, 0, is where even modes go through their indices in order. */
void sampler_draw(const struct sampler *s, uint64_t round, struct cells *cells);

#endif
