/* Plots as inline SVG: axes, lines and bars. Colours and strokes come from the page's style, by the
 * classes plot, axis, grid, line, area, and of overlaid lines the classes of plot_key. */
#pragma once

#include <stddef.h>
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

/* Widens a finished scale of logarithms to base 10 to whole powers of ten. */
void plot_scale_widen_to_powers(struct plot_scale *scale);

/* The place of x on the scale, from 0 to 1; x beyond an end counts as that end. x is no NaN. */
double plot_scale_place(const struct plot_scale *scale, double x);

#define PLOT_TICKS 7

/* tick[] = round numbers on the scale, ascending: 1, 2 or 5 times a power of ten apart; returns how
 * many, at most PLOT_TICKS. */
int plot_ticks(const struct plot_scale *scale, double tick[PLOT_TICKS]);

#define PLOT_TICK_ROOM 48

/* text = tick k of `count`, with as many decimals as the others have. Returns text. */
const char *plot_tick_text(const double *tick, int count, int k, char text[PLOT_TICK_ROOM]);

/* text = ten to the power of a whole number, 1 or with the power raised. Returns text. */
const char *plot_power_text(double power, char text[PLOT_TICK_ROOM]);

/* An inner tick of a horizontal axis. */
struct plot_tick {
    uint64_t entry;   /* of those that the axis is about, from 0                 */
    double place;     /* on the axis, from 0 to 1                                */
    char number[32];  /* the tick's number                                       */
    const char *text; /* shown instead of the number; NULL: the number; borrowed */
};

/* tick->entry and tick->place = those of this entry of `entries`, which are drawn in `columns`
 * columns, two or more, that share them evenly (mode_view.h). */
void plot_tick_at(struct plot_tick *tick, double entry, uint64_t entries, uint64_t columns);

/* tick[] = round numbers between the ends of a horizontal axis whose entries 0 to entries - 1 have
 * the numbers first, first + every, ..., and are drawn in `columns` columns, which share them
 * evenly (mode_view.h). Returns how many. */
int plot_inner_ticks(struct plot_tick tick[PLOT_TICKS], double first, double every,
                     uint64_t entries, uint64_t columns);

/* Writes a bar from 0 to x, for a cell of a table; 0 is on the scale. No bar for NaN. */
void plot_bar(FILE *to, const struct plot_scale *scale, double x);

/* A mark of its own in a column. */
struct plot_point {
    uint64_t column;
    double value; /* NaN: nothing */
};

/* What a line plot shows. Texts are borrowed. */
struct plot_line {
    const char *title;            /* for screen readers, as is `about`                */
    const char *about;            /* describes the line in one or two sentences       */
    const char *first, *last;     /* under the ends of the horizontal axis            */
    uint64_t count;               /* C, columns                                       */
    uint64_t stride;              /* from a column to the next in low and high        */
    const double *low, *high;     /* the line goes through, or fills, low to high; NaN: nothing */
    int marks;                    /* each column has a mark                           */
    int diagonal;                 /* from the lower left to the upper right, behind the line */
    struct plot_scale scale;      /* finished                                         */
    int powers;                   /* the numbers are logarithms to base 10, and ticks show powers */
    const struct plot_tick *tick; /* (ticks) of the horizontal axis, from left to right; borrowed */
    int ticks;
    const struct plot_point *point; /* (points), by column; borrowed; they have the class point */
    size_t points;
    const char *id; /* of the line on the page; NULL: none           */
};

void plot_line(FILE *to, const struct plot_line *plot);

/* A line that is elsewhere on the page, in a plot of its own. */
struct plot_overlaid {
    char id[48], name[48];
    struct plot_scale scale; /* of its own plot */
};

/* Line number k has the colour k % PLOT_COLOURS, the class k0, k1, ..., and the dashes k %
 * PLOT_DASHES, the class d0, d1, ...: no two of PLOT_MOST_OVERLAID have both in common. */
#define PLOT_COLOURS       6
#define PLOT_DASHES        4
#define PLOT_MOST_OVERLAID 12

/* Draws `count` lines of other plots, at most PLOT_MOST_OVERLAID, on the scale of `frame`, which
 * includes theirs. frame->low and frame->high are not read. */
void plot_overlay(FILE *to, const struct plot_line *frame, const struct plot_overlaid *line,
                  int count);

/* Writes a piece of overlaid line number k, for a legend. */
void plot_key(FILE *to, int k);
