#include "report/plot_scale.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/decimals.h"

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
    double step = round_step((scale->most / 2 - scale->least / 2) * 2 / (PLOT_TICKS - 1));
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
