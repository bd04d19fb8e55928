#include "generate/index_distribution.h"

#include <string.h>

#include "base/memory.h"
#include "base/radix_sort.h"
#include "generate/generate.h"
#include "tensor/ordering.h"

#define SHORT_BITS 12 /* indices of so short a mode are all heads                        */
#define TURN_BITS  11 /* of longer ones: the blocks, at most 2^11                        */
#define HEAD_TURNS                                                                                 \
    4 /* the ranks dealt out in the first turns are heads: afterwards the                          \
         ranks of one turn hardly differ in frequency                    */

/* So that no rounding makes a draw below a share's end 1. */
#define BELOW_ONE (1 - 0x1p-50)

static void cut_blocks(struct index_distribution *law, struct random_stream stream)
{
    int bits = ordering_bits(law->length);
    law->block_bits = bits <= SHORT_BITS ? 0 : bits - TURN_BITS;
    uint64_t length = UINT64_C(1) << law->block_bits;
    law->blocks = (law->length + length - 1) >> law->block_bits;
    law->turn_of_rank = 1 / (double)law->blocks;
    law->last_length = law->length - ((law->blocks - 1) << law->block_bits);
    law->stride = random_next(&stream) | 1;
    law->place = permutation_create(length, stream);
    random_next(&stream);
    law->last_place = permutation_create(law->last_length, stream);
}

/* Each rank of the first turns goes to a block. Shares are relative to a whole that the caller
 * makes 1. The last block, if shorter, has as many ranks as the others, several to an index, and
 * each with a smaller share. */
static enum status list_heads(struct index_distribution *law, double exponent,
                              struct random_stream stream, struct error *error)
{
    uint64_t length = UINT64_C(1) << law->block_bits;
    uint64_t turns = law->block_bits ? HEAD_TURNS : 1, *index, *share;
    law->heads = law->blocks * turns;
    index = memory_array(law->heads, sizeof *index, error);
    share = memory_array(law->heads, sizeof *share, error);
    law->head = memory_array(law->heads, sizeof *law->head, error);
    law->sum = memory_array(law->heads + 1, sizeof *law->sum, error);
    for (uint64_t turn = 0; turn < turns && error->status == STATUS_OK; turn++) {
        struct permutation deal = permutation_create(law->blocks, stream);
        random_next(&stream);
        for (uint64_t i = 0; i < law->blocks; i++) {
            uint64_t rank = turn * law->blocks + i, block = permutation_apply(&deal, i);
            double mass = zipf_mass((double)rank + 1, (double)rank + 2, exponent);
            if (block + 1 == law->blocks)
                mass *= (double)law->last_length / (double)length;
            index[rank] = index_distribution_place(law, block, turn);
            memcpy(&share[rank], &mass, sizeof mass);
        }
    }
    if (error->status == STATUS_OK)
        radix_sort(index, share, law->heads, ordering_bits(law->length), error);
    for (uint64_t i = 0; i < law->heads && error->status == STATUS_OK; i++) {
        double mass;
        memcpy(&mass, &share[i], sizeof mass);
        law->head[i] = (uint32_t)index[i];
        law->sum[0] = 0;
        law->sum[i + 1] = law->sum[i] + mass;
    }
    memory_free(index);
    memory_free(share);
    return error->status;
}

static enum status add_tail(struct index_distribution *law, double exponent, struct error *error)
{
    uint64_t ranks = law->blocks << law->block_bits;
    if (law->heads < ranks) {
        double first = (double)law->heads + 1, last = (double)ranks + 1;
        law->tail = zipf_mass(first, last, exponent) * (double)law->length / (double)ranks;
        zipf_create(&law->tail_rank, first, last, exponent, error);
    }
    double all = law->sum[law->heads] + law->tail;
    for (uint64_t i = 0; i <= law->heads; i++)
        law->sum[i] /= all;
    law->tail /= all;
    return error->status;
}

enum status index_distribution_create(struct index_distribution *law, uint64_t length,
                                      double exponent, struct random_stream stream,
                                      struct error *error)
{
    *law = (struct index_distribution){.length = length,
                                       .uniform = exponent == 0 || exponent == GENERATE_EVEN,
                                       .even = exponent == GENERATE_EVEN};
    if (law->uniform)
        return STATUS_OK;
    cut_blocks(law, stream);
    if (list_heads(law, exponent, random_stream_at(stream.state, 1, 0), error) != STATUS_OK ||
        add_tail(law, exponent, error) != STATUS_OK)
        index_distribution_free(law);
    return error->status;
}

void index_distribution_free(struct index_distribution *law)
{
    memory_free(law->head);
    memory_free(law->sum);
    zipf_free(&law->tail_rank);
    *law = (struct index_distribution){0};
}

/* The first head at `index` or behind it. */
static uint64_t first_head(const struct index_distribution *law, uint64_t index)
{
    uint64_t low = 0, high = law->heads;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (law->head[middle] < index)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

double index_distribution_share(const struct index_distribution *law, uint64_t begin, uint64_t end)
{
    double part = (double)(end - begin) / (double)law->length;
    if (law->uniform)
        return part;
    return law->sum[first_head(law, end)] - law->sum[first_head(law, begin)] + law->tail * part;
}

void index_range_create(struct index_range *r, const struct index_distribution *law, uint64_t begin,
                        uint64_t end)
{
    if (r->law == law && r->begin == begin && r->length == end - begin)
        return;
    r->law = law;
    r->begin = begin;
    r->length = end - begin;
    if (law->uniform)
        return;
    uint64_t first = first_head(law, begin), last = first_head(law, end);
    double heads = law->sum[last] - law->sum[first];
    r->heads = law->heads < law->length ? heads / index_distribution_share(law, begin, end) : 1;
    r->scale_heads = BELOW_ONE / r->heads;
    r->scale_tail = BELOW_ONE / (1 - r->heads);
    if (first < last)
        guide_table_create(&r->guide, law->sum, first, last);
}
