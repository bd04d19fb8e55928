/* Random numbers by the thousand million, at a few instructions each, in streams that are told
 * apart by numbers, so that what a thread draws depends on its piece of work alone: SplitMix64
 * (Steele, Lea, Flood, Fast Splittable Pseudorandom Number Generators, 2014). */
#ifndef BLCO_RANDOM_STREAM_H
#define BLCO_RANDOM_STREAM_H

#include <stdint.h>

#define RANDOM_GAMMA UINT64_C(0x9e3779b97f4a7c15)

struct random_stream {
    uint64_t state;
};

/* A bijection on 64-bit numbers that scatters them. */
static inline uint64_t random_mix(uint64_t x)
{
    x += RANDOM_GAMMA;
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* The stream of three numbers. */
static inline struct random_stream random_stream_at(uint64_t seed, uint64_t a, uint64_t b)
{
    return (struct random_stream){random_mix(random_mix(random_mix(seed) + a) + b)};
}

static inline uint64_t random_next(struct random_stream *stream)
{
    uint64_t bits = random_mix(stream->state);
    stream->state += RANDOM_GAMMA;
    return bits;
}

/* Random bits to a number in (0, 1). */
static inline double random_inner(uint64_t bits)
{
    return ((double)(bits >> 12) + 0.5) * 0x1p-52;
}

#endif
