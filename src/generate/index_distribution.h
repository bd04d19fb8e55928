/* How the indices of one mode are distributed, over all of them and within aligned ranges.
 *
 * The indices are cut into aligned blocks of equal length. Their Zipf ranks, the most frequent
 * first, are dealt out to the blocks in turn, so that what a block has is known without a table of
 * all indices: the frequent ones, the heads, are listed; the others are drawn by rank, and any
 * block's turn within it. */
#ifndef BLCO_INDEX_DISTRIBUTION_H
#define BLCO_INDEX_DISTRIBUTION_H

#include <stdbool.h>

#include "base/random_counter.h"
#include "base/random_stream.h"
#include "generate/coordinate_keys.h"
#include "generate/guide_table.h"
#include "generate/permutation.h"
#include "generate/zipf.h"

struct index_distribution {
    uint64_t length;
    bool uniform; /* nothing of what follows  */
    bool even;    /* uniform, but in order    */

    int block_bits;      /* ranges begin and end at multiples of 2^block_bits, or at the length */
    uint64_t blocks;     /* those that the length reaches into                                  */
    double turn_of_rank; /* 1 / blocks                                                      */
    uint64_t heads;
    uint32_t *head; /* (heads) their indices, ascending; owned                              */
    double *sum;    /* (heads + 1) running sum of their shares of all; owned                */
    double tail;    /* the share of what is no head                                         */
    struct zipf tail_rank;    /* from 1; empty where there is no tail                          */
    struct permutation place; /* in a block, of its turns                              */
    struct permutation last_place; /* in the last one, which may be shorter                 */
    uint64_t last_length;
    uint64_t stride; /* what places differ by from block to block                           */
};

/* `exponent` as in generate_skew; `stream` decides which indices are the frequent ones. On failure
 * *law is empty. */
enum status index_distribution_create(struct index_distribution *law, uint64_t length,
                                      double exponent, struct random_stream stream,
                                      struct error *error);

/* Accepts an empty one. */
void index_distribution_free(struct index_distribution *law);

/* The share of all that indices [begin, end) have. */
double index_distribution_share(const struct index_distribution *law, uint64_t begin, uint64_t end);

/* Indices [begin, end) of a law, to draw from. */
struct index_range {
    const struct index_distribution *law;
    uint64_t begin, length;
    double heads;                   /* the heads' share of the range */
    double scale_heads, scale_tail; /* what stretches each share to 1 */
    struct guide_table guide;
};

/* *r is zero, or the last range, which is kept where it is the same. */
void index_range_create(struct index_range *r, const struct index_distribution *law, uint64_t begin,
                        uint64_t end);

/* The index of a turn in a block. */
static inline uint64_t index_distribution_place(const struct index_distribution *law,
                                                uint64_t block, uint64_t turn)
{
    uint64_t first = block << law->block_bits, mask = law->place.mask;
    if (block + 1 == law->blocks)
        return first +
               permutation_apply(&law->last_place, turn * law->last_length >> law->block_bits);
    return first + ((permutation_apply(&law->place, turn) + block * law->stride) & mask);
}

/* One that is drawn evenly from the range. */
static inline uint64_t index_range_even(const struct index_range *r, struct random_stream *stream)
{
    return r->begin + (uint64_t)((coordinate_key)random_next(stream) * r->length >> 64);
}

/* One that is drawn by the law; *share is its share of all, nearly. */
static inline uint64_t index_range_draw(const struct index_range *r, struct random_stream *stream,
                                        double *share)
{
    const struct index_distribution *law = r->law;
    *share = 1 / (double)law->length;
    if (law->uniform)
        return index_range_even(r, stream);
    double u = random_uniform(random_next(stream));
    if (u < r->heads) {
        uint64_t i = guide_table_find(&r->guide, u * r->scale_heads);
        *share = law->sum[i + 1] - law->sum[i];
        return law->head[i];
    }
    double density, rank = zipf_at(&law->tail_rank, (u - r->heads) * r->scale_tail, &density);
    uint64_t turn = (uint64_t)((rank - 1) * law->turn_of_rank);
    uint64_t block = index_range_even(r, stream) >> law->block_bits;
    *share = law->tail * density;
    return index_distribution_place(law, block,
                                    turn < law->place.length ? turn : law->place.length - 1);
}

#endif
