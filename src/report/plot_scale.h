/* The scale of an axis: which numbers it shows, where they lie, and how its ticks are written. */
#ifndef BLCO_PLOT_SCALE_H
#define BLCO_PLOT_SCALE_H

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

#endif
