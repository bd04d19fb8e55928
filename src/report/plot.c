#include "report/plot.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#include "report/html.h"

/* The plot in its own units, of which a page shows one or two a pixel. */
#define WIDTH  640
#define HEIGHT 200
#define LEFT   92 /* where the line begins, right of the ticks' numbers */
#define RIGHT  (WIDTH - 10)
#define TOP    10
#define BOTTOM (HEIGHT - 34)

#define LEAST_RANGE 1e-4   /* half of a range, against the largest number: ticks have six digits */
#define NO_WIDTH    1e-300 /* a number below it has no width of its own */

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
                tick[i] == 0 ? "axis" : "grid", LEFT, y, RIGHT, LEFT - 8, y + 7, tick[i]);
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

/* Whether the line has the same lower and upper end wherever it is there. */
static bool is_thin(const struct plot_line *plot)
{
    for (uint64_t c = 0; c < plot->count; c++)
        if (is_there(plot, c) && plot->low[c * plot->stride] != plot->high[c * plot->stride])
            return false;
    return true;
}

/* A pen that draws by steps, which take few characters. */
struct pen {
    FILE *to;
    int x, y;
};

static void draw_to(struct pen *pen, int x, int y)
{
    fprintf(pen->to, "%d %d ", x - pen->x, y - pen->y);
    pen->x = x;
    pen->y = y;
}

/* Draws the columns [first, end): there along the upper ends, and back along the lower ones. */
static void put_stretch(FILE *to, const struct plot_line *plot, uint64_t first, uint64_t end,
                        bool thin)
{
    struct pen pen = {to, x_of(plot, first), y_of(plot, plot->high[first * plot->stride])};
    fprintf(to, "M%d %dl", pen.x, pen.y);
    for (uint64_t c = first; c < end; c++)
        draw_to(&pen, x_of(plot, c), y_of(plot, plot->high[c * plot->stride]));
    if (thin)
        return;
    for (uint64_t c = end; c-- > first;)
        draw_to(&pen, x_of(plot, c), y_of(plot, plot->low[c * plot->stride]));
    fputc('z', to);
}

/* Draws each stretch of columns that are there. */
static void put_path(FILE *to, const struct plot_line *plot)
{
    bool thin = is_thin(plot);
    fprintf(to, "<path class=\"line%s\" d=\"", thin ? "" : " area");
    for (uint64_t first = 0, end; first < plot->count; first = end + 1) {
        for (end = first; end < plot->count && is_there(plot, end);)
            end++;
        if (end > first)
            put_stretch(to, plot, first, end, thin);
    }
    fputs("\"/>", to);
}

static void put_marks(FILE *to, const struct plot_line *plot)
{
    for (uint64_t c = 0; c < plot->count && plot->marks; c++)
        if (is_there(plot, c))
            fprintf(to, "<circle cx=\"%d\" cy=\"%d\" r=\"4\"/>", x_of(plot, c),
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
