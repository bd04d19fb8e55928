#include "problem/loss.h"

#include <math.h>
#include <string.h>

const struct word loss_words[] = {{"squares", LOSS_SQUARES},
                                  {"poisson", LOSS_POISSON},
                                  {"binary", LOSS_BINARY},
                                  {"zero-truncated", LOSS_ZERO_TRUNCATED},
                                  {NULL, 0}};

static const struct loss *const rows[] = {[LOSS_SQUARES] = &loss_squares,
                                          [LOSS_POISSON] = &loss_poisson,
                                          [LOSS_BINARY] = &loss_binary,
                                          [LOSS_ZERO_TRUNCATED] = &loss_zero_truncated};

const struct loss *loss_of(enum loss_name name)
{
    return rows[name];
}

const struct loss *loss_of_word(const char *word)
{
    int name;
    return word_find(loss_words, word, strlen(word), &name) ? rows[name] : NULL;
}

bool loss_is_known(unsigned number)
{
    return number < sizeof rows / sizeof *rows;
}

double loss_expected(const struct loss *loss, double m)
{
    return loss->expected ? loss->expected(m) : m;
}

/* A rate that is not positive, or too small, counts as in poisson_term.h. */
double loss_residual(const struct loss *loss, double value, double model)
{
    const double rate = poisson_rate(model);
    if (!loss->rates || isnan(value - model))
        return value - model;
    return copysign(sqrt(2 * fmax(loss->misfit(value, rate), 0)),
                    value - loss_expected(loss, rate));
}

int loss_residuals(const struct loss *loss)
{
    return loss->pearson ? RESIDUAL_NUMBERS : 1;
}

void loss_residual_numbers(const struct loss *loss, double value, double model, double *number)
{
    for (int k = 0; k < loss_residuals(loss); k++)
        number[k] = loss_residual(loss, value, model);
    if (!loss->pearson || isnan(number[0]))
        return;
    number[1] = loss->pearson(value, poisson_rate(model));
    number[2] = exp(loss->log_p(value, model));
}

bool loss_takes_zeros(const struct loss *loss)
{
    return !loss->values.takes || loss->values.takes(0);
}
