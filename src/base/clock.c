#include "base/clock.h"

#include <stdio.h>
#include <time.h>

#include "base/number.h"

double clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double clock_lap(double *start)
{
    double before = *start;
    *start = clock_now();
    return *start - before;
}

const char *pace(double amount, const char *unit, double seconds, char *text)
{
    const double rate = amount / seconds;
    text[0] = '\0';
    if (seconds >= PACE_LEAST && unit)
        snprintf(text, PACE_TEXT, " in %.2f s, %.*f %s", seconds, rate < 10, rate, unit);
    else if (seconds >= PACE_LEAST)
        snprintf(text, PACE_TEXT, " in %.2f s", seconds);
    return text;
}

const char *pace_bytes(uint64_t bytes, const char *what, double seconds, char *text)
{
    text[0] = '\0';
    if (seconds >= PACE_LEAST)
        snprintf(text, PACE_TEXT, " in %.2f s, %s/s%s", seconds,
                 NUMBER_SIZE(number_whole((double)bytes / seconds)), what);
    return text;
}
