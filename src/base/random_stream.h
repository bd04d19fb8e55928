/* Streams of random numbers at a few instructions each, for billions of draws:
 * SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014).
 * random_stream_at begins a stream, random_next draws from a stream, and random_mix is the step
 * that both use. Numbers choose the stream, so what a thread draws depends on its part of the work
 * alone. random_counter.h turns draws into numbers of the unit interval. */
#pragma once

#include <math.h>
#include <stdint.h>

#include "numerics/random_counter.h"

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

/* The stream that belongs to the seed and the numbers a and b. */
static inline struct random_stream random_stream_at(uint64_t seed, uint64_t a, uint64_t b)
{
    return (struct random_stream){random_mix(random_mix(random_mix(seed) + a) + b)};
}

/* The stream's next 64 random bits. */
static inline uint64_t random_next(struct random_stream *stream)
{
    uint64_t bits = random_mix(stream->state);
    stream->state += RANDOM_GAMMA;
    return bits;
}

/* The standard normal number of a seed and a counter of two words (Box and Muller 1958). */
static inline double random_normal(uint64_t seed, uint64_t high, uint64_t low)
{
    uint64_t word[2];
    random_words(seed, high, low, word);
    double radius = sqrt(-2 * log(random_inner(word[0])));
    return radius * cos(2 * acos(-1) * random_uniform(word[1]));
}
