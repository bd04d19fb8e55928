#include "report/decimals.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Powers of ten of a column's largest number between which numbers are shown without a power. */
#define LEAST_EXPONENT   -4
#define LARGEST_EXPONENT 6

int decimals_for(double largest, int digits)
{
    int exponent = largest != 0 && isfinite(largest) ? (int)floor(log10(fabs(largest))) : 0;
    if (exponent < LEAST_EXPONENT || exponent > LARGEST_EXPONENT)
        return -digits;
    return exponent < digits - 1 ? digits - 1 - exponent : 0;
}

static bool all_zeros(const char *text)
{
    return text[strspn(text, "0.")] == '\0';
}

const char *decimals_show(double x, int decimals, char text[DECIMALS_ROOM])
{
    if (decimals < 0)
        snprintf(text, DECIMALS_ROOM, "%.*e", -decimals - 1, x + 0.0); /* no -0 */
    else
        snprintf(text, DECIMALS_ROOM, "%.*f", decimals, x);
    if (text[0] == '-' && all_zeros(text + 1))
        memmove(text, text + 1, strlen(text));
    return text;
}

bool decimals_vanish(double x, int decimals)
{
    char text[DECIMALS_ROOM];
    return x == 0 || all_zeros(decimals_show(x, decimals, text));
}
