/* Mode groups: neighbouring modes of a sweep that share partial products (dimension trees: Phan,
 * Tichavsky and Cichocki 2013; Kaya and Ucar 2018).
 *
 * "Group" alone means a mode group here. The tuples of a group are the distinct combinations of its
 * modes' coordinates that nonzeros have; tuples are numbered. The reduced tensor has a mode for
 * each group, whose indices are the group's tuples. In addition, the tuples of a group of several
 * modes are the nonzeros of a small tensor.
 *
 * MTTKRP of the reduced tensor for group g gives the partial products P, a row per tuple. MTTKRP of
 * the group's small tensor, with P as one more factor, gives M of any mode of the group. P depends
 * on the factors of the other groups only, so P serves all modes of the group, one after the other.
 * Where tuples are few against nonzeros, N passes over the nonzeros become one pass per group, and
 * a pass gathers one row per group instead of one per mode. */
#pragma once

#include <stdbool.h>

#include "tensor/coo.h"

struct mode_groups {
    int groups;
    int first[MAX_ORDER + 1]; /* group g holds the modes [first[g], first[g + 1]) */
};

/* *g = groups of one mode each, for a tensor of this order. */
void mode_groups_none(struct mode_groups *g, int order);

/* *g = the groups of a tensor of this order in which mode n + 1 begins a group where bit n of
 * `cuts` is set. */
void mode_groups_from_cuts(struct mode_groups *g, int order, unsigned cuts);

/* The group of a mode, and the number of modes in a group. */
int mode_groups_of(const struct mode_groups *g, int mode);
int mode_groups_size(const struct mode_groups *g, int group);

/* What gathering a factor's row costs: from a table of more than `cache_bytes`, `beyond` times as
 * much as from a smaller one. */
struct gather_cost {
    uint64_t row_bytes; /* of a factor's row */
    uint64_t cache_bytes;
    double beyond;
};

/* `beyond` on a GPU (measured on an H200). */
#define MODE_GROUPS_BEYOND_CACHE 4

/* *g = the groups with the least estimated memory traffic of a sweep, or mode_groups_none where no
 * other groups are clearly better. Where the possible tuples are few enough, the tuples of x are
 * counted, or estimated from a sample. By all OpenMP threads. STATUS_MEMORY. */
enum status mode_groups_choose(struct mode_groups *g, const struct coo *x,
                               const struct gather_cost *cost, struct error *error);

/* count[first][last] is the number of tuples of the modes [first, last). */
struct tuple_counts {
    double count[MAX_ORDER][MAX_ORDER + 1];
};

/* The functions up to mode_groups_decide are for a backend that counts tuples itself. */

/* Whether a tensor of this order can have groups of several modes at all. */
bool mode_groups_possible(int order);

/* The number of possible tuples of the modes [first, last): the product of their lengths. 0 where
 * counting is not worth while: above 2^30, or too many for `nnz` nonzeros. */
uint64_t mode_groups_possible_tuples(const uint64_t *dims, uint64_t nnz, int first, int last);

/* Which of `possible` tuples (1 or more) are looked at when tuples are counted. The key of a
 * possible tuple is its number among all possible tuples, below 2^key_bits; one key in
 * 2^skipped_bits is looked at. */
struct mode_groups_sample {
    int key_bits, skipped_bits;
};
struct mode_groups_sample mode_groups_sample(uint64_t possible);

/* The choice of mode_groups_choose from the counts of all [first, last) but the whole tensor. A
 * count is infinite where counting was not worth while, and the mode's length for a single mode.
 * mode_groups_possible(order) must be true. */
void mode_groups_decide(struct mode_groups *g, int order, uint64_t nnz,
                        const struct tuple_counts *tuples, const struct gather_cost *cost);

/* A tensor seen through its mode groups. */
struct grouped_tensor {
    struct mode_groups mode_groups;

    /* The reduced tensor: a mode per group, the nonzeros in the order of x. `value`, and `index` of
     * groups of one mode, are the arrays of x; `index` of the other groups has the numbers of the
     * tuples and is owned. */
    struct coo reduced;

    /* The small tensor of each group of several modes, tuples by ascending number: the group's
     * modes, and the tuple's number as the last mode; values are 1; owned. Empty for groups of one
     * mode. */
    struct coo tuples[MAX_ORDER];
};

/* *grouped = x seen through the groups *g; tuples are numbered by ascending coordinates. A group of
 * several modes must have at most 2^30 possible tuples. x must stay while *grouped is in use. By
 * all OpenMP threads. The caller frees *grouped with grouped_tensor_free; it is empty on failure.
 * STATUS_MEMORY. */
enum status mode_groups_apply(struct grouped_tensor *grouped, const struct mode_groups *g,
                              const struct coo *x, struct error *error);

/* Frees what *g owns; accepts an empty *g. */
void grouped_tensor_free(struct grouped_tensor *g);
