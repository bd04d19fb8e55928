#include "report/plot.h"

#include <math.h>
#include <stdbool.h>

#include "report/html.h"

/* The plot in its own units, of which a page shows about two a pixel. */
#define WIDTH  960
#define HEIGHT 270
#define LEFT   110 /* where the line begins, right of the ticks' numbers */
#define RIGHT  (WIDTH - 16)
#define TOP    14
#define BOTTOM (HEIGHT - 44)

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
    if (scale->least > scale->most) {
        *scale = (struct plot_scale){0, 1};
    } else if (scale->least == scale->most) {
        double x = scale->least, width = x == 0 ? 1 : fabs(x) * 0.1;
        scale->least = fmax(x - width, -0x1.fffffffffffffp1023);
        scale->most = fmin(x + width, 0x1.fffffffffffffp1023);
    }
}

double plot_scale_place(const struct plot_scale *scale, double x)
{
    double range = scale->most / 2 - scale->least / 2; /* the whole range may be infinite */
    if (range == 0)
        return 0.5;
    return fmin(fmax((x / 2 - scale->least / 2) / range, 0), 1);
}

/* The least of 1, 2 and 5 times a power of ten that is `step` or more. */
static double round_step(double step)
{
    double power = pow(10, floor(log10(step)));
    double times = step / power;
    return power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
}

int plot_ticks(const struct plot_scale *scale, double tick[PLOT_TICKS])
{
    int count = 0;
    double step = round_step((scale->most / 2 - scale->least / 2) * 2 / (PLOT_TICKS - 2));
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

static int x_of(const struct plot_line *plot, uint64_t column)
{
    double share = plot->count > 1 ? (double)column / (double)(plot->count - 1) : 0.5;
    return LEFT + (int)lround(share * (RIGHT - LEFT));
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

static void put_axes(FILE *to, const struct plot_line *plot)
{
    double tick[PLOT_TICKS];
    int count = plot_ticks(&plot->scale, tick);
    for (int i = 0; i < count; i++) {
        int y = y_of(plot, tick[i]);
        fprintf(to,
                "<path class=\"%s\" d=\"M%d %dH%d\"/>"
                "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%.6g</text>",
                tick[i] == 0 ? "axis" : "grid", LEFT, y, RIGHT, LEFT - 10, y + 9, tick[i]);
    }
    fprintf(to, "<text x=\"%d\" y=\"%d\">", LEFT, HEIGHT - 8);
    html_text(to, plot->first, HTML_END);
    fprintf(to, "</text>");
    if (plot->count < 2)
        return;
    fprintf(to, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", RIGHT, HEIGHT - 8);
    html_text(to, plot->last, HTML_END);
    fprintf(to, "</text>");
}

/* Writes the columns [first, end) as one path: there along the upper ends and back along the lower
 * ones, or there only where these are the same. */
static void put_stretch(FILE *to, const struct plot_line *plot, uint64_t first, uint64_t end)
{
    bool flat = true;
    int x = x_of(plot, first), y = y_of(plot, plot->high[first * plot->stride]);
    fprintf(to, "M%d %dl", x, y);
    for (uint64_t c = first; c < end; c++) {
        int next_x = x_of(plot, c), next_y = y_of(plot, plot->high[c * plot->stride]);
        fprintf(to, "%d %d ", next_x - x, next_y - y);
        x = next_x;
        y = next_y;
        flat = flat && plot->low[c * plot->stride] == plot->high[c * plot->stride];
    }
    for (uint64_t c = end; c-- > first && !flat;) {
        int next_x = x_of(plot, c), next_y = y_of(plot, plot->low[c * plot->stride]);
        fprintf(to, "%d %d ", next_x - x, next_y - y);
        x = next_x;
        y = next_y;
    }
    if (!flat)
        fputc('z', to);
}

/* Each stretch of columns that are there. */
static void put_path(FILE *to, const struct plot_line *plot)
{
    bool any = false;
    for (uint64_t first = 0, end; first < plot->count; first = end + 1) {
        for (end = first; end < plot->count && is_there(plot, end);)
            end++;
        if (end == first)
            continue;
        fputs(any ? "" : "<path class=\"line\" d=\"", to);
        put_stretch(to, plot, first, end);
        any = true;
    }
    fputs(any ? "\"/>" : "", to);
}

static void put_marks(FILE *to, const struct plot_line *plot)
{
    for (uint64_t c = 0; c < plot->count && plot->marks; c++)
        if (is_there(plot, c))
            fprintf(to, "<circle cx=\"%d\" cy=\"%d\" r=\"5\"/>", x_of(plot, c),
                    y_of(plot, plot->high[c * plot->stride]));
}

void plot_line(FILE *to, const struct plot_line *plot)
{
    fprintf(to, "<svg class=\"plot\" role=\"img\" viewBox=\"0 0 %d %d\"><title>", WIDTH, HEIGHT);
    html_text(to, plot->title, HTML_LINE);
    fprintf(to, "</title><desc>");
    html_text(to, plot->about, HTML_LINE);
    fprintf(to, "</desc>");
    put_axes(to, plot);
    put_path(to, plot);
    put_marks(to, plot);
    fprintf(to, "</svg>\n");
}
