#include "generate/index_distribution.h"

#include <string.h>

#include "base/memory.h"
#include "base/radix_sort.h"
#include "generate/generate.h"
#include "tensor/ordering.h"

#define SHORT_BITS 12 /* all indices of a mode of up to 2^12 are heads */
#define TURN_BITS  11 /* a longer mode has up to 2^11 intervals        */
#define HEAD_TURNS                                                                                 \
    4 /* heads are the ranks of the first turns; in later turns ranks hardly differ */

/* Keeps a draw below the end of heads or tail below 1 after rounding. */
#define BELOW_ONE (1 - 0x1p-50)

static void cut_intervals(struct index_distribution *d, struct random_stream stream)
{
    int bits = ordering_bits(d->length);
    d->interval_bits = bits <= SHORT_BITS ? 0 : bits - TURN_BITS;
    uint64_t length = UINT64_C(1) << d->interval_bits;
    d->intervals = (d->length + length - 1) >> d->interval_bits;
    d->turn_of_rank = 1 / (double)d->intervals;
    d->last_length = d->length - ((d->intervals - 1) << d->interval_bits);
    d->stride = random_next(&stream) | 1;
    d->offset = permutation_create(length, stream);
    random_next(&stream);
    d->last_offset = permutation_create(d->last_length, stream);
}

/* Deals each rank of the first turns to an interval. Masses are relative: the caller scales them to
 * the sum 1. The last interval, if shorter, has as many ranks as the others, several to an index,
 * and each rank has less mass. */
static enum status list_heads(struct index_distribution *d, double exponent,
                              struct random_stream stream, struct error *error)
{
    uint64_t length = UINT64_C(1) << d->interval_bits;
    uint64_t turns = d->interval_bits ? HEAD_TURNS : 1;
    d->heads = d->intervals * turns;
    uint64_t *index = memory_array(d->heads, sizeof *index, error);
    uint64_t *bits = memory_array(d->heads, sizeof *bits, error); /* of the masses */
    d->head = memory_array(d->heads, sizeof *d->head, error);
    d->sum = memory_array(d->heads + 1, sizeof *d->sum, error);
    TRY_OR(done, error->status);
    for (uint64_t turn = 0; turn < turns; turn++) {
        struct permutation deal = permutation_create(d->intervals, stream);
        random_next(&stream);
        for (uint64_t i = 0; i < d->intervals; i++) {
            uint64_t rank = turn * d->intervals + i, interval = permutation_apply(&deal, i);
            double mass = zipf_mass((double)rank + 1, (double)rank + 2, exponent);
            if (interval + 1 == d->intervals)
                mass *= (double)d->last_length / (double)length;
            index[rank] = index_distribution_index(d, interval, turn);
            memcpy(&bits[rank], &mass, sizeof mass);
        }
    }
    TRY_OR(done, radix_sort(index, bits, d->heads, ordering_bits(d->length), error));
    d->sum[0] = 0;
    for (uint64_t i = 0; i < d->heads; i++) {
        double mass;
        memcpy(&mass, &bits[i], sizeof mass);
        d->head[i] = (uint32_t)index[i];
        d->sum[i + 1] = d->sum[i] + mass;
    }
done:
    memory_free(index);
    memory_free(bits);
    return error->status;
}

static enum status add_tail(struct index_distribution *d, double exponent, struct error *error)
{
    uint64_t ranks = d->intervals << d->interval_bits;
    if (d->heads < ranks) {
        double first = (double)d->heads + 1, last = (double)ranks + 1;
        d->tail = zipf_mass(first, last, exponent) * (double)d->length / (double)ranks;
        TRY(zipf_create(&d->tail_rank, first, last, exponent, error));
    }
    double all = d->sum[d->heads] + d->tail;
    for (uint64_t i = 0; i <= d->heads; i++)
        d->sum[i] /= all;
    d->tail /= all;
    return STATUS_OK;
}

enum status index_distribution_create(struct index_distribution *d, uint64_t length,
                                      double exponent, struct random_stream stream,
                                      struct error *error)
{
    *d = (struct index_distribution){.length = length,
                                     .uniform = exponent == 0 || exponent == GENERATE_EVEN,
                                     .even = exponent == GENERATE_EVEN};
    if (d->uniform)
        return STATUS_OK;
    cut_intervals(d, stream);
    TRY_OR(done, list_heads(d, exponent, random_stream_at(stream.state, 1, 0), error));
    add_tail(d, exponent, error);
done:
    if (error->status != STATUS_OK)
        index_distribution_free(d);
    return error->status;
}

void index_distribution_free(struct index_distribution *d)
{
    memory_free(d->head);
    memory_free(d->sum);
    zipf_free(&d->tail_rank);
    *d = (struct index_distribution){0};
}

/* The first head whose index is `index` or more. */
static uint64_t first_head(const struct index_distribution *d, uint64_t index)
{
    uint64_t low = 0, high = d->heads;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (d->head[middle] < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

double index_distribution_mass(const struct index_distribution *d, uint64_t begin, uint64_t end)
{
    double part = (double)(end - begin) / (double)d->length;
    if (d->uniform)
        return part;
    return d->sum[first_head(d, end)] - d->sum[first_head(d, begin)] + d->tail * part;
}

void index_range_create(struct index_range *r, const struct index_distribution *d, uint64_t begin,
                        uint64_t end)
{
    if (r->distribution == d && r->begin == begin && r->length == end - begin)
        return;
    r->distribution = d;
    r->begin = begin;
    r->length = end - begin;
    if (d->uniform)
        return;
    uint64_t first = first_head(d, begin), last = first_head(d, end);
    double heads = d->sum[last] - d->sum[first];
    r->heads = d->heads < d->length ? heads / index_distribution_mass(d, begin, end) : 1;
    r->scale_heads = BELOW_ONE / r->heads;
    r->scale_tail = BELOW_ONE / (1 - r->heads);
    if (first < last)
        guide_table_create(&r->guide, d->sum, first, last);
}
