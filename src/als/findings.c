#include "als/findings.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "als/core_consistency.h"
#include "als/model_health.h"
#include "base/memory.h"
#include "base/shell_word.h"
#include "base/utf8.h"

/* --- the list --- */

#define FIRST_ROOM 8

void findings_add(struct findings *f, const char *kind, bool warning, const char *format, ...)
{
    char sentence[FINDING_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    if (f->error.status != STATUS_OK)
        return;
    if (f->count == f->room) {
        const size_t room = f->room ? 2 * f->room : FIRST_ROOM;
        if (memory_resize(&f->finding, room, sizeof *f->finding, &f->error) != STATUS_OK)
            return;
        f->room = room;
    }
    struct finding finding = {kind, warning, memory_text(&f->error, "%s", sentence), NULL};
    if (finding.sentence)
        f->finding[f->count++] = finding;
}

void findings_advise(struct findings *f, const char *format, ...)
{
    char advice[FINDING_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(advice, sizeof advice, format, args);
    va_end(args);
    if (f->error.status == STATUS_OK)
        f->finding[f->count - 1].advice = memory_text(&f->error, "%s", advice);
}

const char *finding_text(const struct finding *finding, char *text)
{
    snprintf(text, FINDING_TEXT, "%s%s%s%s", finding->warning ? "warning: " : "", finding->sentence,
             finding->advice ? "; " : "", finding->advice ? finding->advice : "");
    return text;
}

void findings_free(struct findings *f)
{
    for (size_t i = 0; i < f->count; i++)
        memory_free(f->finding[i].sentence, f->finding[i].advice);
    memory_free(f->finding);
    *f = (struct findings){0};
}

/* --- what is found --- */

#define FINDING_LABEL 256   /* bytes of a name that a sentence has, at most: 64 characters */
#define PRINTED       5e-10 /* half of the last digit of a fit that is printed */

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

void find_in_shape(struct findings *f, const struct shape *shape, const struct problem *problem)
{
    const uint64_t rank = problem->rank;
    const bool mixture = problem_has_rates(problem) && shape->order > 2; /* needs no such columns */
    if (shape->order == 1)
        findings_add(f, "vector", true,
                     "a tensor of one mode is a vector: one component gives fit 1, and more "
                     "components add nothing");
    for (int n = 0; shape->order > 1 && !mixture && n < shape->order; n++)
        if (shape->dims[n] < rank)
            findings_add(f, "short_mode", true,
                         "rank %ju is larger than mode %d (length %ju): its columns cannot be "
                         "independent",
                         (uintmax_t)rank, n + 1, (uintmax_t)shape->dims[n]);
}

void find_unused_column(struct findings *f, const char *tensor, const char *column)
{
    char word[FINDING_TEXT / 4];
    if (!column)
        return;
    findings_add(f, "unused_column", false,
                 "%s: column '%s' is a number and not used: rows are counted",
                 strcmp(tensor, "-") == 0 ? "standard input" : tensor, column);
    findings_advise(f, "--value %s makes it the value of a row",
                    shell_word(column, word, sizeof word));
}

void find_dropped_zeros(struct findings *f, uint64_t dropped, const char *tensor)
{
    if (dropped == 0)
        return;
    findings_add(f, "dropped_zeros", true, "%s was made without %ju zero%s that %s listed", tensor,
                 (uintmax_t)dropped, dropped == 1 ? "" : "s", dropped == 1 ? "was" : "were");
    findings_advise(f, "blco convert --keep-zeros keeps them");
}

static bool is_unlisted_known(const struct problem *problem)
{
    return problem->unlisted.weighed && problem->unlisted.weight > 0;
}

static void find_empty_slices(struct findings *f, const struct known_rows *known,
                              const struct shape *shape, const struct problem *problem,
                              const char *const label[MAX_ORDER])
{
    char list[FINDING_TEXT / 2] = "", name[FINDING_LABEL + 3], number[24];
    size_t used = 0;
    for (int n = 0; n < shape->order; n++) {
        const uint64_t rows = shape->dims[n];
        const uint64_t empty =
            is_unlisted_known(problem) ? known->unknown[n] : rows - known->rows[n];
        if (empty == 0 || problem->rules.fixed[n])
            continue;
        snprintf(number, sizeof number, "%ju", (uintmax_t)known->first[n] + 1);
        if (label[n])
            snprintf(name, sizeof name, "'%.*s'", (int)printable_cut(label[n], FINDING_LABEL / 4),
                     label[n]);
        used +=
            (size_t)snprintf(list + used, sizeof list - used, "%s%ju of the %ju of mode %d (%s%s)",
                             used > 0 ? ", " : "", (uintmax_t)empty, (uintmax_t)rows, n + 1,
                             empty > 1 ? "the first is " : "", label[n] ? name : number);
    }
    if (used > 0)
        findings_add(f, "empty_slices", false,
                     "some slices have no known entry, and their rows become 0: %s", list);
}

void find_in_known(struct findings *f, const struct known_rows *known, const struct shape *shape,
                   const struct problem *problem, const char *const label[MAX_ORDER])
{
    uint64_t rows = 0, free_modes = 0;
    for (int n = 0; n < shape->order; n++)
        if (!problem->rules.fixed[n]) {
            rows += known->rows[n];
            free_modes++;
        }
    /* The scale of a component can be moved from one mode to another, so that a mode adds one
     * unknown less for each component than its rows have entries. */
    const uint64_t unknowns = problem->rank * (rows - (free_modes > 1 ? free_modes - 1 : 0));
    find_empty_slices(f, known, shape, problem, label);
    if (is_unlisted_known(problem) || known->entries >= unknowns)
        return;
    findings_add(
        f, "few_entries", true,
        "the known entries (%ju) are fewer than the unknowns of the model (%ju), which may "
        "fit them and mean nothing elsewhere",
        (uintmax_t)known->entries, (uintmax_t)unknowns);
    findings_advise(f, "try a lower rank, or --holdout 0.1%s",
                    problem_has_rates(problem) ? "" : " --ridge auto");
}

void find_in_tolerance(struct findings *f, const struct backend_options *options, double tolerance)
{
    if (options->problem.precision != POLICY_SINGLE || tolerance <= 0 ||
        tolerance >= SINGLE_RESOLVES)
        return;
    findings_add(f, "tolerance", true, "--tol %g is below %g, the resolution of single precision",
                 tolerance, SINGLE_RESOLVES);
    findings_advise(f, "--precision auto ends in double precision");
}

/* --- a result --- */

/* Without a tolerance, a run is meant to end at the limit of iterations. */
static void find_end(struct findings *f, const struct cpals_result *result,
                     const struct cpals_options *als)
{
    static const char *const ended[] = {[CPALS_ITERATIONS] = "it stopped at the limit",
                                        [CPALS_INTERRUPTED] = "a signal ended it",
                                        [CPALS_TIME_LIMIT] = "the time limit ended it",
                                        [CPALS_BREAKDOWN] = NULL};
    bool asked = result->stop == CPALS_ITERATIONS && als->tolerance <= 0;
    if (!ended[result->stop] || asked)
        return;
    findings_add(f, "not_converged", true,
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
            f, "fit_checked", false,
            "the residual gave the fit of %d iteration%s; the usual formula gave %d correct "
            "digits there (off by %.1e at most)",
            t->checks, plural((uint64_t)t->checks), digits(t->error), t->error);
    if (t->exact || t->noise <= PRINTED)
        return;
    findings_add(f, "rounding", true, "rounding leaves %d digits of this fit", digits(t->noise));
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
    findings_add(f, "fit_fell", !ridge, "the fit fell in %d iteration%s, by %.1e at most: %s",
                 t->falls, plural((uint64_t)t->falls), t->fall,
                 ridge ? "--ridge keeps weights small at the cost of fit"
                       : "the components are nearly dependent");
    if (!ridge)
        findings_advise(f, "try --ridge %.1g, or a lower rank", better_ridge(result, options));
}

/* A part of the held-out error by which it must have grown to be worth a word, beside its standard
 * error. */
#define GROWN .02

static void find_holdout_error(struct findings *f, const struct cpals_result *result)
{
    const double grown = result->holdout_error.value - result->least_holdout_error;
    if (result->least_iteration == 0 || !(grown > GROWN * result->least_holdout_error) ||
        !(grown > result->holdout_error.error))
        return;
    findings_add(f, "held_out", true,
                 "the held-out error was %.4g after iteration %d and is %.4g now: the model is "
                 "overfitting",
                 result->least_holdout_error, result->least_iteration, result->holdout_error.value);
    findings_advise(f, "%s",
                    loss_of(result->holdout_error.loss)->rates
                        ? "try a lower rank, or --early-stop 10"
                        : "try --ridge auto, a lower rank, or --early-stop 10");
}

static void find_degenerate(struct findings *f, const struct cpals_result *result,
                            const struct backend_options *options)
{
    const struct model_health *h = &result->health;
    if (h->degenerate == 0)
        return;
    findings_add(f, "degenerate", true,
                 "%ju pair%s of components degenerate%s: components %ju and %ju cancel each other "
                 "(congruence %.4f), and the product of their weights grew by a factor of %.3g "
                 "since iteration %d",
                 (uintmax_t)h->degenerate, plural(h->degenerate), h->degenerate == 1 ? "s" : "",
                 (uintmax_t)h->pair[0], (uintmax_t)h->pair[1], h->congruence, h->growth, h->since);
    findings_advise(f, "try --ridge %.1g, or a lower rank", better_ridge(result, options));
}

/* What the core consistency means (core_consistency.h), or why it is not known. */
static void find_core(struct findings *f, const struct cpals_result *result, bool counts)
{
    const struct core_consistency *core = &result->core;
    const bool sound = core->percent >= CORE_SOUND;
    char imputed[64] = "", about[192];
    static const char *const why[CORE_STATES] = {
        [CORE_FEW_MODES] = "it takes three modes or more",
        [CORE_ZERO] = "a component is zero",
        [CORE_OVERFLOW] = "its numbers are more than a double holds",
        [CORE_ENDED] = "the run ended before it was computed",
        [CORE_NO_ROOM] = "memory has no room for what the entries differ from the model",
    };
    char text[CORE_TEXT];
    if (core->state == CORE_KNOWN) {
        core_consistency_text(core, text, sizeof text);
        if (core->imputed > 0)
            snprintf(imputed, sizeof imputed, ", %.3g %% of the tensor taken from the model",
                     100 * core->imputed);
        snprintf(about, sizeof about, "%s%s%s",
                 core->estimated ? ", estimated, with its standard error" : "",
                 counts ? ", of the counts as squares" : "", imputed);
        findings_add(f, "core_consistency", !sound, "core consistency %s%s%s%s: %s", text,
                     *about ? " (" : "", *about ? about + strlen(", ") : "", *about ? ")" : "",
                     sound && !core_consistency_tells(core)
                         ? "with so little data, nearly every model comes near 100"
                     : sound ? "each component is meaningful on its own"
                     : core->percent >= CORE_DOUBTFUL
                         ? "it is doubtful whether each component is meaningful on its own"
                         : "the components only describe the tensor together, and a single one "
                           "means little");
        if (!sound)
            findings_advise(f, "%stry a lower rank",
                            result->stop == CPALS_CONVERGED ? "" : "let the run converge, or ");
    } else if (core->state == CORE_DEPENDENT) {
        findings_add(f, "core_consistency_unknown", false,
                     "core consistency not known: the columns of mode %d are dependent",
                     core->mode + 1);
    } else if (core->state == CORE_TOO_LARGE) {
        findings_add(f, "core_consistency_unknown", false,
                     "core consistency not known: it is computed for %d components at most",
                     CORE_PASSES);
    } else if (why[core->state]) {
        findings_add(f, "core_consistency_unknown", false, "core consistency not known: %s",
                     why[core->state]);
    }
}

void find_in_baseline(struct findings *f, const struct holdout_error *holdout, double slices,
                      const struct problem *problem, int centring)
{
    char modes[4 * MAX_ORDER] = "";
    for (int n = 0, used = 0; n < centring; n++)
        used +=
            snprintf(modes + used, sizeof modes - (size_t)used, "%s%d", n > 0 ? "," : "", n + 1);
    if (!(slices < holdout->value))
        return;
    findings_add(f, "baseline", true,
                 "the means of slices predict the held-out entries better than the model: %s %.4g "
                 "against %.4g",
                 loss_of(holdout->loss)->rates ? "mean deviance" : "RMSE", slices, holdout->value);
    if (centring > 0 && problem->unlisted.weighed && problem->unlisted.weight == 0)
        findings_advise(f, "--values center:%s takes them off first, and predictions have them",
                        modes);
    else
        findings_advise(f, "try a lower rank%s",
                        loss_of(holdout->loss)->rates ? "" : ", or --ridge auto");
}

void find_in_result(struct findings *f, const struct cpals_result *result,
                    const struct backend_options *options, const struct cpals_options *als)
{
    const struct problem *p = &options->problem;
    find_end(f, result, als);
    find_digits(f, &result->trust);
    find_falls(f, result, options);
    if (result->best_iteration > 0 && als->early_stop > 0)
        findings_add(f, "best_earlier", false,
                     "the model is that of iteration %d, which has the least held-out error",
                     result->best_iteration);
    else if (result->best_iteration > 0)
        findings_add(f, "best_earlier", false,
                     "the model is that of iteration %d: its fit is higher than that of the last, "
                     "%.6f",
                     result->best_iteration, result->last_fit);
    find_holdout_error(f, result);
    if (p->unlisted.weighed && p->unlisted.weight == 0 && p->holdout.share == 0) {
        findings_add(f, "untested", false, "the fit is that of the known entries alone");
        findings_advise(f, "--holdout 0.1 tells how well such a model predicts others");
    }
    find_degenerate(f, result, options);
    if (result->health.zero > 0) {
        findings_add(f, "zero", true, "%ju of %ju components became zero",
                     (uintmax_t)result->health.zero, (uintmax_t)p->rank);
        findings_advise(f, "a lower rank gives the same fit");
    }
    if (p->acceleration != ACCELERATE_OFF && !result->momentum) {
        findings_add(
            f, "no_momentum", false,
            "the iterations ran without momentum: memory has no room for it beside the tensor");
        findings_advise(f, "--accelerate momentum makes room");
    }
    find_core(f, result, problem_has_rates(p));
}

/* --- starts --- */

/* What helps where starts disagree: others, and only where many were made a lower rank. */
static const char *more_starts(const struct starts *s)
{
    if (s->made >= STARTS_MOST || (s->until_found && starts_found(s) >= STARTS_ENOUGH))
        return "a lower rank";
    return s->until_found ? "--starts auto with more time" : "--starts auto";
}

/* What the scores mean, the gravest first. */
static void find_agreement(struct findings *f, const struct starts *s)
{
    const struct starts_agreement a = starts_agreement(s);
    if (a.agree == a.others) {
        findings_add(f, "starts_agree", false,
                     "all starts%s lead to the same components (score %.2f or more): others would "
                     "hardly find better ones",
                     s->modelled < s->made ? " that gave a model" : "", STARTS_SAME);
    } else if (a.different > 0) {
        findings_add(f, "starts_ambiguous", true,
                     "%d of %d other starts fit as well (within %g %%) with other components: the "
                     "components of this rank are not unique",
                     a.different, a.others, 100 * STARTS_EQUAL_FIT);
        findings_advise(f, "try %s, or a smaller --tol", more_starts(s));
    } else if (a.agree > 0) {
        findings_add(f, "starts_differ", false,
                     "%d of %d other starts lead to the components of the best (score %.2f or "
                     "more), the rest to others that fit less",
                     a.agree, a.others, STARTS_SAME);
    } else {
        findings_add(f, "starts_alone", true,
                     "no other start leads to the components of the best (score %.2f or more)",
                     STARTS_SAME);
        findings_advise(f, "try %s, or more iterations", more_starts(s));
    }
}

/* What has ended --starts auto. */
static void find_enough(struct findings *f, const struct starts *s)
{
    const int found = starts_found(s);
    if (found >= STARTS_ENOUGH || s->made == s->asked)
        findings_add(f, "starts_enough", false,
                     "--starts auto made %d starts%s: %d found the best model", s->made,
                     s->made == s->asked ? ", the most" : "", found);
    else
        findings_add(
            f, "starts_cut", false,
            "the run ended after %d start%s, before the best model was found %d times (%d so far)",
            s->made, plural((uint64_t)s->made), STARTS_ENOUGH, found);
}

void find_in_starts(struct findings *f, const struct starts *s, uint64_t entries, bool others)
{
    const double spread = starts_spread(s, entries);
    const bool counts = s->made > 0 && s->start[0].result.log_likelihood != 0;
    if (s->asked == 1 && others) { /* local optima of counts outweigh methods and tolerances */
        findings_add(f, "one_start", false,
                     counts
                         ? "one start was made, and another may lead to other components: the "
                           "likelihoods of starts are often 0.05 to 0.5 nats an entry apart"
                         : "one start was made, and another may lead to a better fit or to other "
                           "components");
        findings_advise(f, "--starts 5 tells whether the result depends on the start");
    }
    if (s->until_found)
        find_enough(f, s);
    else if (s->made < s->asked)
        findings_add(f, "starts_cut", false, "only %d of %d starts began before the run ended",
                     s->made, s->asked);
    if (s->modelled > 1)
        find_agreement(f, s);
    if (spread > 0)
        findings_add(f, "starts_spread", false,
                     "the likelihoods of the starts are up to %.2g nats an entry apart", spread);
}

/* --- replicates --- */

/* Whether the model of a replicate could still have changed. */
static bool may_change(const struct replication *s)
{
    for (int k = 0; k < s->replicates; k++)
        if (s->starts[k].start[s->starts[k].best].result.stop == CPALS_ITERATIONS)
            return true;
    return false;
}

/* Whether more starts may find better models of the replicates: they were few, or those of --starts
 * auto ended before a model was found again. */
static bool may_find_more(const struct replication *s)
{
    for (int k = 0; k < s->replicates; k++)
        if (s->starts[k].made < STARTS_MOST &&
            (!s->starts[k].until_found || starts_found(&s->starts[k]) < 2))
            return true;
    return false;
}

/* Why some replicates were not compared, and what the others say. */
static void find_missing_replicates(struct findings *f, const struct replication *s)
{
    const bool halves = slice_parts_are_halves(&s->parts), ended = s->state == REPLICATION_ENDED;
    char found[160] = "", why[FINDING_TEXT] = "the run ended before";
    if (!ended)
        snprintf(why, sizeof why, "%s %d broke down: %s", halves ? "half" : "replicate",
                 s->made + 1, s->starts[s->made].start[0].result.breakdown.message);
    if (s->pairs > 0)
        snprintf(found, sizeof found,
                 "; in the first %d, %ju of %ju components are found again (scores from %.4f to "
                 "%.4f)",
                 s->made, (uintmax_t)s->alike, (uintmax_t)s->rank, s->least, s->greatest);
    if (halves)
        findings_add(f, "halves_unknown", !ended, "the halves of mode %d were not compared: %s",
                     s->parts.mode, why);
    else
        findings_add(f, "replicates_unknown", !ended,
                     "the replicates of mode %d were not %scompared: %s%s", s->parts.mode,
                     s->pairs > 0 ? "all " : "", why, found);
}

/* What speaks against the components that are not found again. */
static void find_different_replicates(struct findings *f, const struct replication *s)
{
    const bool halves = slice_parts_are_halves(&s->parts);
    const uintmax_t differ = s->rank - s->alike, rank = s->rank, number = s->weakest + 1;
    const double weakest = s->component[s->weakest].score;
    if (halves)
        findings_add(f, "halves_differ", true,
                     "%ju of %ju components are not found in both halves of mode %d (score below "
                     "%.2f): the least alike, component %ju, has %.4f",
                     differ, rank, s->parts.mode, REPLICATES_ALIKE, number, weakest);
    else
        findings_add(f, "replicates_differ", true,
                     "%ju of %ju components are not found again in the %d replicates of mode %d "
                     "(score below %.2f): the least alike, component %ju, has %.4f",
                     differ, rank, s->replicates, s->parts.mode, REPLICATES_ALIKE, number, weakest);
    const char *more = may_find_more(s) ? "--starts auto, or " : "";
    if (may_change(s))
        findings_advise(f, "let the %s converge (-i), or try %sa lower rank",
                        halves ? "halves" : "replicates", more);
    else
        findings_advise(f, "try %sa lower rank", more);
}

void find_in_replication(struct findings *f, const struct replication *s)
{
    if (s->parts.mode == 0)
        return;
    if (s->state != REPLICATION_WHOLE)
        find_missing_replicates(f, s);
    else if (s->alike < s->rank)
        find_different_replicates(f, s);
    else if (slice_parts_are_halves(&s->parts))
        findings_add(f, "halves_alike", false,
                     "both halves of mode %d lead to the same components (score %.4f; the least, "
                     "of component %ju, %.4f)",
                     s->parts.mode, s->median, (uintmax_t)s->weakest + 1,
                     s->component[s->weakest].score);
    else
        findings_add(f, "replicates_alike", false,
                     "the %d replicates of mode %d lead to the same components (median score %.4f, "
                     "least %.4f; the least of a component, of component %ju, %.4f)",
                     s->replicates, s->parts.mode, s->median, s->least, (uintmax_t)s->weakest + 1,
                     s->component[s->weakest].score);
}
