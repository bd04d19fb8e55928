/* Cuts the alto line of a synthetic tensor into parts of few nonzeros, each of which is made by
 * itself, and decides how many nonzeros each part has. */
#ifndef BLCO_GENERATE_PLAN_H
#define BLCO_GENERATE_PLAN_H

#include "generate/sampler.h"

#define GENERATE_PART_NNZ 65536 /* nonzeros that a part has at most, about */

struct planned_part {
    coordinate_key position; /* on the line, where the part begins */
    int line_bits;           /* free bits, see struct alto_box     */
    uint64_t first_fiber, last_fiber;
    double mass;           /* the probability that a draw falls into the part        */
    double yield;          /* the fraction of its draws that find a new place        */
    double expected;       /* nonzeros                                               */
    uint64_t first, count; /* nonzeros; the first one is counted in the whole tensor */
};

struct generate_plan {
    struct planned_part *part; /* (count) in line order; owned */
    uint64_t count, room;
    uint64_t largest; /* nonzeros of the largest part */
};

/* Plans parts of `nnz` nonzeros together, at most as many as the tensor has places, with all OpenMP
 * threads. Where the distributions do not give enough different places, the rest is spread evenly
 * over the free ones. The caller frees *plan, which is empty on failure. STATUS_MEMORY. */
enum status generate_plan_create(struct generate_plan *plan, const struct sampler *s, uint64_t nnz,
                                 struct error *error);

/* Accepts an empty plan. */
void generate_plan_free(struct generate_plan *plan);

/* The planned part as the sampler takes it, with its box. */
struct sampler_part planned_part_expand(const struct sampler *s, const struct planned_part *part);

#endif
