/* Partial products that neighbouring modes of a sweep share (dimension trees: Phan, Tichavsky and
 * Cichocki 2013; Kaya and Ucar 2018).
 *
 * The modes are split into groups of neighbours, and each group's distinct coordinate tuples are
 * numbered. From outside, a group is one mode and a tuple one index: the tensor becomes one of
 * fewer modes. From inside, a group is a small tensor whose nonzeros are its tuples. MTTKRP of the
 * reduced tensor for group g gives a partial product P with a row per tuple; MTTKRP of the group's
 * own tensor, with P as one more factor, gives M of any mode of the group. P holds nothing of the
 * group's own factors, so it serves all modes of the group, one after the other. Where tuples are
 * few against nonzeros, N passes over the nonzeros become as many as there are groups, and a pass
 * gathers one row per group instead of one per mode. */
#ifndef BLCO_MODE_GROUPS_H
#define BLCO_MODE_GROUPS_H

#include <stdbool.h>

#include "tensor/coo.h"

struct grouping {
    int groups;
    int first[MAX_ORDER + 1]; /* group g holds the modes first[g] .. first[g + 1] - 1 */
};

/* Every mode a group of its own. */
void grouping_none(struct grouping *g, int order);

/* Bit n of `cuts`: mode n + 1 begins a group. */
void grouping_from_cuts(struct grouping *g, int order, unsigned cuts);

/* The group of a mode, and the number of modes in a group. */
int grouping_of(const struct grouping *g, int mode);
int grouping_size(const struct grouping *g, int group);

/* Times the cost of a row in the cache that others have, on a GPU (measured on an H200). */
#define GROUPING_BEYOND_CACHE 4

/* The grouping with the least estimated memory traffic of a sweep, none where no other is clearly
 * better. `row_bytes` is the size of a factor's row; tables beyond `cache_bytes` cost several times
 * as much. Tuples are counted, or estimated from a sample, for groups with few enough possible
 * ones. All OpenMP threads. */
enum status grouping_choose(struct grouping *g, const struct coo *x, uint64_t row_bytes,
                            uint64_t cache_bytes, struct error *error);

/* The same for a machine where a row beyond the cache costs `beyond` times as much. */
enum status grouping_choose_for(struct grouping *g, const struct coo *x, uint64_t row_bytes,
                                uint64_t cache_bytes, double beyond, struct error *error);

/* How many tuples every run of neighbouring modes has, for a backend that counts them itself:
 * entry [first][last] is for the modes [first, last). */
struct tuple_counts {
    double count[MAX_ORDER][MAX_ORDER + 1];
};

/* Whether a tensor of this order can have groups at all. */
bool grouping_possible(int order);

/* Possible tuples of the modes [first, last) (at most 2^30); 0 where these are too many, in
 * themselves or for `nnz` nonzeros, to be worth counting. */
uint64_t grouping_cells(const uint64_t *dims, uint64_t nnz, int first, int last);

/* How the cells of so many possible tuples are sampled: they are fewer than 2^cell_bits, and tuples
 * are counted in one cell of 2^left_out. */
struct grouping_sample {
    int cell_bits, left_out;
};
struct grouping_sample grouping_sample(uint64_t cells);

/* The choice of grouping_choose from counts of all runs but the whole tensor; infinite where they
 * were not worth counting, a mode's length for the run of that mode alone. */
void grouping_decide(struct grouping *g, int order, uint64_t nnz, const struct tuple_counts *tuples,
                     uint64_t row_bytes, uint64_t cache_bytes, double beyond);

struct grouped {
    struct grouping grouping;
    struct coo reduced;           /* modes: the groups; value, and index of groups of one mode, are
                                   * those of the tensor it was made from                         */
    struct coo tuples[MAX_ORDER]; /* of groups of several modes: those modes, then the tuple's
                                   * number; values one; sorted; otherwise empty                  */
};

/* Numbers the tuples. x must stay while *out is in use; grouped_free frees the rest. On failure
 * *out is empty. */
enum status grouping_apply(struct grouped *out, const struct grouping *g, const struct coo *x,
                           struct error *error);
void grouped_free(struct grouped *g);

#endif
