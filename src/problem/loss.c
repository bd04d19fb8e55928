#include "problem/loss.h"

const struct word loss_words[] = {{"squares", LOSS_SQUARES}, {"poisson", LOSS_POISSON}, {NULL, 0}};

static const struct loss rows[] = {
    [LOSS_SQUARES] = {.rates = false}, [LOSS_POISSON] = {.rates = true}};

const struct loss *loss_of(enum loss_name name)
{
    return &rows[name];
}

bool loss_is_known(unsigned number)
{
    return number < sizeof rows / sizeof *rows;
}
