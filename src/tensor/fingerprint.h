/* Recognises a tensor without its nonzeros: order, lengths, number of nonzeros, and a sum of hashes
 * that depends neither on the order of the nonzeros nor on how ranks have divided them. */
#pragma once

#include "tensor/coo.h"

struct fingerprint {
    struct shape shape;
    uint64_t nnz;  /* distinct nonzeros                                          */
    uint64_t hash; /* the sum of fingerprint_hash over all nonzeros, modulo 2^64 */
};

/* The sum, modulo 2^64, of a hash of each nonzero of x: of its coordinates, which count from
 * first[n] (order; NULL: from 0), and of the bits of its value (all NaN alike). The hashes of the
 * parts of a tensor add up to the hash of the tensor. By all OpenMP threads. The hash of a nonzero
 * is mix(sum over n of (i_n + 1) * m^(n+1) + mix(bits of the value)), where i_n is the coordinate
 * from 0, m = 0x9e3779b97f4a7c15, and mix is the finalizer of SplitMix64 (Steele, Lea, Flood: Fast
 * splittable pseudorandom number generators, OOPSLA 2014). */
uint64_t fingerprint_hash(const struct coo *x, const uint64_t *first);
