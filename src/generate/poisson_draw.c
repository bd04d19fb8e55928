#include "generate/poisson_draw.h"

#include <math.h>

#define MOST 32 /* a mean that is drawn at once; others are sums of such */

/* The least k at which the sum of the probabilities of 0 to k is above a uniform number
 * (inversion). Rounding may leave that sum below the number for ever; then the probabilities have
 * vanished. */
static double draw_small(struct random_stream *stream, double mean)
{
    const double uniform = random_uniform(random_next(stream));
    double k = 0, probability = exp(-mean), sum = probability;
    while (sum <= uniform && sum + probability > sum) {
        k++;
        probability *= mean / k;
        sum += probability;
    }
    return k;
}

double poisson_draw(struct random_stream *stream, double mean)
{
    double count = 0;
    for (; mean > MOST; mean -= MOST)
        count += draw_small(stream, MOST);
    return count + draw_small(stream, mean);
}
