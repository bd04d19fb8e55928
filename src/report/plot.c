#include "report/plot.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"
#include "report/html.h"
#include "report/text_table.h"

#define LEAST_RANGE 1e-4   /* half of a range, against the largest number: ticks have six digits */
#define NO_WIDTH    1e-300 /* a number below it has no width of its own */
#define LONGEST     7      /* characters of a tick with decimals */

struct plot_scale plot_scale_none(void)
{
    return (struct plot_scale){INFINITY, -INFINITY};
}

void plot_scale_add(struct plot_scale *scale, double x)
{
    if (!isfinite(x))
        return;
    scale->least = fmin(scale->least, x);
    scale->most = fmax(scale->most, x);
}

void plot_scale_finish(struct plot_scale *scale)
{
    if (scale->least > scale->most)
        *scale = (struct plot_scale){0, 1};
    double largest = fmax(fabs(scale->least), fabs(scale->most));
    double range = scale->most / 2 - scale->least / 2; /* half of it: all may be infinite */
    if (range > 0 && range >= largest * LEAST_RANGE)
        return;
    double middle = scale->least / 2 + scale->most / 2;
    double width = largest < NO_WIDTH ? 1 : largest * LEAST_RANGE;
    scale->least = fmax(middle - width, -DBL_MAX);
    scale->most = fmin(middle + width, DBL_MAX);
}

double plot_scale_place(const struct plot_scale *scale, double x)
{
    double range = scale->most / 2 - scale->least / 2; /* the whole range may be infinite */
    if (range == 0)
        return 0.5;
    return fmin(fmax((x / 2 - scale->least / 2) / range, 0), 1);
}

void plot_scale_widen_to_powers(struct plot_scale *scale)
{
    scale->least = floor(scale->least);
    scale->most = ceil(scale->most);
}

int plot_ticks(const struct plot_scale *scale, double tick[PLOT_TICKS])
{
    int count = 0;
    const double least = (scale->most / 2 - scale->least / 2) * 2 / (PLOT_TICKS - 1);
    const double power = pow(10, floor(log10(least))), times = least / power;
    const double step = power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
    if (!(step > 0) || !isfinite(step))
        return 0;
    double first = ceil(scale->least / step);
    for (double k = first; count < PLOT_TICKS && k * step <= scale->most; k++) {
        tick[count++] = k * step + 0.0; /* no -0 */
        if (k + 1 == k)
            break;
    }
    return count;
}

const char *plot_tick_text(const double *tick, int count, int k, char text[PLOT_TICK_ROOM])
{
    double step = count > 1 ? tick[1] - tick[0] : tick[0];
    int decimals = decimals_for(step * (1 + LEAST_RANGE), 1); /* the difference is rounded */
    if (decimals < 0 || strlen(decimals_show(tick[k], decimals, text)) > LONGEST)
        snprintf(text, PLOT_TICK_ROOM, "%.6g", tick[k]);
    return text;
}

const char *plot_power_text(double power, char text[PLOT_TICK_ROOM])
{
    static const char *const raised[] = {"\u2070", "\u00b9", "\u00b2", "\u00b3", "\u2074",
                                         "\u2075", "\u2076", "\u2077", "\u2078", "\u2079"};
    char digits[16], *end = text + sprintf(text, power == 0 ? "1" : "10");
    snprintf(digits, sizeof digits, "%.0f", fmin(fmax(power, -999), 999));
    for (const char *c = digits; *c && power != 0; c++)
        end = stpcpy(end, *c == '-' ? "\u207b" : raised[*c - '0']);
    return text;
}

/* The plot in its own units, of which a page shows one or two a pixel. */
#define WIDTH  640
#define HEIGHT 200
#define LEFT   92 /* where the line begins, right of the ticks' numbers */
#define RIGHT  (WIDTH - 10)
#define TOP    10
#define BOTTOM (HEIGHT - 34)

#define TICK    6    /* how far ticks reach below the axis                     */
#define DIGIT   12.5 /* the width of a text's column, at most; most of them are narrower */
#define BETWEEN 12   /* two texts below the axis, at least                      */

void plot_bar(FILE *to, const struct plot_scale *scale, double x)
{
    fprintf(to, "<svg aria-hidden=\"true\">");
    if (isfinite(x)) {
        double zero = 100 * plot_scale_place(scale, 0), end = 100 * plot_scale_place(scale, x);
        fprintf(to, "<rect x=\"%.3g%%\" width=\"%.3g%%\" height=\"100%%\"/>", fmin(zero, end),
                fabs(end - zero));
    }
    fprintf(to, "</svg>");
}

void plot_tick_at(struct plot_tick *tick, double entry, uint64_t entries, uint64_t columns)
{
    const double column = (entry + 0.5) * (double)columns / (double)entries - 0.5;
    *tick = (struct plot_tick){.entry = (uint64_t)entry, .place = column / (double)(columns - 1)};
}

int plot_inner_ticks(struct plot_tick tick[PLOT_TICKS], double first, double every,
                     uint64_t entries, uint64_t columns)
{
    double last = first + every * (double)(entries - 1), number[PLOT_TICKS];
    const struct plot_scale scale = {first, last};
    int count = entries > 2 && columns > 1 ? plot_ticks(&scale, number) : 0, kept = 0;
    for (int i = 0; i < count; i++) {
        struct plot_tick *t = &tick[kept];
        plot_tick_at(t, (number[i] - first) / every, entries, columns);
        if (t->place <= 0 || t->place >= 1 || number[i] != floor(number[i]))
            continue;
        snprintf(t->number, sizeof t->number, "%.0f", number[i]);
        kept++;
    }
    return kept;
}

static int x_of(const struct plot_line *plot, uint64_t column)
{
    double place = plot->count > 1 ? (double)column / (double)(plot->count - 1) : 0.5;
    return LEFT + (int)lround(place * (RIGHT - LEFT));
}

static int y_of(const struct plot_line *plot, double value)
{
    return BOTTOM - (int)lround(plot_scale_place(&plot->scale, value) * (BOTTOM - TOP));
}

static bool is_there(const struct plot_line *plot, uint64_t column)
{
    return isfinite(plot->low[column * plot->stride]) &&
           isfinite(plot->high[column * plot->stride]);
}

/* A text below the horizontal axis that begins, has its middle or ends at x; in full as a tooltip.
 */
static void put_below(FILE *to, int x, const char *anchor, const char *text, size_t most)
{
    fprintf(to, "<text x=\"%d\" y=\"%d\"%s%s%s>", x, HEIGHT - 8, *anchor ? " text-anchor=\"" : "",
            anchor, *anchor ? "\"" : "");
    if (utf8_width(text) > most)
        html_print(to, HTML_LINE, "<title>%s</title>", text);
    html_print(to, most, "%s</text>", text);
}

/* How wide a text is at most, of which `most` columns are shown. */
static double width_of(const char *text, size_t most)
{
    return DIGIT * fmin((double)utf8_width(text), (double)most + 1);
}

/* The inner ticks, and their numbers where these are apart from each other and from the ends'. */
static void put_inner_ticks(FILE *to, const struct plot_line *plot)
{
    double free = LEFT + width_of(plot->first, HTML_END) + BETWEEN,
           end = RIGHT - width_of(plot->last, HTML_END) - BETWEEN;
    for (int i = 0; i < plot->ticks; i++) {
        const struct plot_tick *tick = &plot->tick[i];
        const char *text = tick->text ? tick->text : tick->number;
        double x = LEFT + tick->place * (RIGHT - LEFT), half = width_of(text, HTML_TICK) / 2;
        fprintf(to, "<path class=\"axis\" d=\"M%d %dv%d\"/>", (int)lround(x), BOTTOM, TICK);
        if (x - half < free || x + half > end)
            continue;
        put_below(to, (int)lround(x), "middle", text, HTML_TICK);
        free = x + half + BETWEEN;
    }
}

static void put_axes(FILE *to, const struct plot_line *plot)
{
    double tick[PLOT_TICKS];
    char text[PLOT_TICK_ROOM];
    int count = plot_ticks(&plot->scale, tick);
    fprintf(to, "<path class=\"grid\" d=\"M%d %dH%d\"/>", LEFT, BOTTOM, RIGHT);
    for (int i = 0; i < count; i++) {
        int y = y_of(plot, tick[i]);
        if (plot->powers && tick[i] != floor(tick[i]))
            continue;
        fprintf(to,
                "<path class=\"%s\" d=\"M%d %dH%d\"/>"
                "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>",
                tick[i] == 0 && !plot->powers ? "axis" : "grid", LEFT, y, RIGHT, LEFT - 8, y + 7,
                plot->powers ? plot_power_text(tick[i], text)
                             : plot_tick_text(tick, count, i, text));
    }
    if (plot->diagonal)
        fprintf(to, "<path class=\"axis d1\" d=\"M%d %dL%d %d\"/>", LEFT, BOTTOM, RIGHT, TOP);
    put_below(to, LEFT, "", plot->first, HTML_END);
    if (plot->count < 2)
        return;
    put_below(to, RIGHT, "end", plot->last, HTML_END);
    put_inner_ticks(to, plot);
}

/* Draws the columns [first, end): there along the upper ends, and back along the lower ones. */
static void put_range(FILE *to, const struct plot_line *plot, uint64_t first, uint64_t end,
                      bool thin)
{
    const uint64_t count = end - first;
    int x = x_of(plot, first), y = y_of(plot, plot->high[first * plot->stride]);
    fprintf(to, "M%d %dl", x, y);
    for (uint64_t k = 0; k < (thin ? count : 2 * count); k++) { /* by steps: few characters */
        const uint64_t c = k < count ? first + k : end - 1 - (k - count);
        const int next_x = x_of(plot, c),
                  next_y = y_of(plot, (k < count ? plot->high : plot->low)[c * plot->stride]);
        fprintf(to, "%d %d ", next_x - x, next_y - y);
        x = next_x;
        y = next_y;
    }
    fputs(thin ? "" : "z", to);
}

/* Draws each range of columns that are there: as an area, unless the lower end is the upper one
 * wherever the line is there. */
static void put_path(FILE *to, const struct plot_line *plot)
{
    bool thin = true;
    for (uint64_t c = 0; c < plot->count; c++)
        if (is_there(plot, c))
            thin = thin && plot->low[c * plot->stride] == plot->high[c * plot->stride];
    fputs("<path ", to);
    if (plot->id)
        fprintf(to, "id=\"%s\" ", plot->id);
    fprintf(to, "class=\"line%s\" d=\"", thin ? "" : " area");
    for (uint64_t first = 0, end; first < plot->count; first = end + 1) {
        for (end = first; end < plot->count && is_there(plot, end);)
            end++;
        if (end > first)
            put_range(to, plot, first, end, thin);
    }
    fputs("\"/>", to);
}

static void begin_plot(FILE *to, const struct plot_line *plot)
{
    fprintf(to, "<svg class=\"plot\" role=\"img\" viewBox=\"0 0 %d %d\">", WIDTH, HEIGHT);
    html_print(to, HTML_LINE, "<title>%s</title><desc>%s</desc>", plot->title, plot->about);
    put_axes(to, plot);
}

/* Draws the points; those that would cover each other once. */
static void put_points(FILE *to, const struct plot_line *plot)
{
    uint64_t column = UINT64_MAX;
    bool drawn[HEIGHT] = {false};
    for (size_t i = 0; i < plot->points; i++) {
        const struct plot_point *point = &plot->point[i];
        if (!isfinite(point->value))
            continue;
        if (point->column != column)
            memset(drawn, 0, sizeof drawn);
        column = point->column;
        const int y = y_of(plot, point->value);
        if (!drawn[y])
            fprintf(to, "<circle class=\"point\" cx=\"%d\" cy=\"%d\" r=\"3\"/>", x_of(plot, column),
                    y);
        drawn[y] = true;
    }
}

void plot_line(FILE *to, const struct plot_line *plot)
{
    begin_plot(to, plot);
    put_points(to, plot);
    put_path(to, plot);
    for (uint64_t c = 0; c < plot->count && plot->marks; c++)
        if (is_there(plot, c))
            fprintf(to, "<circle cx=\"%d\" cy=\"%d\" r=\"4\"/>", x_of(plot, c),
                    y_of(plot, plot->high[c * plot->stride]));
    fprintf(to, "</svg>\n");
}

void plot_overlay(FILE *to, const struct plot_line *frame, const struct plot_overlaid *line,
                  int count)
{
    begin_plot(to, frame);
    for (int k = 0; k < count; k++) {
        /* A line's height h in its own plot, from BOTTOM up, is here `times` h, from where the
         * least number of its scale lies. */
        const double least = plot_scale_place(&frame->scale, line[k].scale.least),
                     times = plot_scale_place(&frame->scale, line[k].scale.most) - least;
        fprintf(to,
                "<use href=\"#%s\" class=\"k%d d%d\" transform=\"matrix(1 0 0 %.6g 0 %.6g)\">"
                "<title>",
                line[k].id, k % PLOT_COLOURS, k % PLOT_DASHES, times,
                BOTTOM * (1 - times) - least * (BOTTOM - TOP));
        html_print(to, HTML_LABEL, "%s</title></use>", line[k].name);
    }
    fprintf(to, "</svg>\n");
}

void plot_key(FILE *to, int k)
{
    fprintf(to,
            "<svg class=\"key k%d d%d\" aria-hidden=\"true\" viewBox=\"0 0 40 10\"><path "
            "class=\"line\" d=\"M0 5h40\"/></svg>",
            k % PLOT_COLOURS, k % PLOT_DASHES);
}
