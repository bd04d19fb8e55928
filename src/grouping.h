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
#ifndef BLCO_GROUPING_H
#define BLCO_GROUPING_H

#include "coo.h"

struct grouping {
    int groups;
    int first[MAX_ORDER + 1]; /* group g holds the modes first[g] .. first[g + 1] - 1 */
};

/* Every mode a group of its own. */
void grouping_none(struct grouping *g, int order);

/* The group of a mode, and the number of modes in a group. */
int grouping_of(const struct grouping *g, int mode);
int grouping_size(const struct grouping *g, int group);

/* The grouping with the least estimated memory traffic of a sweep, none where no other is clearly
 * better. `row_bytes` is the size of a factor's row; tables beyond `cache_bytes` cost several times
 * as much. Tuples are counted, or estimated from a sample, for groups with few enough possible
 * ones. All OpenMP
 * threads. */
enum status grouping_choose(struct grouping *g, const struct coo *x, uint64_t row_bytes,
                            uint64_t cache_bytes, struct error *error);

/* The same for a machine where a row beyond the cache costs `beyond` times as much. */
enum status grouping_choose_for(struct grouping *g, const struct coo *x, uint64_t row_bytes,
                                uint64_t cache_bytes, double beyond, struct error *error);

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
