#include "als/result_findings.h"

#include <float.h>
#include <math.h>

#include "als/precision_switch.h"

#define PRINTED 5e-10 /* half of the last digit of a fit that is printed */

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

void find_in_shape(struct findings *f, const struct shape *shape, uint64_t rank)
{
    if (shape->order == 1)
        findings_add(f, FINDING_VECTOR, true,
                     "a tensor of one mode is a vector: one component gives fit 1, and more "
                     "components add nothing");
    for (int n = 0; shape->order > 1 && n < shape->order; n++)
        if (shape->dims[n] < rank)
            findings_add(f, FINDING_SHORT_MODE, true,
                         "rank %ju is larger than mode %d (length %ju): its columns cannot be "
                         "independent",
                         (uintmax_t)rank, n + 1, (uintmax_t)shape->dims[n]);
}

void find_dropped_zeros(struct findings *f, uint64_t dropped, const char *tensor)
{
    if (dropped == 0)
        return;
    if (dropped == COO_NOT_KNOWN)
        findings_add(f, FINDING_DROPPED_ZEROS, false,
                     "%s does not say whether zeros that were listed are left out", tensor);
    else
        findings_add(f, FINDING_DROPPED_ZEROS, true,
                     "%s was made without %ju zero%s that %s listed", tensor, (uintmax_t)dropped,
                     dropped == 1 ? "" : "s", dropped == 1 ? "was" : "were");
    findings_advise(f, "blco convert --keep-zeros keeps them");
}

void find_in_tolerance(struct findings *f, const struct backend_options *options, double tolerance)
{
    if (options->problem.precision != POLICY_SINGLE || tolerance <= 0 ||
        tolerance >= SINGLE_RESOLVES)
        return;
    findings_add(f, FINDING_TOLERANCE, true,
                 "--tol %g is below %g, the resolution of single precision", tolerance,
                 SINGLE_RESOLVES);
    findings_advise(f, "--precision auto ends in double precision");
}

/* --- a result --- */

/* Without a tolerance, a run is meant to end at the limit of iterations. */
static void find_end(struct findings *f, const struct cpals_result *result,
                     const struct cpals_options *als)
{
    static const char *const ended[] = {[CPALS_CONVERGED] = NULL,
                                        [CPALS_EARLY] = NULL,
                                        [CPALS_ITERATIONS] = "it stopped at the limit",
                                        [CPALS_INTERRUPTED] = "a signal ended it",
                                        [CPALS_TIME_LIMIT] = "the time limit ended it",
                                        [CPALS_BREAKDOWN] = NULL};
    bool asked = result->stop == CPALS_ITERATIONS && als->tolerance <= 0;
    if (!ended[result->stop] || asked)
        return;
    findings_add(f, FINDING_NOT_CONVERGED, true,
                 "the run has not converged: %s, after %d iteration%s, the last of which changed "
                 "the fit by %.1e",
                 ended[result->stop], result->iterations, plural((uint64_t)result->iterations),
                 result->change);
    if (result->stop == CPALS_ITERATIONS)
        findings_advise(f, "-i allows more iterations");
    else
        findings_advise(f, "--resume goes on from a --checkpoint");
}

/* Decimal digits after the point that an error of this size leaves. */
static int digits(double error)
{
    return (int)floor(-log10(fmax(error, DBL_EPSILON)));
}

static void find_digits(struct findings *f, const struct fit_trust *t)
{
    if (t->checks > 0)
        findings_add(
            f, FINDING_FIT_CHECKED, false,
            "the residual gave the fit of %d iteration%s; the usual formula gave %d correct "
            "digits there (off by %.1e at most)",
            t->checks, plural((uint64_t)t->checks), digits(t->error), t->error);
    if (t->exact || t->noise <= PRINTED)
        return;
    findings_add(f, FINDING_ROUNDING, true, "rounding leaves %d digits of this fit",
                 digits(t->noise));
    findings_advise(f, "--check-every 1 gives all");
}

/* A ridge that helps, larger than the one that did not. */
static double better_ridge(const struct cpals_result *result, const struct backend_options *options)
{
    return fmax(result->health.ridge,
                10 * mode_rules_largest_ridge(&options->problem.rules, MAX_ORDER));
}

static void find_falls(struct findings *f, const struct cpals_result *result,
                       const struct backend_options *options)
{
    const struct fit_trust *t = &result->trust;
    bool ridge = mode_rules_largest_ridge(&options->problem.rules, MAX_ORDER) > 0;
    if (t->falls == 0)
        return;
    findings_add(f, FINDING_FIT_FELL, !ridge, "the fit fell in %d iteration%s, by %.1e at most: %s",
                 t->falls, plural((uint64_t)t->falls), t->fall,
                 ridge ? "--ridge keeps weights small at the cost of fit"
                       : "the components are nearly dependent");
    if (!ridge)
        findings_advise(f, "try --ridge %.1g, or a lower rank", better_ridge(result, options));
}

/* A part of the held-out error by which it must have grown to be worth a word, beside its standard
 * error. */
#define GROWN .02

static void find_best(struct findings *f, const struct cpals_result *result,
                      const struct cpals_options *als)
{
    if (result->best_iteration > 0 && als->early_stop > 0)
        findings_add(f, FINDING_BEST_EARLIER, false,
                     "the model is that of iteration %d, which has the least held-out error",
                     result->best_iteration);
    else if (result->best_iteration > 0)
        findings_add(f, FINDING_BEST_EARLIER, false,
                     "the model is that of iteration %d: its fit is higher than that of the last, "
                     "%.6f",
                     result->best_iteration, result->last_fit);
}

static void find_held(struct findings *f, const struct cpals_result *result)
{
    const double grown = result->held.rmse - result->least_held;
    if (result->least_iteration == 0 || !(grown > GROWN * result->least_held) ||
        !(grown > result->held.error))
        return;
    findings_add(f, FINDING_HELD_OUT, true,
                 "the held-out error was %.4g after iteration %d and is %.4g now: the model fits "
                 "what does not repeat",
                 result->least_held, result->least_iteration, result->held.rmse);
    findings_advise(f, "try --ridge auto, a lower rank, or --early-stop 10");
}

static void find_degenerate(struct findings *f, const struct cpals_result *result,
                            const struct backend_options *options)
{
    const struct model_health *h = &result->health;
    if (h->degenerate == 0)
        return;
    findings_add(f, FINDING_DEGENERATE, true,
                 "%ju pair%s of components degenerate%s: components %ju and %ju cancel each other "
                 "(congruence %.4f), and the product of their weights grew by a factor of %.3g "
                 "since iteration %d",
                 (uintmax_t)h->degenerate, plural(h->degenerate), h->degenerate == 1 ? "s" : "",
                 (uintmax_t)h->pair[0], (uintmax_t)h->pair[1], h->congruence, h->growth, h->since);
    findings_advise(f, "try --ridge %.1g, or a lower rank", better_ridge(result, options));
}

static void find_zero(struct findings *f, const struct cpals_result *result, uint64_t rank)
{
    uint64_t zero = result->health.zero;
    if (zero == 0)
        return;
    findings_add(f, FINDING_ZERO, true, "%ju of %ju components became zero", (uintmax_t)zero,
                 (uintmax_t)rank);
    findings_advise(f, "a lower rank gives the same fit");
}

static void find_momentum(struct findings *f, const struct cpals_result *result,
                          const struct backend_options *options)
{
    if (options->problem.acceleration == ACCELERATE_OFF || result->momentum)
        return;
    findings_add(
        f, FINDING_NO_MOMENTUM, false,
        "the iterations ran without momentum: memory has no room for it beside the tensor");
    findings_advise(f, "--accelerate momentum makes room");
}

/* What a core consistency means (core_consistency.h). */
static const char *meaning(double percent)
{
    if (percent >= CORE_SOUND)
        return "the components stand for themselves";
    if (percent >= CORE_DOUBTFUL)
        return "it is doubtful whether each component stands for itself";
    return "the components only describe the tensor together, and a single one means little";
}

static void find_core(struct findings *f, const struct cpals_result *result)
{
    const struct core_consistency *core = &result->core;
    char text[CORE_TEXT];
    bool sound = core->percent >= CORE_SOUND;
    if (core->state != CORE_KNOWN)
        return;
    core_consistency_text(core, text, sizeof text);
    findings_add(f, FINDING_CORE, !sound, "core consistency %s%s: %s", text,
                 core->estimated ? " (estimated, with its standard error)" : "",
                 meaning(core->percent));
    if (!sound)
        findings_advise(f, "%stry a lower rank",
                        result->stop == CPALS_CONVERGED ? "" : "let the run converge, or ");
}

static void find_unknown_core(struct findings *f, const struct core_consistency *core)
{
    static const char *const why[CORE_STATES] = {
        [CORE_FEW_MODES] = "it takes three modes or more",
        [CORE_ZERO] = "a component is zero",
        [CORE_OVERFLOW] = "its numbers are more than a double holds",
        [CORE_ENDED] = "the run ended before it was computed",
    };
    if (core->state == CORE_DEPENDENT)
        findings_add(f, FINDING_CORE_UNKNOWN, false,
                     "core consistency not known: the columns of mode %d are dependent",
                     core->mode + 1);
    else if (core->state == CORE_TOO_LARGE)
        findings_add(f, FINDING_CORE_UNKNOWN, false,
                     "core consistency not known: it is computed for %d components at most",
                     CORE_PASSES);
    else if (why[core->state])
        findings_add(f, FINDING_CORE_UNKNOWN, false, "core consistency not known: %s",
                     why[core->state]);
}

void find_in_result(struct findings *f, const struct cpals_result *result,
                    const struct backend_options *options, const struct cpals_options *als)
{
    find_end(f, result, als);
    find_digits(f, &result->trust);
    find_falls(f, result, options);
    find_best(f, result, als);
    find_held(f, result);
    find_degenerate(f, result, options);
    find_zero(f, result, options->problem.rank);
    find_momentum(f, result, options);
    find_core(f, result);
    find_unknown_core(f, &result->core);
}

/* --- starts --- */

/* What the scores mean, the gravest first. */
static void find_agreement(struct findings *f, const struct starts *s)
{
    const struct starts_agreement a = starts_agreement(s);
    if (a.agree == a.others) {
        findings_add(f, FINDING_STARTS_AGREE, false,
                     "all starts%s lead to the same components (score %.2f or more): others would "
                     "hardly find better ones",
                     s->modelled < s->made ? " that gave a model" : "", STARTS_SAME);
    } else if (a.different > 0) {
        findings_add(f, FINDING_STARTS_AMBIGUOUS, true,
                     "%d of %d other starts fit as well (within %g %%) with other components: the "
                     "components of this rank are not unique",
                     a.different, a.others, 100 * STARTS_EQUAL_FIT);
        findings_advise(f, "try a lower rank, or a smaller --tol");
    } else if (a.agree > 0) {
        findings_add(f, FINDING_STARTS_DIFFER, false,
                     "%d of %d other starts lead to the components of the best (score %.2f or "
                     "more), the rest to others that fit less",
                     a.agree, a.others, STARTS_SAME);
    } else {
        findings_add(f, FINDING_STARTS_ALONE, true,
                     "no other start leads to the components of the best (score %.2f or more)",
                     STARTS_SAME);
        findings_advise(f, "try more starts, more iterations, or a lower rank");
    }
}

void find_in_starts(struct findings *f, const struct starts *s, bool given)
{
    if (s->asked == 1 && !given) {
        findings_add(
            f, FINDING_ONE_START, false,
            "one start was made, and another may lead to a better fit or to other components");
        findings_advise(f, "--starts 5 tells whether the result depends on the start");
    }
    if (s->made < s->asked)
        findings_add(f, FINDING_STARTS_CUT, false,
                     "only %d of %d starts began before the run ended", s->made, s->asked);
    if (s->modelled > 1)
        find_agreement(f, s);
}
