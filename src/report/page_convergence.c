#include "report/page_parts.h"

#include <math.h>
#include <stdbool.h>

#include "base/memory.h"
#include "report/plot.h"

/* The place of the largest of the numbers; `count` where there is no number. */
static size_t best_of(const double *fit, size_t count)
{
    size_t best = count;
    for (size_t i = 0; i < count; i++)
        if (isfinite(fit[i]) && (best == count || fit[i] > fit[best]))
            best = i;
    return best;
}

/* The section, which begins with its first figure. Its trace has the iterations first, first +
 * every, ... */
struct section {
    FILE *to;
    const struct page *page;
    double first, every;
    bool begun;
};

/* What a curve over the iterations shows. */
struct curve {
    const char *title, *caption, *about; /* `about` follows "A line from iteration 1 to 50" */
    bool powers;                         /* the values are logarithms to base 10            */
};

static enum status put_curve(struct section *s, const double *value, size_t count,
                             const struct curve *curve, struct error *error)
{
    FILE *to = s->to;
    struct profile p = {0};
    TRY(profile_take(&p, value, count, 1, VIEW_MOST_COLUMNS, error));
    struct plot_tick tick[PLOT_TICKS];
    char first[48], last[48], about[256];
    struct plot_line plot = {.title = curve->title,
                             .about = about,
                             .first = first,
                             .last = last,
                             .count = p.columns,
                             .stride = 1,
                             .low = p.low,
                             .high = p.high,
                             .marks = p.columns <= VIEW_LEAST_COLUMNS,
                             .scale = plot_scale_none(),
                             .powers = curve->powers,
                             .tick = tick};
    for (uint64_t c = 0; c < p.columns; c++) {
        plot_scale_add(&plot.scale, p.low[c]);
        plot_scale_add(&plot.scale, p.high[c]);
    }
    plot_scale_finish(&plot.scale);
    if (curve->powers)
        plot_scale_widen_to_powers(&plot.scale);
    plot.ticks = plot_inner_ticks(tick, s->first, s->every, count, p.columns);
    snprintf(first, sizeof first, "iteration %.0f", s->first);
    snprintf(last, sizeof last, "iteration %.0f", s->first + s->every * (double)(count - 1));
    snprintf(about, sizeof about, "A line from %s to %s%s", first, last, curve->about);
    fputs(s->begun ? "" : "<section>\n<h2>Convergence</h2>\n", to);
    s->begun = true;
    fprintf(to, "<figure><figcaption>%s</figcaption>\n", curve->caption);
    plot_line(to, &plot);
    fputs("</figure>\n", to);
    profile_free(&p);
    return STATUS_OK;
}

/* fit (count) becomes the logarithms of its distances to the best fit, NaN for that one. */
static enum status put_fits(struct section *s, double *fit, size_t count, struct error *error)
{
    const size_t best = best_of(fit, count);
    const double most = best < count ? fit[best] : NAN;
    char caption[96], about[160];
    const struct curve curve = {.title = "Distance to the best fit after each iteration",
                                .caption = caption,
                                .about = about,
                                .powers = true};
    bool differ = false;
    for (size_t i = 0; i < count; i++) {
        const double distance = most - fit[i];
        fit[i] = distance > 0 && isfinite(distance) ? log10(distance) : NAN;
        differ = differ || isfinite(fit[i]);
    }
    if (!differ)
        return STATUS_OK;
    snprintf(caption, sizeof caption, "Distance to the best fit, %.9g, after each iteration", most);
    snprintf(about, sizeof about,
             ", by powers of ten; the best fit, %.9g, is that of iteration %.0f.", most,
             s->first + s->every * (double)best);
    return put_curve(s, fit, count, &curve, error);
}

/* holdout_error (count) is overwritten. */
static enum status put_holdout_error(struct section *s, double *holdout_error, size_t count,
                                     struct error *error)
{
    for (size_t i = 0; i < count; i++)
        holdout_error[i] = -holdout_error[i];
    const size_t best = best_of(holdout_error, count);
    char caption[96], about[160];
    const struct curve curve = {
        .title = "Held-out error after each iteration", .caption = caption, .about = about};
    if (best == count)
        return STATUS_OK;
    snprintf(caption, sizeof caption, "Held-out error after each iteration, %.4g at least",
             -holdout_error[best]);
    snprintf(about, sizeof about, "; the least error, %.4g, is that of iteration %.0f.",
             -holdout_error[best], s->first + s->every * (double)best);
    for (size_t i = 0; i < count; i++)
        holdout_error[i] = -holdout_error[i];
    return put_curve(s, holdout_error, count, &curve, error);
}

typedef enum status put_numbers(struct section *s, double *value, size_t count,
                                struct error *error);

/* A figure of the numbers of an array of the trace; NaN for what is no number. */
static enum status put_array(struct section *s, const char *name, put_numbers *put,
                             struct error *error)
{
    const json_t *array = page_at(s->page, "trace", name);
    const size_t count = json_array_size(array);
    if (count < 2)
        return STATUS_OK;
    double *value = memory_array(count, sizeof *value, error);
    if (!value)
        return error->status;
    for (size_t i = 0; i < count; i++)
        value[i] = json_number_of(json_array_get(array, i));
    put(s, value, count, error);
    memory_free(value);
    return error->status;
}

enum status page_convergence(FILE *to, const struct page *page, struct error *error)
{
    struct section s = {.to = to,
                        .page = page,
                        .first = page_number_at(page, "trace", "first_iteration"),
                        .every = page_number_at(page, "trace", "every")};
    if (!isfinite(s.first) || !(s.every > 0) || !isfinite(s.every))
        s.first = s.every = 1;
    TRY(put_array(&s, "fit", put_fits, error));
    TRY(put_array(&s, "held_out_rmse", put_holdout_error, error));
    TRY(put_array(&s, "held_out_deviance", put_holdout_error, error));
    fputs(s.begun ? "</section>\n" : "", to);
    return STATUS_OK;
}
