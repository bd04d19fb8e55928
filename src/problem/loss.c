#include "problem/loss.h"

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

bool loss_takes_zeros(const struct loss *loss)
{
    return !loss->values.takes || loss->values.takes(0);
}
