#include "report/mode_view.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/least.h"
#include "base/memory.h"
#include "base/uint128.h"
#include "formats/csv/csv_bin.h"

#define PAIRS    16384 /* of rows that profile_smoothness looks at, at most */
#define ROUNDING 1e-12 /* a column that differs from its mean by less is constant */

void profile_free(struct profile *p)
{
    memory_free(p->low, p->high);
    *p = (struct profile){0};
}

static uint64_t first_row(const struct profile *p, uint64_t column, uint64_t rows)
{
    return (uint64_t)((uint128)column * rows / p->columns);
}

enum status profile_take(struct profile *p, const double *a, uint64_t rows, uint64_t rank,
                         uint64_t columns, struct error *error)
{
    *p = (struct profile){.columns = columns < rows ? columns : rows};
    p->low = memory_array(p->columns * rank, sizeof *p->low, error);
    p->high = memory_array(p->columns * rank, sizeof *p->high, error);
    if (error->status != STATUS_OK) {
        profile_free(p);
        return error->status;
    }
#pragma omp parallel for schedule(static)
    for (uint64_t c = 0; c < p->columns; c++) {
        double *low = p->low + c * rank, *high = p->high + c * rank;
        for (uint64_t r = 0; r < rank; r++)
            low[r] = high[r] = NAN;
        for (uint64_t i = first_row(p, c, rows); i < first_row(p, c + 1, rows); i++)
            for (uint64_t r = 0; r < rank; r++) {
                const double x = a[i * rank + r];
                if (!isfinite(x))
                    continue;
                low[r] = x >= low[r] ? low[r] : x;
                high[r] = x <= high[r] ? high[r] : x;
            }
    }
    return STATUS_OK;
}

/* The first row of pair k of those that are spread evenly over the rows. */
static uint64_t pair_row(uint64_t k, uint64_t pairs, uint64_t rows)
{
    return (uint64_t)((uint128)k * (rows - 1) / pairs);
}

/* The correlation of pairs of neighbouring rows in column r; NaN where there is none. */
static double column_smoothness(const double *a, uint64_t rows, uint64_t rank, uint64_t r)
{
    uint64_t pairs = rows - 1 < PAIRS ? rows - 1 : PAIRS;
    double mean[2] = {0}, square[2] = {0}, product = 0;
    for (uint64_t k = 0; k < pairs; k++) {
        const double *pair = a + pair_row(k, pairs, rows) * rank + r;
        mean[0] += pair[0] / (double)pairs;
        mean[1] += pair[rank] / (double)pairs;
    }
    for (uint64_t k = 0; k < pairs; k++) {
        const double *pair = a + pair_row(k, pairs, rows) * rank + r;
        double x = pair[0] - mean[0], y = pair[rank] - mean[1];
        square[0] += x * x;
        square[1] += y * y;
        product += x * y;
    }
    for (int k = 0; k < 2; k++)
        if (sqrt(square[k] / (double)pairs) <= ROUNDING * fabs(mean[k]))
            return NAN;
    return product / sqrt(square[0] * square[1]);
}

double profile_smoothness(const double *a, uint64_t rows, uint64_t rank)
{
    double sum = 0;
    uint64_t count = 0;
#pragma omp parallel for schedule(static, 1) ordered
    for (uint64_t r = 0; r < rank; r++) {
        double smoothness = column_smoothness(a, rows, rank, r);
#pragma omp ordered /* the same sum whatever the number of threads */
        if (isfinite(smoothness)) {
            sum += smoothness;
            count++;
        }
    }
    return count > 0 ? sum / (double)count : 0;
}

#define TOGETHER 8 /* columns that a thread reads together: what a cache line has */

/* A walk along a column, over its entries of one sign; heights are magnitudes. */
struct walk {
    bool climbing;         /* from the last valley, else down from the last peak */
    struct top_entry best; /* the highest entry of the climb                     */
    double valley;         /* the least height since the last peak               */
};

/* Puts a peak among the `count` highest so far, the highest first. */
static void offer(struct top_entry *peak, uint64_t count, const struct top_entry *found)
{
    uint64_t at = count;
    while (at > 0 && fabs(peak[at - 1].value) < fabs(found->value))
        at--;
    if (at == count)
        return;
    memmove(peak + at + 1, peak + at, (count - at - 1) * sizeof *peak);
    peak[at] = *found;
}

/* Goes on to entry i, of value x and of the given height. */
static void step(struct walk *w, uint64_t i, double x, double height, struct top_entry *peak,
                 uint64_t count)
{
    if (w->climbing && height > fabs(w->best.value)) {
        w->best = (struct top_entry){i, x};
    } else if (w->climbing && height <= PEAK_FALL * fabs(w->best.value)) {
        offer(peak, count, &w->best);
        *w = (struct walk){.valley = height};
    } else if (!w->climbing && height > 0 && w->valley <= PEAK_FALL * height) {
        *w = (struct walk){.climbing = true, .best = {i, x}};
    } else if (!w->climbing && height < w->valley) {
        w->valley = height;
    }
}

/* The peaks of the columns [first, end), TOGETHER or fewer. */
static void scan(struct top_entries *top, const double *a, uint64_t rows, uint64_t rank,
                 uint64_t first, uint64_t end)
{
    struct walk walk[2][TOGETHER] = {0}; /* over positive and over negative entries */
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t r = first; r < end; r++) {
            double x = a[i * rank + r];
            struct top_entry *peak = top->entry + r * top->count;
            step(&walk[0][r - first], i, x, fmax(x, 0), peak, top->count);
            step(&walk[1][r - first], i, x, fmax(-x, 0), peak, top->count);
        }
    for (uint64_t r = first; r < end; r++) {
        struct top_entry *peak = top->entry + r * top->count;
        for (int sign = 0; sign < 2; sign++)
            if (walk[sign][r - first].climbing)
                offer(peak, top->count, &walk[sign][r - first].best);
        for (uint64_t k = 1; k < top->count; k++)
            if (fabs(peak[k].value) < PEAK_LEAST * fabs(peak[0].value))
                peak[k] = (struct top_entry){0};
    }
}

enum status peaks_find(struct top_entries *top, const double *a, uint64_t rows, uint64_t rank,
                       uint64_t count, struct error *error)
{
    *top = (struct top_entries){.count = count < rows ? count : rows};
    if (top->count == 0)
        return STATUS_OK;
    top->entry = memory_zeros(rank, top->count * sizeof *top->entry, error);
    if (!top->entry) {
        *top = (struct top_entries){0};
        return error->status;
    }
#pragma omp parallel for schedule(static)
    for (uint64_t first = 0; first < rank; first += TOGETHER)
        scan(top, a, rows, rank, first, first + TOGETHER < rank ? first + TOGETHER : rank);
    return STATUS_OK;
}

/* What all names of a mode may be: parts of dates, with what stands before and after them; hours of
 * the week; numbers. */
enum name_kind { NAME_DATE, NAME_MONTH, NAME_TIME, NAME_HOUR_OF_WEEK, NAME_NUMBER, NAME_KINDS };

static bool name_value(enum name_kind kind, const char *name, struct csv_value *value)
{
    char text[2 * CSV_BIN_ROOM];
    const size_t length = strlen(name);
    if (length >= CSV_BIN_ROOM)
        return false;
    if (kind == NAME_NUMBER)
        return csv_value_number(value, name, length);
    if (kind != NAME_HOUR_OF_WEEK)
        return csv_value_date(value, text,
                              (size_t)snprintf(text, sizeof text, "%s%s%s",
                                               kind == NAME_TIME ? "1970-01-01T" : "", name,
                                               kind == NAME_MONTH ? "-01" : ""));
    *value = (struct csv_value){0};
    while (value->whole < CSV_BIN_HOURS &&
           (csv_bin_hour((int)value->whole, text) != length || strcmp(text, name) != 0))
        value->whole++;
    return value->whole < CSV_BIN_HOURS;
}

static enum name_kind names_kind(const struct labels *labels, int n, uint64_t rows)
{
    for (enum name_kind kind = 0; kind < NAME_KINDS; kind++) {
        struct csv_value last = {-INFINITY, 0}, value;
        uint64_t i = 0;
        for (const char *name; i < rows && (name = labels_get(labels, n, i)); i++) {
            if (!name_value(kind, name, &value) || value.whole < last.whole ||
                (value.whole == last.whole && value.rest <= last.rest))
                break;
            last = value;
        }
        if (i == rows)
            return kind;
    }
    return NAME_KINDS;
}

bool names_ascend(const struct labels *labels, int n, uint64_t rows)
{
    return names_kind(labels, n, rows) != NAME_KINDS;
}

/* --- the ticks of named entries --- */

#define HOUR  3600.0
#define DAY   (24 * HOUR)
#define MONTH (30.436875 * DAY) /* the mean; longer steps are whole months */

/* The shortest round step of which a range has so few that ticks can show them. */
static double tick_step(enum name_kind kind, double range)
{
    static const double seconds[] = {1,        2,         5,         15,        30,        60,
                                     120,      300,       900,       1800,      HOUR,      2 * HOUR,
                                     3 * HOUR, 6 * HOUR,  12 * HOUR, DAY,       2 * DAY,   7 * DAY,
                                     MONTH,    2 * MONTH, 3 * MONTH, 6 * MONTH, 12 * MONTH};
    const double power = pow(10, floor(log10(range / PLOT_TICKS)));
    if (kind == NAME_NUMBER)
        for (int i = 0; i < 3; i++)
            if (range < PLOT_TICKS * power * (i == 0 ? 1 : i == 1 ? 2 : 5))
                return power * (i == 0 ? 1 : i == 1 ? 2 : 5);
    if (kind == NAME_NUMBER)
        return 10 * power;
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++)
        if (range < PLOT_TICKS * seconds[i])
            return seconds[i];
    double years = 1;
    while (range >= PLOT_TICKS * years * 12 * MONTH)
        years *= 10;
    return years * 12 * MONTH;
}

/* The number of the step that an entry is in. */
static double step_of(enum name_kind kind, const char *name, const struct csv_value *value,
                      double step)
{
    if (kind != NAME_NUMBER && step >= MONTH) /* "2026-11-23" */
        return floor((12 * strtod(name, NULL) + strtod(name + 5, NULL) - 1) / round(step / MONTH));
    const double monday = kind == NAME_DATE && step == 7 * DAY ? 3 * DAY : 0; /* 1970: Thursday */
    return floor((value->whole + monday) / step + 1e-9);
}

static void name_ticks(struct mode_view *view, const struct labels *labels, int n, uint64_t rows)
{
    const enum name_kind kind = names_kind(labels, n, rows);
    const double unit = kind == NAME_HOUR_OF_WEEK ? HOUR : 1;
    struct csv_value first, last, value;
    if (kind == NAME_KINDS || view->profile.columns < 2)
        return;
    name_value(kind, labels_get(labels, n, 0), &first);
    name_value(kind, labels_get(labels, n, rows - 1), &last);
    const double range = unit * (last.whole - first.whole);
    if (!isfinite(range) || range <= 0)
        return;
    const double step = tick_step(kind, range);
    double before = NAN;
    for (uint64_t i = 0; i + 1 < rows && view->ticks < PLOT_TICKS; i++) {
        const char *name = labels_get(labels, n, i);
        name_value(kind, name, &value);
        value.whole *= unit;
        const double here = step_of(kind, name, &value, step);
        struct plot_tick *tick = &view->tick[view->ticks];
        plot_tick_at(tick, (double)i, rows, view->profile.columns);
        if (i > 0 && here != before && tick->place > 0 && tick->place < 1) {
            const bool date = kind == NAME_DATE, time = date && step < DAY && strlen(name) > 11;
            snprintf(tick->number, sizeof tick->number, "%.*s",
                     !date                ? 31
                     : step >= 12 * MONTH ? 4
                     : step >= MONTH      ? 7
                                          : 5,
                     name + (time                   ? 11
                             : date && step < MONTH ? 5
                                                    : 0));
            view->ticks++;
        }
        before = here;
    }
}

enum status mode_views_make(struct mode_view view[MAX_ORDER], const struct ktensor *model,
                            const struct labels *labels, const enum view_order order[MAX_ORDER],
                            uint64_t top, struct error *error)
{
    uint64_t lines = 0;
    for (int n = 0; n < MAX_ORDER; n++)
        view[n] = (struct mode_view){0};
    for (int n = 0; n < model->shape.order; n++) {
        const uint64_t rows = model->shape.dims[n];
        if (rows <= VIEW_BARS)
            view[n].kind = VIEW_AS_BARS;
        else if (order[n] == VIEW_ORDERED ||
                 (order[n] == VIEW_FIND_OUT &&
                  (names_ascend(labels, n, rows) ||
                   profile_smoothness(model->factor[n], rows, model->rank) >= VIEW_SMOOTHNESS)))
            view[n].kind = VIEW_AS_LINE;
        else
            view[n].kind = VIEW_AS_TOP;
        lines += view[n].kind == VIEW_AS_LINE ? model->rank : 0;
    }
    uint64_t columns =
        least_of(lines > 0 ? VIEW_ALL_COLUMNS / lines : VIEW_MOST_COLUMNS, VIEW_MOST_COLUMNS);
    columns = columns < VIEW_LEAST_COLUMNS ? VIEW_LEAST_COLUMNS : columns;
    for (int n = 0; n < model->shape.order; n++) {
        const double *a = model->factor[n];
        const uint64_t rows = model->shape.dims[n];
        if (view[n].kind == VIEW_AS_LINE) {
            TRY(profile_take(&view[n].profile, a, rows, model->rank, columns, error));
            name_ticks(&view[n], labels, n, rows);
            TRY(peaks_find(&view[n].top, a, rows, model->rank, VIEW_NAMED, error));
        } else {
            TRY(top_entries_find(&view[n].top, a, rows, model->rank,
                                 view[n].kind == VIEW_AS_TOP ? top : 1, error));
        }
    }
    return STATUS_OK;
}

void mode_views_free(struct mode_view view[MAX_ORDER])
{
    for (int n = 0; n < MAX_ORDER; n++) {
        profile_free(&view[n].profile);
        top_entries_free(&view[n].top);
    }
}
