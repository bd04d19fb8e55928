#include "blco_pack.h"

#include "values.h"

#define SLICE 1024 /* nonzeros whose indices stay in cache while every mode takes its bits */

/* What is being decoded. */
struct segment {
    const uint8_t *bytes;
    uint64_t size;
    uint32_t count; /* nonzeros that it must have */
};

static bool lies_within(const struct segment *s, uint64_t at, uint64_t size)
{
    return at % BLCO_ARRAY_ALIGN == 0 && at <= s->size && size <= s->size - at;
}

/* A block that lies within the segment and follows the nonzeros before `first`. */
static bool is_sound(const struct segment *s, const struct blco_file_block *b, int order,
                     uint32_t first)
{
    int sum = 0;
    for (int n = 0; n < order; n++) {
        sum += b->bits[n];
        if (b->bits[n] > 32 || (b->base[n] & ((UINT64_C(1) << b->bits[n]) - 1)) != 0)
            return false;
    }
    return b->first == first && b->count > 0 && b->count <= s->count - first &&
           b->index_bytes <= 8 && sum <= 8 * b->index_bytes && b->value_form < VALUES_FORMS &&
           lies_within(s, b->index_at, (uint64_t)b->count * b->index_bytes) &&
           lies_within(s, b->value_at, values_bytes((enum value_form)b->value_form, b->count));
}

/* Words of `bytes` bytes, from number `from` of the block's `all` on. */
static void load_words(const void *words, int bytes, uint32_t all, uint32_t from, uint32_t count,
                       uint32_t *word)
{
    const uint16_t *u16 = words;
    const uint8_t *u8 = (const uint8_t *)words + (bytes == 3 ? sizeof *u16 * all : 0);
    switch (bytes) {
    case 1:
        for (uint32_t i = 0; i < count; i++)
            word[i] = u8[from + i];
        break;
    case 2:
        for (uint32_t i = 0; i < count; i++)
            word[i] = u16[from + i];
        break;
    case 3:
        for (uint32_t i = 0; i < count; i++)
            word[i] = u16[from + i] | (uint32_t)u8[from + i] << 16;
        break;
    default:
        memcpy(word, (const uint32_t *)words + from, count * sizeof *word);
    }
}

/* The indices of a slice, as far as the block has low and high words. */
struct slice {
    uint32_t count;
    uint32_t low[SLICE], high[SLICE];
};

static void load_slice(const struct segment *s, const struct blco_file_block *b, uint32_t from,
                       struct slice *slice)
{
    const uint8_t *words = s->bytes + b->index_at;
    int low_bytes = b->index_bytes < 4 ? b->index_bytes : 4,
        high_bytes = b->index_bytes - low_bytes;
    slice->count = b->count - from < SLICE ? b->count - from : SLICE;
    if (low_bytes)
        load_words(words, low_bytes, b->count, from, slice->count, slice->low);
    if (high_bytes)
        load_words(words + (uint64_t)b->count * 4, high_bytes, b->count, from, slice->count,
                   slice->high);
}

/* base | (word >> shift & mask). The compiler shall not need to look whether arrays overlap. */
static void take_bits(const uint32_t *restrict word, uint32_t count, int shift, uint32_t mask,
                      uint32_t base, uint32_t *restrict coordinate)
{
    for (uint32_t i = 0; i < count; i++)
        coordinate[i] = base | ((word[i] >> shift) & mask);
}

/* The same for bits of both words: `shift` is less than 32, but not where they end. */
static void take_bits_across(const struct slice *s, int shift, uint32_t mask, uint32_t base,
                             uint32_t *restrict coordinate)
{
    for (uint32_t i = 0; i < s->count; i++)
        coordinate[i] = base | ((s->low[i] >> shift | s->high[i] << (32 - shift)) & mask);
}

/* A mode's coordinates from the `bits` index bits from `shift` on. */
static void decode_mode(const struct slice *s, int shift, int bits, uint32_t base,
                        uint32_t *coordinate)
{
    uint32_t mask = (uint32_t)((UINT64_C(1) << bits) - 1);
    if (bits == 0)
        for (uint32_t i = 0; i < s->count; i++)
            coordinate[i] = base;
    else if (shift >= 32)
        take_bits(s->high, s->count, shift - 32, mask, base, coordinate);
    else if (shift + bits <= 32)
        take_bits(s->low, s->count, shift, mask, base, coordinate);
    else
        take_bits_across(s, shift, mask, base, coordinate);
}

static uint32_t largest_of(const uint32_t *coordinate, uint32_t count)
{
    uint32_t largest = 0;
    for (uint32_t i = 0; i < count; i++)
        largest = coordinate[i] > largest ? coordinate[i] : largest;
    return largest;
}

/* A sound block into x, the block's first nonzero to `to`. Returns whether all coordinates lie
 * below the lengths. */
static bool decode_block(const struct segment *s, const struct blco_file_block *b, struct coo *x,
                         uint64_t to)
{
    struct slice slice;
    bool within = true;
    for (uint32_t from = 0; from < b->count; from += SLICE) {
        int shift = 0;
        load_slice(s, b, from, &slice);
        for (int n = 0; n < x->order; n++) {
            uint32_t *coordinate = x->index[n] + to + from;
            decode_mode(&slice, shift, b->bits[n], b->base[n], coordinate);
            shift += b->bits[n];
            if ((b->base[n] | ((UINT64_C(1) << b->bits[n]) - 1)) >= x->dims[n])
                within = within && largest_of(coordinate, slice.count) < x->dims[n];
        }
    }
    values_widen((enum value_form)b->value_form, s->bytes + b->value_at, b->count, x->value + to);
    return within;
}

/* Entry k of the segment's table into *b; whether it is one of a sound block that follows the
 * nonzeros before `first`. */
static bool load_block(const struct segment *s, uint32_t k, int order, uint32_t first,
                       struct blco_file_block *b)
{
    blco_block_load(b, order, s->bytes + k * blco_block_stride(order));
    return first < s->count && is_sound(s, b, order, first);
}

bool blco_is_sound(const uint8_t *bytes, const struct blco_file_segment *s, int order,
                   uint32_t count)
{
    const struct segment segment = {bytes, s->bytes, count};
    uint32_t done = 0;
    bool good = s->nblocks * blco_block_stride(order) <= s->bytes;
    for (uint32_t k = 0; k < s->nblocks && good; k++) {
        struct blco_file_block b;
        good = load_block(&segment, k, order, done, &b);
        done += b.count;
    }
    return good && done == count;
}

enum status blco_unpack(const uint8_t *bytes, const struct blco_file_segment *s, struct coo *x,
                        uint64_t first, uint32_t count, const char *name, struct error *error)
{
    const struct segment segment = {bytes, s->bytes, count};
    uint32_t done = 0;
    bool good = s->nblocks * blco_block_stride(x->order) <= s->bytes;
    for (uint32_t k = 0; k < s->nblocks && good; k++) {
        struct blco_file_block b;
        good = load_block(&segment, k, x->order, done, &b) &&
               decode_block(&segment, &b, x, first + done);
        done += b.count;
    }
    if (!good || done != count)
        return error_set(error, STATUS_INPUT,
                         "%s: damaged: nonzeros from number %ju on are not as its tables say", name,
                         (uintmax_t)first + 1);
    return STATUS_OK;
}
