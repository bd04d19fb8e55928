/* Tensors whose values have squares or products beyond the range of numbers: a backend works on
 * such a tensor divided by a power of two, which changes no digit, and the weights are multiplied
 * by it in the end. CP-ALS is linear in the tensor, so factor matrices and fit stay the same. */
#pragma once

#include <stdbool.h>

#include "comm/comm.h"
#include "numerics/precision.h"
#include "tensor/coo.h"

/* Whether a tensor of this order and squared norm, which may have overflowed or be zero, must be
 * scaled. */
bool value_scale_needed(double norm_sq, int order, enum precision precision);

/* *scaled = x with the values divided by 2^*exponent, so that the largest magnitude of all ranks is
 * from 1/2 to 1; a value is rounded where it is less than 2^-1022 of that. The indices are those of
 * x. The caller frees scaled->value. Unknown entries stay unknown. Where all values are zero or
 * unknown, or one is infinite, *exponent is 0. STATUS_MEMORY leaves scaled->value NULL. */
enum status value_scale_apply(struct coo *scaled, int *exponent, const struct coo *x,
                              struct comm *all, struct error *error);

/* x[0..count) *= 2^exponent; exponent 0 leaves x unread. STATUS_NUMERICAL where a result is not
 * finite. */
enum status value_scale_undo(double *x, uint64_t count, int exponent, struct error *error);
