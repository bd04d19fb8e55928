/* Parts of a tensor, each of which one replicate leaves out: each slice of one mode is in one of
 * them. The choice depends on the index of the slice and on a seed alone, so that it is the same
 * for any order of the entries and any number of ranks. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "numerics/random_counter.h"

/* Tells these random numbers from others of the same seed. */
#define SLICE_PARTS_RANDOM UINT64_C(0x4a1f)

#define MOST_REPLICATES 200

/* How the slices are divided, M times. */
struct slice_parts {
    int mode;      /* counted from 1; 0: they are not                                         */
    int parts;     /* N, two or more                                                          */
    int divisions; /* M; N M <= MOST_REPLICATES                                               */
    uint64_t seed; /* of the first division; the seeds of the others follow. With 0, slices k,
                    * N + k, 2 N + k, ... are part k; else it decides for slices 1 to N, for N + 1
                    * to 2 N, ... which one is in which part */
};

/* Two halves, each of which is the replicate without the other. */
static inline bool slice_parts_are_halves(const struct slice_parts *s)
{
    return s->mode > 0 && s->parts == 2 && s->divisions == 1;
}

/* How many replicates there are; 0 where the tensor is not divided. */
static inline int slice_parts_replicates(const struct slice_parts *s)
{
    return s->mode > 0 ? s->parts * s->divisions : 0;
}

/* The division and the part of it, from 0, that a replicate leaves out: the first replicate of a
 * division the last part. So the halves are replicates in their order. */
static inline int slice_parts_division(const struct slice_parts *s, int replicate)
{
    return replicate / s->parts;
}

static inline int slice_parts_left_out(const struct slice_parts *s, int replicate)
{
    return s->parts - 1 - replicate % s->parts;
}

/* The part, from 0, that the slice with this index (from 0) is in. Neighbours, which are often
 * alike, are in different parts, and the parts are equally large. */
static inline int slice_part(const struct slice_parts *s, int division, uint64_t index)
{
    const uint64_t seed = s->seed + (uint64_t)division, count = (uint64_t)s->parts;
    uint64_t part = index % count;
    for (uint64_t i = count - 1; i > 0 && seed > 0; i--) { /* shuffles the parts of N neighbours */
        uint64_t word[2];
        random_words(seed, (SLICE_PARTS_RANDOM << 48) + i - 1, index / count, word);
        const uint64_t other = i - word[0] % (i + 1);
        part = part == i ? other : part == other ? i : part;
    }
    return (int)part;
}
