#include "tensor/holdout.h"

#include <math.h>

#include "numerics/random_counter.h"

#define DRAWN UINT64_C(0xd1a300) /* before the mode, in counters of coordinates that are drawn */

/* By a hash of its coordinates: the words of one counter after the other. */
bool holdout_has(const struct holdout *h, const struct coo *x, const uint64_t *first, uint64_t i)
{
    uint64_t word[2] = {0, 0};
    for (int n = 0; n < x->shape.order; n++)
        random_words(h->seed, word[0], first[n] + x->index[n][i], word);
    return (double)(word[0] >> 11) < h->share * 0x1p53;
}

uint64_t holdout_choose(const struct holdout *h, const struct coo *x, const uint64_t *first,
                        bool *chosen)
{
    uint64_t count = 0;
#pragma omp parallel for schedule(static) reduction(+ : count)
    for (uint64_t i = 0; i < x->nnz; i++) {
        chosen[i] = !isnan(x->value[i]) && holdout_has(h, x, first, i);
        count += chosen[i];
    }
    return count;
}

void holdout_draw(const struct holdout *h, const struct shape *shape, uint64_t k,
                  uint32_t *coordinate)
{
    for (int n = 0; n < shape->order; n++) {
        uint64_t word[2], high, low;
        random_words(h->seed, DRAWN << 32 | (uint64_t)n, k, word);
        random_product(word[0], shape->dims[n], &high, &low);
        coordinate[n] = (uint32_t)high;
    }
}
