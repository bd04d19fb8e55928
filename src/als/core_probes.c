#include "als/core_probes.h"

#include <math.h>

#include "numerics/random_counter.h"
#include "tensor/shape.h"

#define SEED   UINT64_C(0x636F7265) /* no seed of a start matters here */
#define A_PAIR 128                  /* bits of random_words            */

void core_probes_signs(double *s, uint64_t rank, int n, uint64_t probe)
{
    uint64_t word[2] = {0};
    for (uint64_t e = 0; e < rank * rank; e++) {
        if (e % A_PAIR == 0)
            random_words(SEED, probe * MAX_ORDER + (uint64_t)n, e / A_PAIR, word);
        s[e] = word[e / 64 % 2] >> e % 64 & 1 ? 1 : -1;
    }
}

/* As B. P. Welford: Note on a method for calculating corrected sums of squares and products,
 * Technometrics 4, 1962. */
void core_mean_add(struct core_mean *m, double x)
{
    double before = x - m->mean;
    m->count++;
    m->mean += before / (double)m->count;
    m->spread += before * (x - m->mean);
}

double core_mean_error(const struct core_mean *m)
{
    double count = (double)m->count;
    return sqrt(m->spread / (count * (count - 1)));
}
