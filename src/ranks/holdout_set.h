/* Takes entries out of a tensor, to test models with them. */
#pragma once

#include "ranks/rank_tensor.h"
#include "tensor/holdout.h"

/* A rate below this part of the mean count counts as this part in held-out errors. */
#define HOLDOUT_LEAST_RATE 1e-3

/* Holds out entries of t, whose nonzeros have been read: fills t->holdout_set, makes these entries
 * unknown, and divides the rows (rank_tensor_divide_rows). With `unlisted`, also draws entries that
 * are not listed, at most as many, which the tensor then has as unknown entries. t->nnz and the
 * fingerprint stay those of the file. Every rank calls it. STATUS_INPUT if nothing or all is held
 * out; STATUS_MEMORY; failures of other ranks. The caller closes *t. */
enum status holdout_set_take(struct rank_tensor *t, const struct holdout *h, bool unlisted,
                             struct error *error);
