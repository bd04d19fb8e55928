#include "tensor/halves.h"

#include "numerics/random_counter.h"

#define HALVES UINT64_C(0x4a1f) /* tells these random numbers from others of the same seed */

/* Neighbours, which are often alike, are in different halves, and the halves are equally large. */
int halves_of(const struct halves *h, uint64_t index)
{
    uint64_t word[2] = {0, 0};
    if (h->seed > 0)
        random_words(h->seed, HALVES << 48, index / 2, word);
    return (int)((index ^ word[0]) & 1);
}
