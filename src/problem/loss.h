/* The losses: what a model minimises. Each is a row, of functions and facts; all ask the row, and
 * nothing else names a loss. Implemented in loss.c (the table), loss_squares.c, loss_poisson.c,
 * loss_binary.c and loss_zero_truncated.c; the arithmetic that GPUs share is in numerics/row_term.h
 * and numerics/poisson_term.h. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vector_clones.h"
#include "base/words.h"
#include "numerics/poisson_term.h"
#include "tensor/value_change.h"

/* The order is that of checkpoints (checkpoint.h). Poisson: the values are counts, m is the
 * rate of each, and the sum of m - x log m over all entries is minimised (E. C. Chi, T. G. Kolda:
 * *On tensors, sparsity, and nonnegative factorizations*, SIAM Journal on Matrix Analysis and
 * Applications 33, 2012). Binary: the values are 1 or 0, a 1 has the probability 1 - exp(-m), and
 * the negative log-likelihood is minimised. Zero-truncated: the values are counts of 1 or more, of
 * Poisson variables that are known not to be 0, and the negative log-likelihood is minimised. */
enum loss_name { LOSS_SQUARES, LOSS_POISSON, LOSS_BINARY, LOSS_ZERO_TRUNCATED };
extern const struct word loss_words[];

#define TERM_BLOCK 64 /* nonzeros that are worked on at a time, at most */

/* A block of nonzeros, of one row or several: the values m of the model, and what follows from them
 * and the values of the tensor, for the systems of the rows. */
struct loss_terms {
    double m[TERM_BLOCK], c[TERM_BLOCK], w[TERM_BLOCK];
    double q[TERM_BLOCK];      /* of rates */
    double misfit[TERM_BLOCK]; /* of squares */
};

/* The numbers of a system. */
enum loss_number {
    SYSTEM_KNOWN,  /* listed entries whose value is known */
    SYSTEM_MISFIT, /* of squares: the sum of misfits, with the row as it was, ... */
    SYSTEM_SIZE,   /* ... and of their magnitudes */
    SYSTEM_LEAST,  /* of rates: the least value above 0, which is no sum; 0: there is none */
    SYSTEM_NUMBERS
};

/* The lesser of two SYSTEM_LEAST; of a value, too, which may be 0 or unknown. */
static inline double loss_least(double least, double b)
{
    return b > 0 && !(least > 0 && least < b) ? b : least;
}

/* Sums over the listed entries, of the model as it stands. */
struct loss_sums {
    double model_sq; /* of squares: of m^2, where the value is known */
    double model;    /* of rates: of (v - h) m                       */
    double misfit;   /* of rates: of v misfit(x, m) - h m            */
};

struct loss {
    /* The values of the model are rates: no entry of a factor matrix is negative, and columns have
     * the 1-norm 1; each row has a system of its own, which a solver improves; there is no ridge;
     * the fit compares deviances, with that of a null model. If false, squares are minimised, and
     * the members of a row that begin with "of rates" are unused. */
    bool rates;

    /* Of rates: the option, as messages name it; the values that it takes. */
    const char *option;
    struct value_check values;

    /* Of rates: what a value says of a count. No number scales the values but counts themselves. */
    enum poisson_kind kind;

    /* Of rates: what to expect of a listed entry whose rate is m, and the rate where that much is
     * expected; NULL: m itself. No rate, 0 or infinity leads to an `expected` that is too small or
     * too large; `unbounded` then says why: "all known values are 1, {unbounded}". */
    double (*expected)(double m), (*rate)(double expected);
    const char *unbounded;

    /* Of `count` values in a block: c, w and misfits, or q, from t->m; unlisted entries have the
     * weight h. Where q is not needed, rates may ask for c alone. The next function adds to the
     * numbers of a system those of consecutive nonzeros of its row, the third one to *sums those of
     * all. */
    void (*terms)(struct loss_terms *t, const double *x, uint64_t count, double h, bool only_c);
    void (*add_numbers)(const double *misfit, const double *x, uint64_t count, double *number);
    void (*sum_values)(const struct loss_terms *t, const double *x, uint64_t count, double h,
                       struct loss_sums *sums);

    /* Of rates: half of what an entry adds to the deviance. The log-likelihood of a value x at the
     * rate that suits it best, the saturated model, and the part of it that is not only a constant
     * of x; a value of 0 has none. */
    double (*misfit)(double x, double m);
    double (*perfect)(double x), (*saturated)(double x);

    /* Of rates: half of the deviance of the null model whose rates are equal, from the sums of x
     * and of `saturated` over so many entries; and whether the null model is the product of the
     * margins instead, where all entries count alike. */
    double (*null_deviance)(double total, double saturated, double entries);
    bool margins;
    const char *null_model; /* in a sentence: "the simplest model, in which {null_model}" */

    /* How unlikely a value is where the model has m: the natural logarithm of its p-value, twice
     * the probability of such a value or a larger one, or of such a value or a smaller one,
     * whichever is less, and 1 at most (of two values the probability of the rarer one, and 1); NaN
     * where the value is unknown. NULL: the loss has no distribution. */
    double (*log_p)(double value, double model);

    /* The probability of a smaller value, and a part v, from 0 to 1, of that of this one, among
     * values of 0 or more, or, if `least` is 1, of 1 or more: uniform from 0 to 1 where values are
     * as the model has it and v is uniform. NULL where it would tell nothing. */
    double (*place)(double value, double model, double least, double v);

    /* Of rates, and of a known value: its difference from what is expected where the rate is m,
     * over the standard deviation (Pearson's residual). */
    double (*pearson)(double value, double m);
};

extern const struct loss loss_squares, loss_poisson, loss_binary, loss_zero_truncated;

/* Defines make_terms, for `terms` of rates, by the term of their kind; a macro, since loops become
 * code for vectors only with their arithmetic. */
#define LOSS_RATE_TERMS(kind)                                                                      \
    VECTOR_CLONES static void make_terms(struct loss_terms *t, const double *value,                \
                                         uint64_t count, double unlisted, bool only_c)             \
    {                                                                                              \
        for (uint64_t k = 0; only_c && k < count; k++)                                             \
            t->c[k] = poisson_c(kind, value[k], t->m[k]);                                          \
        for (uint64_t k = 0; !only_c && k < count; k++) {                                          \
            const struct poisson_term term = poisson_term(kind, value[k], t->m[k], unlisted);      \
            t->c[k] = term.c;                                                                      \
            t->w[k] = term.w;                                                                      \
            t->q[k] = term.q;                                                                      \
        }                                                                                          \
    }

/* `add_numbers` of rates. */
void loss_add_rates(const double *misfit, const double *x, uint64_t count, double *number);

/* The logarithms of the probabilities that a Poisson variable of mean m > 0 is x or more, and x or
 * less. If x is no whole number, those of the gamma distribution. */
double loss_log_upper(double x, double m);
double loss_log_lower(double x, double m);

/* What a model with the value m at an entry says of it: a probability where values are binary. */
double loss_expected(const struct loss *loss, double m);

/* The residual of an entry, how far its value is from that of the model: their difference; with
 * rates that of the deviance, the root of what the entry adds to it with the sign of the
 * difference. NaN where the value is unknown. */
double loss_residual(const struct loss *loss, double value, double model);

/* The numbers that are shown of a residual, and how they are called in tables and records: the
 * residual; with rates also that of Pearson and the p-value. All are NaN where the value is
 * unknown.
 */
#define RESIDUAL_NUMBERS 3                   /* at most */
int loss_residuals(const struct loss *loss); /* how many */
void loss_residual_numbers(const struct loss *loss, double value, double model, double *number);

/* Whether 0 is a value that the loss takes: if not, unlisted entries are unknown. */
bool loss_takes_zeros(const struct loss *loss);

/* The row of this name. */
const struct loss *loss_of(enum loss_name name);

/* The row of this word, or NULL. */
const struct loss *loss_of_word(const char *word);

/* Whether a number, from a file, is a loss. */
bool loss_is_known(unsigned number);
