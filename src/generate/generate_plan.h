/* Cuts the line of a tensor that is to be made into parts of few nonzeros, each of which is made by
 * itself, and says how many each will have. */
#ifndef BLCO_GENERATE_PLAN_H
#define BLCO_GENERATE_PLAN_H

#include "generate/sampler.h"

#define GENERATE_PART_NNZ 65536 /* about as many nonzeros a part has at most */

struct planned_part {
    coordinate_key line; /* where it begins             */
    int line_bits;       /* that are free, see alto_box */
    uint64_t first_tuple, last_tuple;
    double share, yield;   /* of all draws; of its own, that find a new cell */
    double expected;       /* nonzeros                         */
    uint64_t first, count; /* nonzeros, the first one counted in the tensor */
};

struct generate_plan {
    struct planned_part *part; /* (count) in line order; owned */
    uint64_t count, room;
    uint64_t largest; /* nonzeros of a part */
};

/* Parts of `nnz` nonzeros in all, not more than there are cells. Where the distribution cannot
 * supply as many different ones, the rest is spread evenly over the free cells. By all OpenMP
 * threads. On failure *plan is empty. STATUS_MEMORY. */
enum status generate_plan_create(struct generate_plan *plan, const struct sampler *s, uint64_t nnz,
                                 struct error *error);

/* Accepts an empty one. */
void generate_plan_free(struct generate_plan *plan);

/* What a sampler needs to know of it. */
struct sampler_part planned_part_place(const struct sampler *s, const struct planned_part *part);

#endif
