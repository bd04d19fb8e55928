#include "tensor/slice_counts.h"

#include "base/memory.h"

#define SPARSE_FROM  4  /* with more indices for each nonzero, only those that occur are kept */
#define SPARSE_BYTES 64 /* an index that occurs: up to 8/3 places of 16 bytes, 4 while growing  */
#define FIRST_ROOM   64

struct slice_count {
    uint64_t count; /* 0: the place is free */
    uint32_t index;
};

static bool is_sparse(uint64_t length, uint64_t nnz)
{
    return length / SPARSE_FROM > nnz;
}

static uint64_t class_size(uint64_t count, int bits)
{
    return (count + (UINT64_C(1) << bits) - 1) >> bits;
}

uint64_t slice_counts_bytes(uint64_t length, uint64_t nnz, int bits)
{
    return is_sparse(length, nnz) ? class_size(nnz, bits) * SPARSE_BYTES
                                  : class_size(length, bits) * sizeof(uint64_t);
}

enum status slice_counts_create(struct slice_counts *c, uint64_t length, uint64_t nnz, int bits,
                                uint32_t remainder, struct error *error)
{
    *c = (struct slice_counts){.bits = bits, .remainder = remainder};
    if (is_sparse(length, nnz)) {
        c->sparse = memory_zeros(FIRST_ROOM, sizeof *c->sparse, error);
        c->room = c->sparse ? FIRST_ROOM : 0;
    } else {
        c->dense = memory_zeros(class_size(length, bits), sizeof *c->dense, error);
        c->length = c->dense ? class_size(length, bits) : 0;
    }
    return error->status;
}

void slice_counts_free(struct slice_counts *c)
{
    memory_free(c->dense);
    memory_free(c->sparse);
    *c = (struct slice_counts){0};
}

static uint32_t class_mask(const struct slice_counts *c)
{
    return (uint32_t)((UINT64_C(1) << c->bits) - 1);
}

static void add_dense(struct slice_counts *c, const uint32_t *index, uint64_t nnz)
{
    uint32_t mask = class_mask(c), remainder = c->remainder;
    for (uint64_t i = 0; i < nnz; i++)
        if ((index[i] & mask) == remainder)
            c->dense[(uint64_t)index[i] >> c->bits]++;
}

/* The place of the index in the table, or the free place for it. Multiplying by an odd constant
 * (2^64 over the golden ratio: Knuth, The Art of Computer Programming 3, 6.4) scatters indices. */
static struct slice_count *find(const struct slice_counts *c, uint32_t index)
{
    uint64_t at = (index * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (c->room - 1);
    while (c->sparse[at].count > 0 && c->sparse[at].index != index)
        at = (at + 1) & (c->room - 1);
    return &c->sparse[at];
}

static enum status grow(struct slice_counts *c, struct error *error)
{
    struct slice_counts larger = *c;
    larger.room = 2 * c->room;
    larger.sparse = memory_zeros(larger.room, sizeof *larger.sparse, error);
    if (!larger.sparse)
        return error->status;
    for (uint64_t i = 0; i < c->room; i++)
        if (c->sparse[i].count > 0)
            *find(&larger, c->sparse[i].index) = c->sparse[i];
    memory_free(c->sparse);
    *c = larger;
    return STATUS_OK;
}

static enum status add_sparse(struct slice_counts *c, const uint32_t *index, uint64_t nnz,
                              struct error *error)
{
    uint32_t mask = class_mask(c);
    for (uint64_t i = 0; i < nnz; i++) {
        if ((index[i] & mask) != c->remainder)
            continue;
        struct slice_count *place = find(c, index[i]);
        if (place->count++ > 0)
            continue;
        place->index = index[i];
        if (++c->used > c->room / 4 * 3)
            TRY(grow(c, error));
    }
    return STATUS_OK;
}

enum status slice_counts_add(struct slice_counts *c, const uint32_t *index, uint64_t nnz,
                             struct error *error)
{
    if (c->sparse)
        return add_sparse(c, index, nnz, error);
    add_dense(c, index, nnz);
    return STATUS_OK;
}

void slice_counts_total(const struct slice_counts *c, uint64_t *occurring, uint64_t *most)
{
    uint64_t places = c->sparse ? c->room : c->length;
    *occurring = *most = 0;
    for (uint64_t i = 0; i < places; i++) {
        uint64_t count = c->sparse ? c->sparse[i].count : c->dense[i];
        *occurring += count > 0;
        *most = count > *most ? count : *most;
    }
}
