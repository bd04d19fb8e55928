#include "report/page_parts.h"

#include <math.h>
#include <stdbool.h>

#include "base/memory.h"
#include "report/plot.h"

/* The section, which begins with its first figure. Its trace has the iterations first, first +
 * every, ... */
struct section {
    FILE *to;
    const struct page *page;
    double first, every;
    bool begun;
};

/* A figure of an array of the trace: of held-out errors, or of the distances of fits to the best
 * fit, as logarithms, without that one. */
static enum status put_array(struct section *s, const char *name, bool holdout, struct error *error)
{
    const json_t *array = page_at(s->page, "trace", name);
    const size_t count = json_array_size(array);
    char caption[96], about[320], first[48], last[48];
    struct profile p = {0};
    struct plot_tick tick[PLOT_TICKS];
    size_t best = count;
    bool shown = false;
    if (count < 2)
        return STATUS_OK;
    double *value = memory_array(count, sizeof *value, error);
    TRY(error->status);
    for (size_t i = 0; i < count; i++) { /* NaN for what is no number */
        value[i] = json_number_of(json_array_get(array, i));
        if (isfinite(value[i]) &&
            (best == count || (holdout ? value[i] < value[best] : value[i] > value[best])))
            best = i;
    }
    const double extreme = best < count ? value[best] : NAN;
    for (size_t i = 0; i < count; i++) {
        const double distance = extreme - value[i];
        if (!holdout)
            value[i] = distance > 0 && isfinite(distance) ? log10(distance) : NAN;
        shown = shown || isfinite(value[i]);
    }
    if (!shown)
        goto done;
    TRY_OR(done, profile_take(&p, value, count, 1, VIEW_MOST_COLUMNS, error));
    struct plot_line plot = {.title = holdout ? "Held-out error after each iteration"
                                              : "Distance to the best fit after each iteration",
                             .about = about,
                             .first = first,
                             .last = last,
                             .count = p.columns,
                             .stride = 1,
                             .low = p.low,
                             .high = p.high,
                             .marks = p.columns <= VIEW_LEAST_COLUMNS,
                             .scale = plot_scale_none(),
                             .powers = !holdout,
                             .tick = tick};
    for (uint64_t c = 0; c < p.columns; c++) {
        plot_scale_add(&plot.scale, p.low[c]);
        plot_scale_add(&plot.scale, p.high[c]);
    }
    plot_scale_finish(&plot.scale);
    if (plot.powers)
        plot_scale_widen_to_powers(&plot.scale);
    plot.ticks = plot_inner_ticks(tick, s->first, s->every, count, p.columns);
    const double best_iteration = s->first + s->every * (double)best;
    snprintf(first, sizeof first, "iteration %.0f", s->first);
    snprintf(last, sizeof last, "iteration %.0f", s->first + s->every * (double)(count - 1));
    snprintf(caption, sizeof caption,
             holdout ? "Held-out error after each iteration, %.4g at least"
                     : "Distance to the best fit, %.9g, after each iteration",
             extreme);
    snprintf(about, sizeof about,
             holdout ? "A line from %s to %s; the least error, %.4g, is that of iteration %.0f."
                     : "A line from %s to %s, by powers of ten; the best fit, %.9g, is that of "
                       "iteration %.0f.",
             first, last, extreme, best_iteration);
    fprintf(s->to, "%s<figure><figcaption>%s</figcaption>\n",
            s->begun ? "" : "<section>\n<h2>Convergence</h2>\n", caption);
    s->begun = true;
    plot_line(s->to, &plot);
    fputs("</figure>\n", s->to);
done:
    profile_free(&p);
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
    TRY(put_array(&s, "fit", false, error));
    TRY(put_array(&s, "held_out_rmse", true, error));
    TRY(put_array(&s, "held_out_deviance", true, error));
    fputs(s.begun ? "</section>\n" : "", to);
    return STATUS_OK;
}
