/* The values of a model at given coordinates. */
#ifndef BLCO_KTENSOR_AT_H
#define BLCO_KTENSOR_AT_H

#include "model/ktensor.h"
#include "tensor/coo.h"

/* value[i] = the model's value, the sum over r of lambda[r] times the product of A_n(i_n, r), at
 * the coordinates (i_1, ..., i_N) of entry i of x (value has x->nnz entries). x has the model's
 * order and coordinates below the model's lengths, in any order, and its values are not read; all
 * rows of the model are here. By all OpenMP threads, whose number does not change the bits. Each
 * entry gathers N rows of R doubles, which bounds the speed where the factor matrices exceed the
 * caches.
 */
void ktensor_at(double *value, const struct ktensor *k, const struct coo *x);

#endif
