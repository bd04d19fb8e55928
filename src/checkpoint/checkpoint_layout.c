#include <stddef.h>

#include <isa-l/crc64.h>

#include "checkpoint/checkpoint_format.h"

/* Adds a matrix at the end; false where its end is beyond what an offset can be. */
static bool add(struct checkpoint_layout *l, enum checkpoint_kind kind, int mode, uint64_t rows)
{
    uint64_t bytes, end;
    if (__builtin_mul_overflow(rows, l->row_bytes, &bytes) ||
        __builtin_add_overflow(l->end, bytes, &end) || end > INT64_MAX)
        return false;
    l->matrix[l->count++] = (struct checkpoint_matrix){kind, mode, rows, l->end};
    l->end = end;
    return true;
}

/* Adds scales, Grams and factor matrices, of these kinds. */
static bool add_modes(struct checkpoint_layout *l, const struct shape *shape, uint64_t rank,
                      enum checkpoint_kind scale, enum checkpoint_kind gram,
                      enum checkpoint_kind factor)
{
    for (int n = 0; n < shape->order; n++)
        if (!add(l, scale, n, 1))
            return false;
    for (int n = 0; n < shape->order; n++)
        if (!add(l, gram, n, rank))
            return false;
    for (int n = 0; n < shape->order; n++)
        if (!add(l, factor, n, shape->dims[n]))
            return false;
    return true;
}

bool checkpoint_layout(struct checkpoint_layout *l, const struct shape *shape, uint64_t rank,
                       bool previous, bool best)
{
    *l = (struct checkpoint_layout){.end = CHECKPOINT_PAGE};
    return !__builtin_mul_overflow(rank, sizeof(double), &l->row_bytes) &&
           add(l, CHECKPOINT_LAMBDA, -1, 1) &&
           add_modes(l, shape, rank, CHECKPOINT_SCALE, CHECKPOINT_GRAM, CHECKPOINT_FACTOR) &&
           (!previous || add_modes(l, shape, rank, CHECKPOINT_PREVIOUS_SCALE,
                                   CHECKPOINT_PREVIOUS_GRAM, CHECKPOINT_PREVIOUS_FACTOR)) &&
           (!best || (add(l, CHECKPOINT_BEST_LAMBDA, -1, 1) &&
                      add_modes(l, shape, rank, CHECKPOINT_BEST_SCALE, CHECKPOINT_BEST_GRAM,
                                CHECKPOINT_BEST_FACTOR)));
}

uint64_t checkpoint_page_crc(const void *page)
{
    static const uint8_t zeros[sizeof(uint64_t)];
    const uint8_t *bytes = page;
    size_t at = offsetof(struct checkpoint_header, header_crc), behind = at + sizeof zeros;
    uint64_t crc = crc64_ecma_refl(0, bytes, at);
    crc = crc64_ecma_refl(crc, zeros, sizeof zeros);
    return crc64_ecma_refl(crc, bytes + behind, CHECKPOINT_PAGE - behind);
}
