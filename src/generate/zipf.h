/* The power law of Zipf distributions, as a density proportional to x^-exponent. */
#ifndef BLCO_ZIPF_H
#define BLCO_ZIPF_H

#include <stdint.h>

#include "base/error.h"

#define ZIPF_STEPS 4096

/* Integral of x^-exponent from a to b; 0 < a <= b. */
double zipf_mass(double a, double b, double exponent);

/* Draws from the density on [first, last] by a table of the quantile function. */
struct zipf {
    double first, last, exponent;
    double *quantile; /* (ZIPF_STEPS + 1); owned */
};

/* 0 < first < last. The caller frees *z, which is empty on failure. STATUS_MEMORY. */
enum status zipf_create(struct zipf *z, double first, double last, double exponent,
                        struct error *error);

/* Accepts an empty *z. */
void zipf_free(struct zipf *z);

/* The quantile function, computed without the table. */
double zipf_quantile(const struct zipf *z, double u);

/* The quantile of u in [0, 1), and the density there, relative to the mass of [first, last]. Linear
 * between the table's points, except in the last step, where a steep tail is far from linear. */
static inline double zipf_at(const struct zipf *z, double u, double *density)
{
    uint32_t step = (uint32_t)(u * ZIPF_STEPS);
    const double *q = z->quantile + step;
    *density = 1 / ((q[1] - q[0]) * ZIPF_STEPS);
    if (step == ZIPF_STEPS - 1)
        return zipf_quantile(z, u);
    return q[0] + (u * ZIPF_STEPS - step) * (q[1] - q[0]);
}

#endif
