/* Mode groups: neighbouring modes of a sweep that share partial products (dimension trees: Phan,
 * Tichavsky and Cichocki 2013; Kaya and Ucar 2018).
 *
 * A group's tuples are the distinct combinations of its modes' coordinates that nonzeros have; they
 * are numbered. From outside, a group is one mode and a tuple is one index: the tensor becomes the
 * reduced tensor, of fewer modes. From inside, a group is a small tensor whose nonzeros are its
 * tuples. MTTKRP of the reduced tensor for group g gives the partial products P, a row per tuple;
 * MTTKRP of the group's own tensor, with P as one more factor, gives M of any mode of the group. P
 * holds nothing of the group's own factors, so it serves all modes of the group, one after the
 * other. Where tuples are few against nonzeros, N passes over the nonzeros become one per group,
 * and a pass gathers one row per group instead of one per mode. */
#ifndef BLCO_MODE_GROUPS_H
#define BLCO_MODE_GROUPS_H

#include <stdbool.h>

#include "tensor/coo.h"

struct mode_groups {
    int groups;
    int first[MAX_ORDER + 1]; /* group g holds the modes [first[g], first[g + 1]) */
};

/* Every mode a group of its own. */
void mode_groups_none(struct mode_groups *g, int order);

/* Mode n + 1 begins a group where bit n of `cuts` is set. */
void mode_groups_from_cuts(struct mode_groups *g, int order, unsigned cuts);

/* The group of a mode, and the number of modes in a group. */
int mode_groups_of(const struct mode_groups *g, int mode);
int mode_groups_size(const struct mode_groups *g, int group);

/* `beyond` of mode_groups_choose on a GPU (measured on an H200). */
#define MODE_GROUPS_BEYOND_CACHE 4

/* *g = the groups with the least estimated memory traffic of a sweep, or none where no groups are
 * clearly better. `row_bytes` is the size of a factor's row; a row of a table of more than
 * `cache_bytes` costs `beyond` times as much as one of a smaller table. Tuples are counted, or
 * estimated from a sample, where the possible ones are few enough. By all OpenMP threads.
 * STATUS_MEMORY. */
enum status mode_groups_choose(struct mode_groups *g, const struct coo *x, uint64_t row_bytes,
                               uint64_t cache_bytes, double beyond, struct error *error);

/* Numbers of tuples, for a backend that counts them itself: count[first][last] is the number of
 * tuples of the modes [first, last). */
struct tuple_counts {
    double count[MAX_ORDER][MAX_ORDER + 1];
};

/* Whether a tensor of this order can have groups at all. */
bool mode_groups_possible(int order);

/* The number of possible tuples of the modes [first, last), the product of their lengths (at most
 * 2^30); 0 where it is too large, in itself or for `nnz` nonzeros, to be worth counting tuples. */
uint64_t mode_groups_possible_tuples(const uint64_t *dims, uint64_t nnz, int first, int last);

/* Which of so many possible tuples (1 or more) are looked at when tuples are counted. A possible
 * tuple's key is its number among them, below 2^key_bits; one key in 2^skipped_bits is looked
 * at. */
struct mode_groups_sample {
    int key_bits, skipped_bits;
};
struct mode_groups_sample mode_groups_sample(uint64_t possible);

/* The choice of mode_groups_choose from the counts of all [first, last) but the whole tensor:
 * infinite where tuples were not worth counting; the mode's length for a single mode. `order` is
 * one that can have groups. */
void mode_groups_decide(struct mode_groups *g, int order, uint64_t nnz,
                        const struct tuple_counts *tuples, uint64_t row_bytes, uint64_t cache_bytes,
                        double beyond);

/* A tensor seen through its mode groups. */
struct grouped_tensor {
    struct mode_groups mode_groups;

    /* The reduced tensor: a mode per group, the nonzeros in the tensor's order. `value`, and
     * `index` of groups of one mode, are the tensor's own arrays; `index` of the other groups holds
     * numbers of tuples and is owned. */
    struct coo reduced;

    /* The tuples of each group of several modes, by ascending number: the group's modes and, as
     * last mode, the tuple's number; values are 1; owned. Empty for groups of one mode. */
    struct coo tuples[MAX_ORDER];
};

/* Numbers the tuples of x, by ascending coordinates, by all OpenMP threads. The modes of a group of
 * several must have at most 2^30 possible tuples. x must stay while *out is in use. STATUS_MEMORY;
 * on failure *out is empty. The caller frees *out with grouped_tensor_free. */
enum status mode_groups_apply(struct grouped_tensor *out, const struct mode_groups *g,
                              const struct coo *x, struct error *error);

/* Frees what is owned; accepts an empty one. */
void grouped_tensor_free(struct grouped_tensor *g);

#endif
