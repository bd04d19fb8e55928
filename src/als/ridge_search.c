#include "als/ridge_search.h"

#include <math.h>

#define BETTER .999 /* an error that falls by less than this factor has not become smaller */
#define ENOUGH .001 /* of the size of the values: no other ridge is worth a run            */

/* 1, 3, 10, 30, ... and downwards .3, .1, .03, ... */
static double ridge_at(int step)
{
    const int tens = step >= 0 ? step / 2 : (step - 1) / 2;
    const double digit = step % 2 == 0 ? 1 : 3;
    return tens >= 0 ? digit * pow(10, tens) : digit / pow(10, -tens);
}

/* A balanced ridge counts beside squared misfits, but multiplies squares of factor entries, which
 * are as large as the 2/N-th power of the tensor's. */
static double first_ridge(enum ridge_scale scale, double size, int order)
{
    if (scale == RIDGE_BALANCED)
        return size > 0 ? pow(size, 2 - 2.0 / order) : 1;
    return scale == RIDGE_COUNTED ? .03 : .001;
}

void ridge_search_begin(struct ridge_search *s, enum ridge_scale scale, double size, int order)
{
    const double at = 2 * log10(first_ridge(scale, size, order));
    *s = (struct ridge_search){.least = INFINITY, .enough = ENOUGH * size, .direction = 1};
    s->step = (int)lround(fmin(fmax(at, -600), 600));
    s->best = ridge_at(s->step);
}

bool ridge_search_next(const struct ridge_search *s, double *ridge)
{
    *ridge = s->count == 0 ? s->best : ridge_at(s->step + s->direction);
    return !s->ended && s->count < RIDGE_TRIALS;
}

void ridge_search_note(struct ridge_search *s, double ridge, double held)
{
    const bool first = s->count == 0, better = held < BETTER * s->least;
    s->ridge[s->count] = ridge;
    s->held[s->count++] = held;
    if (held < s->least) {
        s->best = ridge;
        s->least = held;
    }
    if (better && !first)
        s->step += s->direction;
    else if (s->count == 2)
        s->direction = -1;
    else if (!first)
        s->ended = true;
    if (s->least < s->enough)
        s->ended = true;
}

void ridge_search_end(struct ridge_search *s, double ridge)
{
    s->best = ridge;
    s->ended = true;
}
