/* Pseudorandom permutations of [0, length) that need no table. */
#ifndef BLCO_PERMUTATION_H
#define BLCO_PERMUTATION_H

#include <stdint.h>

#include "base/random_stream.h"
#include "tensor/ordering.h"

#define PERMUTATION_ROUNDS 3

/* Each round is a bijection on the numbers of `bits` bits. A result outside of [0, length) is
 * permuted again until it is inside (cycle walking: Black and Rogaway, Ciphers with Arbitrary
 * Finite Domains, 2002). */
struct permutation {
    uint64_t length, mask;
    int half; /* of the number of bits, rounded up */
    uint64_t factor[PERMUTATION_ROUNDS], addend[PERMUTATION_ROUNDS];
};

static inline struct permutation permutation_create(uint64_t length, struct random_stream stream)
{
    int bits = ordering_bits(length);
    struct permutation p = {
        .length = length, .mask = (UINT64_C(1) << bits) - 1, .half = (bits + 1) / 2};
    for (int i = 0; i < PERMUTATION_ROUNDS; i++) {
        p.factor[i] = random_next(&stream) | 1;
        p.addend[i] = random_next(&stream);
    }
    return p;
}

/* The image of x; x < length. */
static inline uint64_t permutation_apply(const struct permutation *p, uint64_t x)
{
    do {
        for (int i = 0; i < PERMUTATION_ROUNDS; i++) {
            x = (x * p->factor[i] + p->addend[i]) & p->mask;
            x ^= x >> p->half;
        }
    } while (x >= p->length);
    return x;
}

#endif
