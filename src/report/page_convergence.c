#include "report/page_parts.h"

#include <math.h>
#include <stdbool.h>

#include "base/memory.h"
#include "report/plot.h"

/* value[0..count) = the numbers of an array; NaN for other values. */
static enum status take_numbers(const json_t *array, double **value, struct error *error)
{
    const size_t count = json_array_size(array);
    *value = memory_array(count, sizeof **value, error);
    if (!*value)
        return error->status;
    for (size_t i = 0; i < count; i++)
        (*value)[i] = json_number_of(json_array_get(array, i));
    return STATUS_OK;
}

/* The place of the largest of the numbers; `count` where there is no number. */
static size_t best_of(const double *fit, size_t count)
{
    size_t best = count;
    for (size_t i = 0; i < count; i++)
        if (isfinite(fit[i]) && (best == count || fit[i] > fit[best]))
            best = i;
    return best;
}

/* Fits become logarithms of their distances to `most`, or NaN where that is 0. Returns whether some
 * distance is not 0. */
static bool take_distances(double *fit, size_t count, double most)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        double distance = most - fit[i];
        fit[i] = distance > 0 && isfinite(distance) ? log10(distance) : NAN;
        any = any || isfinite(fit[i]);
    }
    return any;
}

/* The trace has the iterations first, first + every, ... */
struct iterations {
    double first, every;
};

static struct iterations iterations_of(const struct page *page)
{
    struct iterations i = {page_number_at(page, "trace", "first_iteration"),
                           page_number_at(page, "trace", "every")};
    return isfinite(i.first) && i.every > 0 && isfinite(i.every) ? i : (struct iterations){1, 1};
}

static void plot_distances(FILE *to, const struct page *page, size_t count, double best_fit,
                           size_t best, const struct profile *p)
{
    struct iterations number = iterations_of(page);
    struct plot_tick tick[PLOT_TICKS];
    char first[48], last[48], about[256];
    struct plot_line plot = {.title = "Distance to the best fit after each iteration",
                             .about = about,
                             .first = first,
                             .last = last,
                             .count = p->columns,
                             .stride = 1,
                             .low = p->low,
                             .high = p->high,
                             .marks = p->columns <= VIEW_LEAST_COLUMNS,
                             .scale = plot_scale_none(),
                             .powers = 1,
                             .tick = tick};
    for (uint64_t c = 0; c < p->columns; c++) {
        plot_scale_add(&plot.scale, p->low[c]);
        plot_scale_add(&plot.scale, p->high[c]);
    }
    plot_scale_finish(&plot.scale);
    plot_scale_widen_to_powers(&plot.scale);
    plot.ticks = plot_inner_ticks(tick, number.first, number.every, count, p->columns);
    snprintf(first, sizeof first, "iteration %.0f", number.first);
    snprintf(last, sizeof last, "iteration %.0f",
             number.first + number.every * (double)(count - 1));
    snprintf(
        about, sizeof about,
        "A line from %s to %s, by powers of ten; the best fit, %.9g, is that of iteration %.0f.",
        first, last, best_fit, number.first + number.every * (double)best);
    fprintf(
        to,
        "<figure><figcaption>Distance to the best fit, %.9g, after each iteration</figcaption>\n",
        best_fit);
    plot_line(to, &plot);
    fputs("</figure>\n", to);
}

enum status page_convergence(FILE *to, const struct page *page, struct error *error)
{
    const json_t *array = page_at(page, "trace", "fit");
    const size_t count = json_array_size(array);
    double *fit = NULL;
    struct profile p = {0};
    if (count < 2)
        return STATUS_OK;
    if (take_numbers(array, &fit, error) != STATUS_OK)
        return error->status;
    const size_t best = best_of(fit, count);
    const double most = best < count ? fit[best] : NAN;
    if (!take_distances(fit, count, most))
        goto done;
    if (profile_take(&p, fit, count, 1, VIEW_MOST_COLUMNS, error) != STATUS_OK)
        goto done;
    fputs("<section>\n<h2>Convergence</h2>\n", to);
    plot_distances(to, page, count, most, best, &p);
    fputs("</section>\n", to);
done:
    profile_free(&p);
    memory_free(fit);
    return error->status;
}
