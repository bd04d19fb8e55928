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

/* Adds numbers [from, from + count) of `width` bytes each to index[0..count), `shift` bits up. */
static void load_digit(const void *numbers, int width, uint32_t from, uint32_t count, int shift,
                       uint64_t *index)
{
    const uint64_t *u64 = numbers;
    const uint32_t *u32 = numbers;
    const uint16_t *u16 = numbers;
    const uint8_t *u8 = numbers;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t part = width == 8   ? u64[from + i]
                        : width == 4 ? u32[from + i]
                        : width == 2 ? u16[from + i]
                                     : u8[from + i];
        index[i] |= part << shift;
    }
}

static void load_indices(const struct segment *s, const struct blco_file_block *b, uint32_t from,
                         uint32_t count, uint64_t *index)
{
    int shift = 0;
    const uint8_t *numbers = s->bytes + b->index_at;
    memset(index, 0, count * sizeof *index);
    for (int width = 8; width > 0; width /= 2) {
        if (!(b->index_bytes & width))
            continue;
        load_digit(numbers, width, from, count, shift, index);
        shift += 8 * width;
        numbers += (uint64_t)b->count * (uint64_t)width;
    }
}

/* One mode of a slice. Returns whether all coordinates lie below the length. */
static bool decode_mode(const uint64_t *index, uint32_t count, int shift, uint64_t mask,
                        uint32_t base, uint64_t length, uint32_t *coordinate)
{
    uint32_t bits = (uint32_t)mask;
    for (uint32_t i = 0; i < count; i++)
        coordinate[i] = base | ((uint32_t)(index[i] >> shift) & bits);
    uint32_t largest = 0;
    if ((base | mask) >= length)
        for (uint32_t i = 0; i < count; i++)
            largest = coordinate[i] > largest ? coordinate[i] : largest;
    return largest < length;
}

/* A sound block into x, the block's first nonzero to `to`. Returns whether all coordinates lie
 * below the lengths. */
static bool decode_block(const struct segment *s, const struct blco_file_block *b, struct coo *x,
                         uint64_t to)
{
    uint64_t index[SLICE];
    bool within = true;
    for (uint32_t from = 0; from < b->count; from += SLICE) {
        uint32_t count = b->count - from < SLICE ? b->count - from : SLICE;
        int shift = 0;
        load_indices(s, b, from, count, index);
        for (int n = 0; n < x->order; n++) {
            uint64_t mask = (UINT64_C(1) << b->bits[n]) - 1;
            bool good = decode_mode(index, count, mask ? shift : 0, mask, b->base[n], x->dims[n],
                                    x->index[n] + to + from);
            within = within && good;
            shift += b->bits[n];
        }
    }
    values_widen((enum value_form)b->value_form, s->bytes + b->value_at, b->count, x->value + to);
    return within;
}

enum status blco_unpack(const uint8_t *bytes, const struct blco_file_segment *s, struct coo *x,
                        uint64_t first, uint32_t count, const char *name, struct error *error)
{
    const struct segment segment = {bytes, s->bytes, count};
    uint64_t stride = blco_block_stride(x->order);
    uint32_t done = 0;
    bool good = s->nblocks * stride <= s->bytes;
    for (uint32_t k = 0; k < s->nblocks && good; k++) {
        struct blco_file_block b;
        blco_block_load(&b, x->order, bytes + k * stride);
        good = done < count && is_sound(&segment, &b, x->order, done) &&
               decode_block(&segment, &b, x, first + done);
        done += b.count;
    }
    if (!good || done != count)
        return error_set(error, STATUS_INPUT,
                         "%s: damaged: nonzeros from number %ju on are not as its tables say", name,
                         (uintmax_t)first + 1);
    return STATUS_OK;
}
