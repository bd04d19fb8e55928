#include <stddef.h>

#include <isa-l/crc64.h>

#include "checkpoint/checkpoint_format.h"

/* The kinds of lambda, scales, Grams and factor matrices of each model. */
static const enum checkpoint_kind kinds[CHECKPOINT_MODELS][CHECKPOINT_FACTOR] = {
    [CHECKPOINT_STATE] = {CHECKPOINT_LAMBDA, CHECKPOINT_SCALE, CHECKPOINT_GRAM, CHECKPOINT_FACTOR},
    [CHECKPOINT_PREVIOUS] = {0, CHECKPOINT_PREVIOUS_SCALE, CHECKPOINT_PREVIOUS_GRAM,
                             CHECKPOINT_PREVIOUS_FACTOR},
    [CHECKPOINT_BEST] = {CHECKPOINT_BEST_LAMBDA, CHECKPOINT_BEST_SCALE, CHECKPOINT_BEST_GRAM,
                         CHECKPOINT_BEST_FACTOR}};

/* Adds a matrix at the end; false where its end is larger than an offset can be. */
static bool add(struct checkpoint_layout *l, enum checkpoint_model model,
                enum checkpoint_kind array, int mode, uint64_t rows)
{
    uint64_t bytes, end;
    if (__builtin_mul_overflow(rows, l->row_bytes, &bytes) ||
        __builtin_add_overflow(l->end, bytes, &end) || end > INT64_MAX)
        return false;
    l->matrix[l->count++] = (struct checkpoint_matrix){
        model, array, kinds[model][array - CHECKPOINT_LAMBDA], mode, rows, l->end};
    l->end = end;
    return true;
}

static bool add_model(struct checkpoint_layout *l, enum checkpoint_model model,
                      const struct shape *shape, uint64_t rank)
{
    if (kinds[model][0] && !add(l, model, CHECKPOINT_LAMBDA, -1, 1))
        return false;
    for (int n = 0; n < shape->order; n++)
        if (!add(l, model, CHECKPOINT_SCALE, n, 1))
            return false;
    for (int n = 0; n < shape->order; n++)
        if (!add(l, model, CHECKPOINT_GRAM, n, rank))
            return false;
    for (int n = 0; n < shape->order; n++)
        if (!add(l, model, CHECKPOINT_FACTOR, n, shape->dims[n]))
            return false;
    return true;
}

bool checkpoint_layout(struct checkpoint_layout *l, const struct shape *shape, uint64_t rank,
                       bool previous, bool best)
{
    *l = (struct checkpoint_layout){.end = CHECKPOINT_PAGE};
    if (__builtin_mul_overflow(rank, sizeof(double), &l->row_bytes))
        return false;
    if (!add_model(l, CHECKPOINT_STATE, shape, rank))
        return false;
    if (previous && !add_model(l, CHECKPOINT_PREVIOUS, shape, rank))
        return false;
    return !best || add_model(l, CHECKPOINT_BEST, shape, rank);
}

uint64_t checkpoint_page_crc(const void *page)
{
    static const uint8_t zeros[sizeof(uint64_t)];
    const uint8_t *bytes = page;
    size_t at = offsetof(struct checkpoint_header, header_crc), after = at + sizeof zeros;
    uint64_t crc = crc64_ecma_refl(0, bytes, at);
    crc = crc64_ecma_refl(crc, zeros, sizeof zeros);
    return crc64_ecma_refl(crc, bytes + after, CHECKPOINT_PAGE - after);
}
