/* Draws positions on the alto line by the distributions of a generate_skew, part of the line by
 * part, as if they had been drawn from the whole line and sorted. */
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
    struct index_distribution distribution[MAX_ORDER];
    struct fiber_pool pool;
    double run_start; /* probability that a draw starts a run      */
    double run_decay; /* log of the probability that a run goes on */
};

/* Takes a spec that generate_skewed() has checked. The caller frees *s, which is empty on failure.
 * STATUS_MEMORY. */
enum status sampler_create(struct sampler *s, const struct generate_spec *spec, uint64_t seed,
                           struct error *error);

/* Accepts an empty sampler. */
void sampler_free(struct sampler *s);

/* A part of the line, and the fibers of the pool that reach into the part: [first, last). */
struct sampler_part {
    struct alto_box box;
    uint64_t first_fiber, last_fiber;
};

/* The whole line. */
struct sampler_part sampler_all(const struct sampler *s);

/* Whether the part can be halved: by a free bit of a pooled mode, or by one that leaves a mode's
 * intervals whole. */
bool sampler_can_halve(const struct sampler *s, const struct sampler_part *part);

/* The lower (bit 0) or upper (bit 1) half of a part that can be halved. */
struct sampler_part sampler_half(const struct sampler *s, const struct sampler_part *part, int bit);

/* The probability that a draw falls into the part. */
double sampler_mass(const struct sampler *s, const struct sampler_part *part);

/* Draws within one part. */
struct part_sampler {
    const struct sampler *sampler;   /* not owned */
    const struct sampler_part *part; /* not owned */
    struct index_range range[MAX_ORDER];
    uint64_t first_fiber, last_fiber;
    struct guide_table fiber; /* of the part's fibers */
};

/* The part is not empty and outlives *p. *p is zero or has been open for another part. */
void part_sampler_open(struct part_sampler *p, const struct sampler *s,
                       const struct sampler_part *part);

/* Draws `count` positions, with repetitions, to key[0..count). The random stream differs for each
 * `round` and `number`; in round 0 even modes go through their indices in order. scratch[0..count)
 * is overwritten. */
void part_sampler_draw(const struct part_sampler *p, uint64_t round, uint64_t number,
                       coordinate_key *key, coordinate_key *scratch, uint64_t count);

/* Draws `count` positions with repetitions, each place of the part equally likely. */
void part_sampler_spread(const struct part_sampler *p, uint64_t round, uint64_t number,
                         coordinate_key *key, uint64_t count);

/* An estimate, for `draws` draws on the whole line: the fraction of the part's draws that find a
 * place for the first time. `number` names the random stream. */
double part_sampler_yield(const struct part_sampler *p, uint64_t number, double draws);

#endif
