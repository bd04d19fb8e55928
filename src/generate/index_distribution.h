/* The distribution of the indices of one mode, over all of them and within aligned ranges.
 *
 * The indices are cut into aligned intervals of equal length. Their Zipf ranks, the most frequent
 * first, are dealt out to the intervals in turn: each interval gets one rank a turn. So the
 * probability (mass) of an interval is known without a table of all indices. The frequent indices,
 * the heads, are listed; the others, the tail, are drawn as a turn and an interval. */
#ifndef BLCO_INDEX_DISTRIBUTION_H
#define BLCO_INDEX_DISTRIBUTION_H

#include <stdbool.h>

#include "base/error.h"
#include "numerics/random_counter.h"
#include "base/random_stream.h"
#include "base/uint128.h"
#include "generate/guide_table.h"
#include "generate/permutation.h"
#include "generate/zipf.h"

struct index_distribution {
    uint64_t length;
    bool uniform; /* no field below but `even` is used */
    bool even;    /* uniform, but drawn in order       */

    int interval_bits;   /* an interval has 2^interval_bits indices; the last one may be shorter */
    uint64_t intervals;  /* intervals that cover the length                                      */
    double turn_of_rank; /* 1 / intervals                                                        */
    uint64_t heads;
    uint32_t *head;        /* (heads) indices of the heads, ascending; owned      */
    double *sum;           /* (heads + 1) running sum of the heads' masses; owned */
    double tail;           /* mass of the tail                                    */
    struct zipf tail_rank; /* ranks of the tail, from 1; empty without a tail     */

    struct permutation offset;      /* from a turn to an index within the interval    */
    struct permutation last_offset; /* as `offset`, for the last interval             */
    uint64_t last_length;           /* of the last interval                           */
    uint64_t stride;                /* shift of the offsets from interval to interval */
};

/* `exponent` as in struct generate_skew; `stream` decides which indices are the frequent ones. The
 * caller frees *d, which is empty on failure. STATUS_MEMORY. */
enum status index_distribution_create(struct index_distribution *d, uint64_t length,
                                      double exponent, struct random_stream stream,
                                      struct error *error);

/* Accepts an empty distribution. */
void index_distribution_free(struct index_distribution *d);

/* The probability that a draw falls on indices [begin, end), each a multiple of 2^interval_bits or
 * the length. */
double index_distribution_mass(const struct index_distribution *d, uint64_t begin, uint64_t end);

/* Indices [begin, end) of a distribution, to draw from. */
struct index_range {
    const struct index_distribution *distribution; /* not owned */
    uint64_t begin, length;
    double heads; /* the probability of its heads, given that a draw is in the range */
    double scale_heads, scale_tail; /* factors that stretch heads and tail to 1 */
    struct guide_table guide;       /* of the heads in the range            */
};

/* *r is zero or a range that was created before; nothing is done if it is the same range. The
 * distribution outlives *r. */
void index_range_create(struct index_range *r, const struct index_distribution *d, uint64_t begin,
                        uint64_t end);

/* The index that a turn gives to an interval. */
static inline uint64_t index_distribution_index(const struct index_distribution *d,
                                                uint64_t interval, uint64_t turn)
{
    uint64_t first = interval << d->interval_bits, mask = d->offset.mask;
    if (interval + 1 == d->intervals)
        return first +
               permutation_apply(&d->last_offset, turn * d->last_length >> d->interval_bits);
    return first + ((permutation_apply(&d->offset, turn) + interval * d->stride) & mask);
}

/* An index of the range, all equally likely. */
static inline uint64_t index_range_even(const struct index_range *r, struct random_stream *stream)
{
    return r->begin + (uint64_t)((uint128)random_next(stream) * r->length >> 64);
}

/* An index of the range, drawn by the distribution. *mass is nearly its probability, over all
 * indices. */
static inline uint64_t index_range_draw(const struct index_range *r, struct random_stream *stream,
                                        double *mass)
{
    const struct index_distribution *d = r->distribution;
    *mass = 1 / (double)d->length;
    if (d->uniform)
        return index_range_even(r, stream);
    double u = random_uniform(random_next(stream));
    if (u < r->heads) {
        uint64_t i = guide_table_find(&r->guide, u * r->scale_heads);
        *mass = d->sum[i + 1] - d->sum[i];
        return d->head[i];
    }
    double density, rank = zipf_at(&d->tail_rank, (u - r->heads) * r->scale_tail, &density);
    uint64_t turn = (uint64_t)((rank - 1) * d->turn_of_rank);
    uint64_t interval = index_range_even(r, stream) >> d->interval_bits;
    *mass = d->tail * density;
    return index_distribution_index(d, interval,
                                    turn < d->offset.length ? turn : d->offset.length - 1);
}

#endif
