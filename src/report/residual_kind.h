/* What the residual of an entry is: how far its value is from that of the model. */
#ifndef BLCO_RESIDUAL_KIND_H
#define BLCO_RESIDUAL_KIND_H

/* Difference: value less model. Poisson: the values are counts and the model's are rates; the
 * residual is that of the deviance, the root of what the entry adds to it, with the sign of the
 * difference. A rate that is not positive, or too small, counts as in numerics/poisson_term.h. */
enum residual_kind { RESIDUAL_DIFFERENCE, RESIDUAL_POISSON };

/* NaN where the value is unknown (NaN). Poisson: the value is not negative. */
double residual_of(enum residual_kind kind, double value, double model);

/* The numbers that are shown of a residual. With counts: the residual, that of Pearson, (x - m) /
 * sqrt(m), and the probability of this count or a larger one. */
#define RESIDUAL_NUMBERS 3
int residual_numbers(enum residual_kind kind);
extern const char *const residual_names[][RESIDUAL_NUMBERS];

/* number (residual_numbers) = these. */
void residual_fill(enum residual_kind kind, double value, double model, double *number);

/* The probability that a Poisson variable of mean m > 0 is x or more. If x is no whole number, that
 * of the gamma distribution. */
double poisson_upper_tail(double x, double m);

#endif
