#include "problem/loss.h"

const struct word loss_words[] = {{"squares", LOSS_SQUARES}, {"poisson", LOSS_POISSON}, {NULL, 0}};

static const struct loss *const rows[] = {
    [LOSS_SQUARES] = &loss_squares, [LOSS_POISSON] = &loss_poisson};

const struct loss *loss_of(enum loss_name name)
{
    return rows[name];
}

bool loss_is_known(unsigned number)
{
    return number < sizeof rows / sizeof *rows;
}
