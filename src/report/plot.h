/* Plots as inline SVG: axes, lines and bars. Colours and strokes come from the page's style, by the
 * classes plot, axis, grid, line and area. */
#ifndef BLCO_PLOT_H
#define BLCO_PLOT_H

#include <stdint.h>
#include <stdio.h>

/* The numbers that an axis reaches from and to. */
struct plot_scale {
    double least, most; /* most > least once plot_scale_finish was called */
};

/* A scale that has no number yet. */
struct plot_scale plot_scale_none(void);

/* Widens the scale to the number; NaN and infinities are left out. */
void plot_scale_add(struct plot_scale *scale, double x);

/* Gives a scale without a number the range 0 to 1, and one of a single number, or of numbers that
 * differ by less than ticks could tell, some width. */
void plot_scale_finish(struct plot_scale *scale);

/* Where x lies on the scale, from 0 to 1; what lies beyond the ends is put there. x is no NaN. */
double plot_scale_place(const struct plot_scale *scale, double x);

#define PLOT_TICKS 6

/* tick[] = round numbers on the scale, ascending: 1, 2 or 5 times a power of ten apart; returns how
 * many, at most PLOT_TICKS. */
int plot_ticks(const struct plot_scale *scale, double tick[PLOT_TICKS]);

/* Writes a bar from 0 to x, for a cell of a table; 0 is on the scale. Of NaN there is no bar. */
void plot_bar(FILE *to, const struct plot_scale *scale, double x);

/* What a line plot shows. Texts may be those of others. */
struct plot_line {
    const char *title;        /* which who cannot see the plot hears, and `about` */
    const char *about;        /* of the line, in one or two sentences             */
    const char *first, *last; /* under the ends of the horizontal axis            */
    uint64_t count;           /* C, columns                                       */
    uint64_t stride;          /* from a column to the next in low and high        */
    const double *low, *high; /* the line goes through, or fills, low to high; NaN: nothing */
    int marks;                /* each column has a mark                           */
    struct plot_scale scale;  /* finished                                         */
};

void plot_line(FILE *to, const struct plot_line *plot);

#endif
