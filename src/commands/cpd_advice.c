#include "commands/cpd_advice.h"

#include <float.h>
#include <math.h>
#include <stdint.h>

#define PRINTED 5e-10 /* half of the last digit of a fit that is printed */

/* Decimal digits behind the point that an error of this size leaves. */
static int digits(double error)
{
    return (int)floor(-log10(fmax(error, DBL_EPSILON)));
}

static void tell_digits(struct progress *progress, const struct fit_trust *t)
{
    if (t->checks > 0)
        progress_note(progress,
                      "the residual gave the fit of %d iteration%s: %d digits of the other way to "
                      "compute it can be trusted (off by %.1e at most)",
                      t->checks, t->checks == 1 ? "" : "s", digits(t->error), t->error);
    if (!t->exact && t->noise > PRINTED)
        progress_note(progress,
                      "warning: rounding leaves %d digits of this fit: --check-every 1 gives all",
                      digits(t->noise));
}

/* A ridge that is larger than the one that did not help. */
static double better_ridge(const struct cpals_result *result, const struct backend_options *options)
{
    return fmax(result->health.ridge, 10 * mode_rules_largest_ridge(&options->rules, MAX_ORDER));
}

static void tell_falls(struct progress *progress, const struct cpals_result *result,
                       const struct backend_options *options)
{
    const struct fit_trust *t = &result->trust;
    if (t->falls == 0)
        return;
    if (mode_rules_largest_ridge(&options->rules, MAX_ORDER) > 0)
        progress_note(progress,
                      "the fit fell in %d iteration%s, by %.1e at most: --ridge keeps weights "
                      "small at the cost of fit",
                      t->falls, t->falls == 1 ? "" : "s", t->fall);
    else
        progress_note(
            progress,
            "warning: the fit fell in %d iteration%s, by %.1e at most: the components are "
            "nearly dependent; try --ridge %.1g, or a lower rank",
            t->falls, t->falls == 1 ? "" : "s", t->fall, better_ridge(result, options));
}

static void tell_degenerate(struct progress *progress, const struct cpals_result *result,
                            const struct backend_options *options)
{
    const struct model_health *h = &result->health;
    if (h->degenerate == 0)
        return;
    progress_note(progress,
                  "warning: %ju pair%s of components degenerate%s: components %ju and %ju cancel "
                  "each other (congruence %.4f), and the product of their weights grew by a factor "
                  "of %.3g since iteration %d; try --ridge %.1g, or a lower rank",
                  (uintmax_t)h->degenerate, h->degenerate == 1 ? "" : "s",
                  h->degenerate == 1 ? "s" : "", (uintmax_t)h->pair[0], (uintmax_t)h->pair[1],
                  h->congruence, h->growth, h->since, better_ridge(result, options));
}

static void tell_zero(struct progress *progress, const struct cpals_result *result, uint64_t rank)
{
    uint64_t zero = result->health.zero;
    if (zero > 0)
        progress_note(progress,
                      "warning: %ju of %ju components became zero: a lower rank gives the same fit",
                      (uintmax_t)zero, (uintmax_t)rank);
}

static void tell_momentum(struct progress *progress, const struct cpals_result *result,
                          const struct backend_options *options)
{
    if (options->momentum && !result->momentum)
        progress_note(progress, "the iterations ran without momentum, for which memory has no room "
                                "beside the tensor (--accelerate momentum makes room)");
}

void cpd_advise(struct progress *progress, const struct cpals_result *result,
                const struct backend_options *options)
{
    tell_digits(progress, &result->trust);
    tell_falls(progress, result, options);
    tell_degenerate(progress, result, options);
    tell_zero(progress, result, options->rank);
    tell_momentum(progress, result, options);
}
