/* Tests whether a coordinate of a decoded nonzero is too large, all modes of a word at once, by the
 * same code on the host and on the device. It adds to each coordinate what its mode's length lacks
 * to a power of two; a coordinate that is beyond the length then carries out of its place. A carry
 * into another place does no harm: the coordinate that it comes from is beyond already. */
#pragma once

#include "numerics/packed_group.h"

/* Constants of the test, for each word. */
struct packed_bounds {
    uint64_t lacking[PACKED_WORDS]; /* 2^bits - length, in every mode's place */
    uint64_t top[PACKED_WORDS];     /* the uppermost bit of every place       */
};

static inline void packed_bounds_create(struct packed_bounds *limits, const struct packed_layout *l)
{
    memset(limits, 0, sizeof *limits);
    for (int n = 0; n < l->order; n++) {
        uint64_t mask = l->mode[n].mask, lacking = mask + 1 - l->mode[n].length;
        limits->lacking[l->mode[n].word] |= lacking << l->mode[n].shift;
        limits->top[l->mode[n].word] |= (mask ^ mask >> 1) << l->mode[n].shift;
    }
}

/* Nonzero where word number w has a coordinate that is beyond. */
COMMON_FUNCTION uint64_t packed_beyond(const struct packed_bounds *limits, int w, uint64_t word)
{
    uint64_t lacking = limits->lacking[w], sum = word + lacking;
    return ((word & lacking) | ((word | lacking) & ~sum)) & limits->top[w];
}

/* The first mode, counted from one, whose coordinate is beyond; 0 where no coordinate is. */
COMMON_FUNCTION int packed_mode_beyond(const struct packed_layout *l, const uint64_t *word)
{
    for (int n = 0; n < l->order; n++) {
        uint64_t place = l->mode[n].word ? word[1] : word[0];
        if ((uint32_t)(place >> l->mode[n].shift & l->mode[n].mask) >= l->mode[n].length)
            return n + 1;
    }
    return 0;
}
