#include "model/fit_text.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

const char *fit_text(double fit, double noise, int digits, char *text)
{
    double distance = 1 - fit;
    int known = noise > DBL_EPSILON ? (int)fmax(floor(-log10(noise)), 1) : digits;
    int shown = known < digits ? known : digits;
    const double unit = pow(10, -shown);
    if (fabs(fit) < 0.5 * unit)
        fit = 0; /* without a sign */
    if (fabs(distance) >= 0.5 * unit || !isfinite(fit))
        snprintf(text, FIT_TEXT, fabs(fit) < 1e6 ? "%.*f" : "%.*g", shown, fit);
    else if (noise > DBL_EPSILON && fabs(distance) <= noise)
        snprintf(text, FIT_TEXT, "1+-%.0e", noise);
    else if (distance != 0)
        snprintf(text, FIT_TEXT, "1%c%.1e", distance > 0 ? '-' : '+', fabs(distance));
    else
        snprintf(text, FIT_TEXT, "1");
    return text;
}

const char *fit_share_text(double fit, bool counts, char *text)
{
    const double rest = counts ? 1 - fit : (1 - fit) * (1 - fit);
    const char *whole = counts ? "the deviance" : "the squared values";
    if (!(rest <= 1))
        snprintf(text, SHARE_TEXT, "nothing of %s", whole);
    else if (rest >= 0.0005)
        snprintf(text, SHARE_TEXT, "%.1f %% of %s", 100 * (1 - rest), whole);
    else if (rest > DBL_EPSILON)
        snprintf(text, SHARE_TEXT, "all but %.1e of %s", rest, whole);
    else
        snprintf(text, SHARE_TEXT, "all of %s", whole);
    return text;
}
