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

/* The section, which begins with its first figure. */
struct section {
    FILE *to;
    const struct page *page;
    bool begun;
};

/* What a curve over the iterations shows. */
struct curve {
    const char *title, *caption, *about; /* `about` follows "A line from iteration 1 to 50" */
    bool powers;                         /* the values are logarithms to base 10            */
};

static void plot_curve(struct section *section, size_t count, const struct curve *curve,
                       const struct profile *p)
{
    FILE *to = section->to;
    struct iterations number = iterations_of(section->page);
    struct plot_tick tick[PLOT_TICKS];
    char first[48], last[48], about[256];
    struct plot_line plot = {.title = curve->title,
                             .about = about,
                             .first = first,
                             .last = last,
                             .count = p->columns,
                             .stride = 1,
                             .low = p->low,
                             .high = p->high,
                             .marks = p->columns <= VIEW_LEAST_COLUMNS,
                             .scale = plot_scale_none(),
                             .powers = curve->powers,
                             .tick = tick};
    for (uint64_t c = 0; c < p->columns; c++) {
        plot_scale_add(&plot.scale, p->low[c]);
        plot_scale_add(&plot.scale, p->high[c]);
    }
    plot_scale_finish(&plot.scale);
    if (curve->powers)
        plot_scale_widen_to_powers(&plot.scale);
    plot.ticks = plot_inner_ticks(tick, number.first, number.every, count, p->columns);
    snprintf(first, sizeof first, "iteration %.0f", number.first);
    snprintf(last, sizeof last, "iteration %.0f",
             number.first + number.every * (double)(count - 1));
    snprintf(about, sizeof about, "A line from %s to %s%s", first, last, curve->about);
    fputs(section->begun ? "" : "<section>\n<h2>Convergence</h2>\n", to);
    section->begun = true;
    fprintf(to, "<figure><figcaption>%s</figcaption>\n", curve->caption);
    plot_line(to, &plot);
    fputs("</figure>\n", to);
}

static enum status put_curve(struct section *section, const double *value, size_t count,
                             const struct curve *curve, struct error *error)
{
    struct profile p = {0};
    if (profile_take(&p, value, count, 1, VIEW_MOST_COLUMNS, error) == STATUS_OK)
        plot_curve(section, count, curve, &p);
    profile_free(&p);
    return error->status;
}

/* The number of iteration i of the trace. */
static double iteration_at(const struct page *page, size_t i)
{
    const struct iterations number = iterations_of(page);
    return number.first + number.every * (double)i;
}

/* fit (count) becomes distances. */
static enum status put_fits(struct section *section, double *fit, size_t count, struct error *error)
{
    const size_t best = best_of(fit, count);
    const double most = best < count ? fit[best] : NAN;
    char caption[96], about[160];
    const struct curve curve = {.title = "Distance to the best fit after each iteration",
                                .caption = caption,
                                .about = about,
                                .powers = true};
    if (!take_distances(fit, count, most))
        return STATUS_OK;
    snprintf(caption, sizeof caption, "Distance to the best fit, %.9g, after each iteration", most);
    snprintf(about, sizeof about,
             ", by powers of ten; the best fit, %.9g, is that of iteration %.0f.", most,
             iteration_at(section->page, best));
    return put_curve(section, fit, count, &curve, error);
}

/* held (count) is overwritten. */
static enum status put_held(struct section *section, double *held, size_t count,
                            struct error *error)
{
    for (size_t i = 0; i < count; i++)
        held[i] = -held[i];
    const size_t best = best_of(held, count);
    char caption[96], about[160];
    const struct curve curve = {
        .title = "Held-out error after each iteration", .caption = caption, .about = about};
    if (best == count)
        return STATUS_OK;
    snprintf(caption, sizeof caption, "Held-out error after each iteration, %.4g at least",
             -held[best]);
    snprintf(about, sizeof about, "; the least error, %.4g, is that of iteration %.0f.",
             -held[best], iteration_at(section->page, best));
    for (size_t i = 0; i < count; i++)
        held[i] = -held[i];
    return put_curve(section, held, count, &curve, error);
}

typedef enum status put_numbers(struct section *section, double *value, size_t count,
                                struct error *error);

/* A figure of the numbers of an array of the trace. */
static enum status put_array(struct section *section, const char *name, put_numbers *put,
                             struct error *error)
{
    const json_t *array = page_at(section->page, "trace", name);
    const size_t count = json_array_size(array);
    double *value = NULL;
    if (count < 2)
        return STATUS_OK;
    if (take_numbers(array, &value, error) == STATUS_OK)
        put(section, value, count, error);
    memory_free(value);
    return error->status;
}

enum status page_convergence(FILE *to, const struct page *page, struct error *error)
{
    struct section section = {.to = to, .page = page};
    TRY(put_array(&section, "fit", put_fits, error));
    TRY(put_array(&section, "held_out_rmse", put_held, error));
    TRY(put_array(&section, "held_out_deviance", put_held, error));
    fputs(section.begun ? "</section>\n" : "", to);
    return STATUS_OK;
}
