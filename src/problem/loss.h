/* The losses: what a model minimises. Each is a row; nothing else names a loss, all ask the row. */
#ifndef BLCO_LOSS_H
#define BLCO_LOSS_H

#include <stdbool.h>

#include "base/words.h"

/* The order is that of checkpoints (checkpoint_format.h). Poisson: the values are counts, m is the
 * rate of each, and the sum of m - x log m over all entries is minimised (E. C. Chi, T. G. Kolda:
 * *On tensors, sparsity, and nonnegative factorizations*, SIAM Journal on Matrix Analysis and
 * Applications 33, 2012). */
enum loss_name { LOSS_SQUARES, LOSS_POISSON };
extern const struct word loss_words[];

struct loss {
    /* The values of the model are rates: no entry of a factor matrix is negative, and columns have
     * the 1-norm 1; each row has a system of its own, which a solver improves; no ridge; the fit
     * compares deviances, with that of a null model. Otherwise squares are minimised. */
    bool rates;
};

/* The row of this name. */
const struct loss *loss_of(enum loss_name name);

/* Whether a number, from a file, is a loss. */
bool loss_is_known(unsigned number);

#endif
