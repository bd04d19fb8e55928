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

struct mode_groups {
    int groups;
    int first[MAX_ORDER + 1]; /* group g holds the modes first[g] .. first[g + 1] - 1 */
};

/* Every mode a group of its own. */
void mode_groups_none(struct mode_groups *g, int order);

/* Bit n of `cuts`: mode n + 1 begins a group. */
void mode_groups_from_cuts(struct mode_groups *g, int order, unsigned cuts);

/* The group of a mode, and the number of modes in a group. */
int mode_groups_of(const struct mode_groups *g, int mode);
int mode_groups_size(const struct mode_groups *g, int group);

/* Times the cost of a row in the cache that others have, on a GPU (measured on an H200). */
#define MODE_GROUPS_BEYOND_CACHE 4

/* The mode_groups with the least estimated memory traffic of a sweep, none where no other is
 * clearly better. `row_bytes` is the size of a factor's row; tables beyond `cache_bytes` cost
 * several times as much. Tuples are counted, or estimated from a sample, for groups with few enough
 * possible ones. All OpenMP threads. */
enum status mode_groups_choose(struct mode_groups *g, const struct coo *x, uint64_t row_bytes,
                               uint64_t cache_bytes, struct error *error);

/* The same for a machine where a row beyond the cache costs `beyond` times as much. */
enum status mode_groups_choose_for(struct mode_groups *g, const struct coo *x, uint64_t row_bytes,
                                   uint64_t cache_bytes, double beyond, struct error *error);

/* How many tuples every run of neighbouring modes has, for a backend that counts them itself:
 * entry [first][last] is for the modes [first, last). */
struct tuple_counts {
    double count[MAX_ORDER][MAX_ORDER + 1];
};

/* Whether a tensor of this order can have groups at all. */
bool mode_groups_possible(int order);

/* Possible tuples of the modes [first, last) (at most 2^30); 0 where these are too many, in
 * themselves or for `nnz` nonzeros, to be worth counting. */
uint64_t mode_groups_possible_tuples(const uint64_t *dims, uint64_t nnz, int first, int last);

/* How the cells of so many possible tuples are sampled: they are fewer than 2^cell_bits, and tuples
 * are counted in one cell of 2^left_out. */
struct mode_groups_sample {
    int cell_bits, left_out;
};
struct mode_groups_sample mode_groups_sample(uint64_t cells);

/* The choice of mode_groups_choose from counts of all runs but the whole tensor; infinite where
 * they were not worth counting, a mode's length for the run of that mode alone. */
void mode_groups_decide(struct mode_groups *g, int order, uint64_t nnz,
                        const struct tuple_counts *tuples, uint64_t row_bytes, uint64_t cache_bytes,
                        double beyond);

struct grouped_tensor {
    struct mode_groups mode_groups;
    struct coo reduced;           /* modes: the groups; value, and index of groups of one mode, are
                                   * those of the tensor it was made from                         */
    struct coo tuples[MAX_ORDER]; /* of groups of several modes: those modes, then the tuple's
                                   * number; values one; sorted; otherwise empty                  */
};

/* Numbers the tuples. x must stay while *out is in use; grouped_tensor_free frees the rest. On
 * failure *out is empty. */
enum status mode_groups_apply(struct grouped_tensor *out, const struct mode_groups *g,
                              const struct coo *x, struct error *error);
void grouped_tensor_free(struct grouped_tensor *g);

#endif
