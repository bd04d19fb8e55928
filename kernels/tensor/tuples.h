/* Tuples of neighbouring modes' coordinates: which tuples nonzeros have, and their numbers. A
 * tuple's key is its place among all possible tuples of its modes, the last mode counting fastest;
 * the tuples that nonzeros have are numbered by ascending key. Device pointers only; all launchers
 * are asynchronous and return the launch's error. */
#pragma once

#include "numerics/launchers.h"

LAUNCHERS_BEGIN

/* Coordinates of nonzeros: fields of a line, or an array for each mode. */
struct tuples_nonzeros {
    const uint64_t *line; /* (nonzeros), or NULL */
    int shift[MAX_ORDER];
    uint32_t mask[MAX_ORDER];
    const uint32_t *index[MAX_ORDER]; /* (nonzeros) each where line is NULL */
};

/* Where coordinates go: into the fields of a line, and into an array for each mode. */
struct tuples_target {
    uint64_t *line; /* (nonzeros), or NULL */
    int shift[MAX_ORDER];
    uint32_t *index[MAX_ORDER]; /* (nonzeros) each, or NULL */
};

/* The possible tuples of modes [first, last), at most 2^31, and which of them nonzeros have. */
struct tuples_map {
    int first, last;
    uint32_t length[MAX_ORDER]; /* of mode first + k                                      */
    uint64_t words;             /* with a bit for every key                               */
    uint64_t *bits;             /* (words): the keys that nonzeros have; NULL for a map of
                                 * one mode, whose tuples are its indices                 */
    uint32_t *before;           /* (words + 1): tuples in the words before                */
};

/* Every key, or one in 2^skipped_bits of them, practically at random. */
struct tuples_sample {
    int key_bits; /* keys < 2^key_bits */
    int skipped_bits;
};

/* *count (0 before) += how many of the sample's keys n nonzeros have. Reads only the modes of the
 * map and their lengths. bits (2^(key_bits - skipped_bits) bits in whole words, 0 before) is
 * scratch. */
cudaError_t tuples_count(const struct tuples_nonzeros *x, const struct tuples_map *map,
                         struct tuples_sample sample, uint64_t n, uint64_t *bits, uint32_t *count,
                         cudaStream_t stream);

/* Tuples of coordinates without their lowest bits: of mode n without dropped[n] bits, or without
 * mode n at all where these are TUPLES_ALL_BITS. */
#define TUPLES_ALL_BITS 32
struct tuples_parts {
    int order;
    int kinds; /* at most MAX_ORDER */
    unsigned char dropped[MAX_ORDER][MAX_ORDER];
};

/* For each kind k of tuples: marks the bits of the tuples that nonzeros have, of the sample of
 * numerics/fiber_sample.h, in a map of its own, and count[k] (kinds; 0 before) += how many bits of
 * it are marked. bits (kinds * FIBER_MAP_WORDS, 0 before) has the maps. */
cudaError_t tuples_count_parts(const struct tuples_nonzeros *x, const struct tuples_parts *parts,
                               int skipped, uint64_t n, uint64_t *bits, uint32_t *count,
                               cudaStream_t stream);

/* Draws [first, last) of n nonzeros, at random; a nonzero may be drawn again. *count (0 before) +=
 * how many rows of this mode are new. bits (a bit for each row) has those seen before. */
cudaError_t tuples_count_drawn(const struct tuples_nonzeros *x, int mode, uint32_t first,
                               uint32_t last, uint64_t n, uint64_t *bits, uint32_t *count,
                               cudaStream_t stream);

/* Sets the bits of n nonzeros' tuples in map->bits. */
cudaError_t tuples_mark(const struct tuples_nonzeros *x, const struct tuples_map *map, uint64_t n,
                        cudaStream_t stream);

/* Coordinate k of each of n nonzeros becomes the number of its tuple of map[k] (maps). The target's
 * arrays may be those of x where a nonzero's place is the same in both. */
cudaError_t tuples_reduce(const struct tuples_nonzeros *x, const struct tuples_map *map, int maps,
                          const struct tuples_target *to, uint64_t n, cudaStream_t stream);

/* Writes every tuple: its coordinates, and its number as the last one; one[i] (tuples) = 1. */
cudaError_t tuples_list(const struct tuples_map *map, const struct tuples_target *to, double *one,
                        cudaStream_t stream);

LAUNCHERS_END
