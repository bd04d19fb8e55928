/* Draws cells by the distributions of a generate_skew: within any part of the line, a part after
 * the other, as if they had been drawn from the whole and sorted. */
#ifndef BLCO_SAMPLER_H
#define BLCO_SAMPLER_H

#include "generate/alto_box.h"
#include "generate/fiber_pool.h"
#include "generate/generate.h"

struct sampler {
    struct generate_skew skew;
    struct key_layout layout;
    struct alto_keys line;
    uint64_t seed;
    struct index_distribution law[MAX_ORDER];
    struct fiber_pool pool;
    double run_start; /* probability that a draw starts a run    */
    double run_decay; /* log of the probability that it goes on  */
};

/* On failure *s is empty. The spec must have been checked. */
enum status sampler_create(struct sampler *s, const struct generate_spec *spec, uint64_t seed,
                           struct error *error);

/* Accepts an empty one. */
void sampler_free(struct sampler *s);

/* A part of the line, and the tuples of the pool that reach into it. */
struct sampler_part {
    struct alto_box box;
    uint64_t first_tuple, last_tuple;
};

struct sampler_part sampler_all(const struct sampler *s);

/* Whether the part can be halved, and its lower (0) or upper (1) half. */
bool sampler_can_halve(const struct sampler *s, const struct sampler_part *part);
struct sampler_part sampler_half(const struct sampler *s, const struct sampler_part *part, int bit);

/* The share of all draws that fall into the part. */
double sampler_share(const struct sampler *s, const struct sampler_part *part);

/* What draws within one part. */
struct part_sampler {
    const struct sampler *sampler;
    const struct sampler_part *part;
    struct index_range range[MAX_ORDER];
    uint64_t first_tuple, last_tuple;
    struct guide_table tuple;
};

/* The part is not empty and outlives *p, which is zero, or has been open for another one. */
void part_sampler_open(struct part_sampler *p, const struct sampler *s,
                       const struct sampler_part *part);

/* `count` draws to key[], as places on the line; duplicates occur. Streams differ for each `round`
 * and `number`; in round 0 even modes go through their indices in order. scratch[0..count) is lost.
 */
void part_sampler_draw(const struct part_sampler *p, uint64_t round, uint64_t number,
                       coordinate_key *key, coordinate_key *scratch, uint64_t count);

/* Draws that are spread evenly over the part's cells. */
void part_sampler_spread(const struct part_sampler *p, uint64_t round, uint64_t number,
                         coordinate_key *key, uint64_t count);

/* Which part of the draws that fall into the part, of `draws` in all, find a cell that none before
 * them found, about. */
double part_sampler_yield(const struct part_sampler *p, uint64_t number, double draws);

#endif
