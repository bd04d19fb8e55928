/* Packed tensors for tests: lengths, values in every form, and what they decode to. Include it
 * after cmocka.h. */
#pragma once

#include <string.h>

#include "base/uint128.h"
#include "formats/blco/decoded_layout.h"
#include "formats/blco/packed_tensor.h"
#include "formats/blco/segment_pack.h"
#include "support/naive.h"

enum sample_form {
    SAMPLE_CONSTANT,
    SAMPLE_BYTES,
    SAMPLE_WHOLE, /* of either sign, up to 2^53 */
    SAMPLE_DECIMALS,
    SAMPLE_FLOATS,
    SAMPLE_DOUBLES,
    SAMPLE_FORMS,
    SAMPLE_BY_REGION = SAMPLE_FORMS /* another form in each sixth of mode 1 */
};

/* Lengths for lines of about `bits` bits, spread unevenly over the modes. */
static inline void random_lengths(uint64_t *seed, int order, int bits, uint64_t *dims)
{
    int left = bits;
    for (int n = 0; n < order; n++) {
        int share = left / (order - n), b = (int)(naive_random(seed) % (uint64_t)(2 * share + 1));
        b = b < 32 ? b : 32;
        left -= b < left ? b : left;
        uint64_t most = UINT64_C(1) << b;
        dims[n] = most / 2 + naive_random(seed) % (most / 2 + 1);
        dims[n] = dims[n] < 1 ? 1 : dims[n] > MAX_LENGTH ? MAX_LENGTH : dims[n];
    }
}

static inline double value_in_form(int form, uint64_t i)
{
    const double most = 0x1p53;
    switch (form) {
    case SAMPLE_CONSTANT:
        return -1.5;
    case SAMPLE_BYTES:
        return (double)(i % 256);
    case SAMPLE_WHOLE:
        return i % 2 ? most - (double)(i % 1000) : (double)(i % 1000) - most;
    case SAMPLE_DECIMALS:
        return ((double)(i % 100000) - 5000) / 100;
    case SAMPLE_FLOATS:
        return (double)((float)(i % 1000000) / 3);
    default:
        return (double)i / 3;
    }
}

/* Makes a tensor with values whose narrowest form is `form`, for most of them. */
static inline void coo_in_form(struct coo *x, const struct shape *shape, uint64_t nnz,
                               uint64_t seed, int form)
{
    naive_random_coo(x, SHAPE(shape->order, shape->dims), nnz, seed, (int)(seed % 2));
    for (uint64_t i = 0; i < x->nnz; i++) {
        int region = (int)(x->index[0][i] * (uint64_t)SAMPLE_FORMS / shape->dims[0]);
        x->value[i] = value_in_form(form == SAMPLE_BY_REGION ? region : form, i + seed);
    }
}

/* Makes tensor number i of a sweep over orders and forms, with lines of about `bits` bits, and the
 * layout of its decoded nonzeros. False, and no tensor, if the decoded coordinates do not fit
 * into the words. The caller frees *x. */
static inline bool packable_coo(struct coo *x, struct packed_layout *layout, uint64_t *seed, int i,
                                int bits, uint64_t nnz)
{
    int order = i % 9 < 8 ? i % 9 + 1 : 16;
    uint64_t dims[MAX_ORDER];
    random_lengths(seed, order, bits, dims);
    if (!decoded_layout_create(layout, SHAPE(order, dims)))
        return false;
    coo_in_form(x, SHAPE(order, dims), nnz, naive_random(seed), i % (SAMPLE_BY_REGION + 1));
    return true;
}

/* Unpacks all nonzeros in the order in which they are packed; the caller frees *x. */
static inline void unpack_all(const struct packed_tensor *p, struct coo *x)
{
    struct error error = {0};
    struct linear_decoder decoder;
    struct ordering ordering;
    ordering_create(&ordering, p->kind, &p->shape, 64);
    assert_int_equal(linear_decoder_create(&decoder, &ordering, &error), STATUS_OK);
    assert_int_equal(coo_create(x, &p->shape, p->nnz, &error), STATUS_OK);
    for (uint64_t s = 0; s < p->nsegments; s++)
        assert_true(segment_unpack(&decoder, p->bytes + p->segment[s].offset, &p->segment[s], x,
                                   s * p->segment_nnz, (uint32_t)packed_tensor_nnz(p, s, s + 1)));
    linear_decoder_free(&decoder);
}

/* A group, decoded bit by bit by the definition of the format: the words of the nonzeros, even if
 * their coordinates are not below the lengths, and their values. */
struct naive_group {
    struct packed_group head;
    uint64_t word[PACKED_GROUP_NNZ][PACKED_WORDS];
    double value[PACKED_GROUP_NNZ];
};

static inline int naive_bit(const uint32_t *word, uint32_t i)
{
    return word[i / 32] >> (i % 32) & 1;
}

static inline void naive_spread(const struct packed_spread *spread, int line_bits, uint128 line,
                                uint64_t *word)
{
    word[0] = word[1] = 0;
    for (int k = 0; 4 * k < line_bits; k++)
        for (int w = 0; w < PACKED_WORDS; w++)
            word[w] |= spread->nibble[k][(int)(line >> (4 * k)) & 15][w];
}

/* Decodes group k of a segment. */
static inline void naive_unpack(const struct packed_layout *l, const struct packed_spread *spread,
                                const uint8_t *segment, uint32_t k, struct naive_group *group)
{
    const uint8_t *entry = segment + (uint64_t)k * l->stride;
    struct packed_group *g = &group->head;
    uint64_t stored[PACKED_WORDS] = {0, 0};
    memcpy(g, entry, sizeof *g);
    memcpy(stored, entry + sizeof *g, l->stride - sizeof *g);
    const uint32_t *low = (const uint32_t *)(const void *)(segment + g->at);
    const uint32_t *value = low + packed_field_words(g->count, g->low_bits);
    const uint32_t *vector = value + packed_field_words(g->count, g->value_bits);
    double power = packed_power_of_ten(g->decimals);
    uint32_t at = 0;
    for (uint32_t i = 0; i < g->count; i++, at++) {
        while (!naive_bit(vector, at))
            at++;
        uint128 line = (uint128)(at - i) << g->low_bits;
        for (uint32_t b = 0; b < g->low_bits; b++)
            line += (uint128)naive_bit(low, i * g->low_bits + b) << b;
        line += (uint128)stored[1] << 64 | stored[0];
        naive_spread(spread, l->line_bits, line, group->word[i]);
        group->value[i] = packed_value(g, power, packed_field(value, i, g->value_bits));
    }
}
