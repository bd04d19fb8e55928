#include "tensor/fingerprint.h"

#include <string.h>

#define MULTIPLIER UINT64_C(0x9e3779b97f4a7c15)

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* The bits of a value; those of COO_UNKNOWN for every NaN. */
static uint64_t bits_of(double value)
{
    uint64_t bits;
    if (isnan(value))
        value = COO_UNKNOWN;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

uint64_t fingerprint_hash(const struct coo *x, const uint64_t *first)
{
    uint64_t sum = 0, multiplier[MAX_ORDER], begin[MAX_ORDER];
    for (int n = 0; n < x->shape.order; n++) {
        multiplier[n] = MULTIPLIER * (n ? multiplier[n - 1] : 1);
        begin[n] = (first ? first[n] : 0) + 1;
    }
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (uint64_t i = 0; i < x->nnz; i++) {
        uint64_t place = 0;
        for (int n = 0; n < x->shape.order; n++)
            place += (begin[n] + x->index[n][i]) * multiplier[n];
        sum += mix(place + mix(bits_of(x->value[i])));
    }
    return sum;
}
