/* Random counts. */
#ifndef BLCO_POISSON_DRAW_H
#define BLCO_POISSON_DRAW_H

#include "base/random_stream.h"

/* A Poisson variable of this mean, 0 or more; takes time in proportion to the mean. */
double poisson_draw(struct random_stream *stream, double mean);

#endif
