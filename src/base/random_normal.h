/* Normal random numbers from random words. */
#ifndef BLCO_RANDOM_NORMAL_H
#define BLCO_RANDOM_NORMAL_H

#include <math.h>

#include "numerics/random_counter.h"

/* The standard normal number of a seed and a counter of two words (Box and Muller 1958). */
static inline double random_normal(uint64_t seed, uint64_t high, uint64_t low)
{
    uint64_t word[2];
    random_words(seed, high, low, word);
    double radius = sqrt(-2 * log(random_inner(word[0])));
    return radius * cos(2 * acos(-1) * random_uniform(word[1]));
}

#endif
