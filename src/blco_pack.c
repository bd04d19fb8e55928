#include "blco_pack.h"

#include "memory.h"
#include "values.h"

/* A block costs more than its entry in the table: a kernel or a thread that decodes it reads the
 * entry first, so small ones must save more than their bytes. */
#define BLOCK_OVERHEAD 64

/* What is being cut into blocks. */
struct cutter {
    const struct ordering *ordering; /* along which the nonzeros stand */
    const struct coo *x;
    uint64_t first; /* nonzeros are counted from here */
    uint64_t block_cost;
    struct blco_packer *p;
};

enum status blco_packer_create(struct blco_packer *p, struct error *error)
{
    *p = (struct blco_packer){0};
    p->begin = memory_array(BLCO_SEGMENT_NNZ + 1, sizeof *p->begin, error);
    return error->status;
}

void blco_packer_free(struct blco_packer *p)
{
    memory_free(p->bytes);
    memory_free(p->begin);
    *p = (struct blco_packer){0};
}

static int bit_length(uint32_t x)
{
    return x ? 32 - __builtin_clz(x) : 0;
}

/* For each mode the bits in which any two of nonzeros [a, b) differ. */
static void scan(const struct cutter *c, uint32_t a, uint32_t b, uint32_t *differing)
{
    for (int n = 0; n < c->x->order; n++) {
        const uint32_t *index = c->x->index[n] + c->first;
        uint32_t found = 0, one = index[a];
        for (uint32_t i = a; i < b; i++)
            found |= index[i] ^ one;
        differing[n] = found;
    }
}

/* For each mode how many low bits hold all that differ. Returns their sum. */
static int count_bits(const struct cutter *c, const uint32_t *differing, uint8_t *bits)
{
    int sum = 0;
    for (int n = 0; n < c->x->order; n++) {
        bits[n] = (uint8_t)bit_length(differing[n]);
        sum += bits[n];
    }
    return sum;
}

/* Where the uppermost line bit in which nonzeros [a, b) differ turns from 0 to 1. The first and the
 * last, between which the others stand, differ in it: it has the highest place among the highest
 * such bits of the modes. */
static uint32_t split_point(const struct cutter *c, uint32_t a, uint32_t b)
{
    int mode = 0, bit = 0, highest = -1;
    for (int n = 0; n < c->x->order; n++) {
        const uint32_t *index = c->x->index[n] + c->first;
        int bits = bit_length(index[a] ^ index[b - 1]);
        if (bits == 0 || c->ordering->place[n][bits - 1] < highest)
            continue;
        mode = n;
        bit = bits - 1;
        highest = c->ordering->place[n][bit];
    }
    const uint32_t *index = c->x->index[mode] + c->first;
    uint32_t low = a, high = b - 1; /* whose bits are 0 and 1 */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (index[middle] >> bit & 1)
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* What nonzeros [a, b) cost in one block. */
static uint64_t cost_of_one(const struct cutter *c, uint32_t a, uint32_t b,
                            const uint32_t *differing)
{
    uint8_t bits[MAX_ORDER];
    int sum = count_bits(c, differing, bits);
    if (sum > BLCO_MAX_INDEX_BITS)
        return UINT64_MAX;
    return c->block_cost + (uint64_t)(b - a) * (uint64_t)((sum + 7) / 8);
}

/* Lists the cheapest blocks for nonzeros [a, b): one, or those of the two halves on either side of
 * the uppermost line bit in which they differ. Returns what they cost, and in which bits of each
 * mode (order) the nonzeros differ. So few that no index saves a block are not looked at by halves.
 */
static uint64_t cut(const struct cutter *c, uint32_t a, uint32_t b, uint32_t *differing)
{
    struct blco_packer *p = c->p;
    uint32_t first_block = p->nblocks;
    uint64_t whole = UINT64_MAX, halves = UINT64_MAX;
    bool few = (b - a) * sizeof(uint64_t) <= c->block_cost;
    if (few) {
        scan(c, a, b, differing);
        whole = cost_of_one(c, a, b, differing);
    }
    if (!few || whole == UINT64_MAX) {
        uint32_t middle = split_point(c, a, b), right[MAX_ORDER];
        halves = cut(c, a, middle, differing) + cut(c, middle, b, right);
        for (int n = 0; n < c->x->order; n++) {
            const uint32_t *index = c->x->index[n] + c->first;
            differing[n] |= right[n] | (index[a] ^ index[middle]);
        }
        whole = cost_of_one(c, a, b, differing);
    }
    if (halves < whole)
        return halves;
    p->nblocks = first_block;
    p->begin[p->nblocks++] = a;
    return whole;
}

/* The entry of block k, whose arrays begin at byte `at`. Returns where they end. */
static uint64_t describe(const struct cutter *c, uint32_t k, uint64_t at, struct blco_file_block *b)
{
    const uint32_t *begin = c->p->begin;
    *b = (struct blco_file_block){.first = begin[k], .count = begin[k + 1] - begin[k]};
    uint32_t differing[MAX_ORDER];
    scan(c, begin[k], begin[k + 1], differing);
    int sum = count_bits(c, differing, b->bits);
    b->index_bytes = (uint8_t)((sum + 7) / 8);
    for (int n = 0; n < c->x->order; n++)
        b->base[n] = c->x->index[n][c->first + b->first] & (uint32_t)(UINT64_MAX << b->bits[n]);
    enum value_form form = values_narrowest(c->x->value + c->first + b->first, b->count);
    b->value_form = (uint8_t)form;
    b->index_at = (uint32_t)at;
    at = blco_round_up(at + (uint64_t)b->count * b->index_bytes, BLCO_ARRAY_ALIGN);
    b->value_at = (uint32_t)at;
    return blco_round_up(at + values_bytes(form, b->count), BLCO_ARRAY_ALIGN);
}

/* Words of `bytes` bytes, from number `from` of the block's `all` on. */
static void store_words(const uint32_t *word, uint32_t from, uint32_t count, int bytes,
                        uint32_t all, void *to)
{
    uint32_t *u32 = to;
    uint16_t *u16 = to;
    uint8_t *u8 = (uint8_t *)to + (bytes == 3 ? sizeof *u16 * all : 0);
    for (uint32_t i = 0; i < count; i++) {
        if (bytes == 4)
            u32[from + i] = word[i];
        if (bytes == 2 || bytes == 3)
            u16[from + i] = (uint16_t)word[i];
        if (bytes == 1 || bytes == 3)
            u8[from + i] = (uint8_t)(word[i] >> 8 * (bytes - 1));
    }
}

static void pack_indices(const struct cutter *c, const struct blco_file_block *b, uint8_t *bytes)
{
    enum { SLICE = 512 };
    uint64_t index[SLICE];
    uint32_t low[SLICE], high[SLICE];
    int low_bytes = b->index_bytes < 4 ? b->index_bytes : 4,
        high_bytes = b->index_bytes - low_bytes;
    uint8_t *to = bytes + b->index_at;
    for (uint32_t from = 0; from < b->count; from += SLICE) {
        uint32_t count = b->count - from < SLICE ? b->count - from : SLICE;
        memset(index, 0, sizeof index);
        int shift = 0;
        for (int n = 0; n < c->x->order; n++) {
            if (b->bits[n] == 0)
                continue;
            const uint32_t *coordinate = c->x->index[n] + c->first + b->first + from;
            uint64_t mask = (UINT64_C(1) << b->bits[n]) - 1;
            for (uint32_t i = 0; i < count; i++)
                index[i] |= (coordinate[i] & mask) << shift;
            shift += b->bits[n];
        }
        for (uint32_t i = 0; i < count; i++) {
            low[i] = (uint32_t)index[i];
            high[i] = (uint32_t)(index[i] >> 32);
        }
        store_words(low, from, count, low_bytes, b->count, to);
        store_words(high, from, count, high_bytes, b->count, to + (uint64_t)b->count * 4);
    }
}

/* How many bytes the segment takes; its blocks are cut. */
static uint64_t measure(const struct cutter *c)
{
    struct blco_file_block b;
    uint64_t at = blco_round_up(c->p->nblocks * blco_block_stride(c->x->order), BLCO_ARRAY_ALIGN);
    for (uint32_t k = 0; k < c->p->nblocks; k++)
        at = describe(c, k, at, &b);
    return blco_round_up(at, BLCO_SEGMENT_ALIGN);
}

static struct cutter cutter_of(struct blco_packer *p, const struct ordering *o, const struct coo *x,
                               uint64_t first)
{
    return (struct cutter){o, x, first, blco_block_stride(x->order) + BLOCK_OVERHEAD, p};
}

void blco_pack_cut(struct blco_packer *p, const struct ordering *o, const struct coo *x,
                   uint64_t first, uint32_t count, struct blco_file_segment *s)
{
    struct cutter c = cutter_of(p, o, x, first);
    uint32_t differing[MAX_ORDER];
    p->nblocks = 0;
    cut(&c, 0, count, differing);
    p->begin[p->nblocks] = count;
    *s = (struct blco_file_segment){.bytes = (uint32_t)measure(&c), .nblocks = p->nblocks};
}

void blco_pack_fill(struct blco_packer *p, const struct ordering *o, const struct coo *x,
                    uint64_t first, const struct blco_file_segment *s, uint8_t *bytes)
{
    struct cutter c = cutter_of(p, o, x, first);
    uint64_t stride = blco_block_stride(x->order);
    uint64_t at = blco_round_up(p->nblocks * stride, BLCO_ARRAY_ALIGN);
    memset(bytes, 0, s->bytes);
    for (uint32_t k = 0; k < p->nblocks; k++) {
        struct blco_file_block b;
        at = describe(&c, k, at, &b);
        blco_block_store(&b, x->order, bytes + k * stride);
        pack_indices(&c, &b, bytes);
        values_pack((enum value_form)b.value_form, x->value + first + b.first, b.count,
                    bytes + b.value_at);
    }
}

enum status blco_pack(struct blco_packer *p, const struct ordering *o, const struct coo *x,
                      uint64_t first, uint32_t count, struct blco_file_segment *s,
                      struct error *error)
{
    blco_pack_cut(p, o, x, first, count, s);
    p->used = s->bytes;
    if (p->used > p->room) {
        if (memory_resize(&p->bytes, p->used, 1, error) != STATUS_OK)
            return error->status;
        p->room = p->used;
    }
    blco_pack_fill(p, o, x, first, s, p->bytes);
    return STATUS_OK;
}
