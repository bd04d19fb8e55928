#include "generate/zipf.h"

#include <math.h>
#include <stdbool.h>

#include "base/memory.h"

static bool is_harmonic(double exponent)
{
    return fabs(1 - exponent) < 1e-9;
}

double zipf_mass(double a, double b, double exponent)
{
    double slope = 1 - exponent;
    return is_harmonic(exponent) ? log(b / a) : (pow(b, slope) - pow(a, slope)) / slope;
}

double zipf_quantile(const struct zipf *z, double u)
{
    double slope = 1 - z->exponent;
    if (is_harmonic(z->exponent))
        return z->first * exp(u * log(z->last / z->first));
    double low = pow(z->first, slope), high = pow(z->last, slope);
    return pow(low + u * (high - low), 1 / slope);
}

enum status zipf_create(struct zipf *z, double first, double last, double exponent,
                        struct error *error)
{
    *z = (struct zipf){first, last, exponent, NULL};
    z->quantile = memory_array(ZIPF_STEPS + 1, sizeof *z->quantile, error);
    for (int i = 0; z->quantile && i <= ZIPF_STEPS; i++)
        z->quantile[i] = zipf_quantile(z, (double)i / ZIPF_STEPS);
    return error->status;
}

void zipf_free(struct zipf *z)
{
    memory_free(z->quantile);
    *z = (struct zipf){0};
}
