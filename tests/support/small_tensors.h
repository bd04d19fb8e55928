/* Small tensors with known answers. Include it after cmocka.h. */
#pragma once

#include "tensor/coo.h"

/* An empty tensor with room for `nnz` nonzeros. The caller frees *x. */
static inline void small_tensor(struct coo *x, int order, const uint64_t *dims, uint64_t nnz)
{
    struct error error = {0};
    assert_int_equal(coo_create(x, SHAPE(order, dims), nnz, &error), STATUS_OK);
    x->nnz = 0;
}

static inline void add_nonzero(struct coo *x, const uint32_t *coordinate, double value)
{
    for (int n = 0; n < x->shape.order; n++)
        x->index[n][x->nnz] = coordinate[n];
    x->value[x->nnz++] = value;
}

/* a o a o b + a o b o a + b o a o a for orthogonal unit vectors a, b: of rank 3, but arbitrarily
 * near to tensors of rank 2 (V. de Silva, L.-H. Lim: Tensor rank and the ill-posedness of
 * the best low-rank approximation problem, SIAM J. Matrix Anal. Appl. 30, 2008). */
static inline void border_rank_tensor(struct coo *x)
{
    small_tensor(x, 3, (const uint64_t[]){2, 2, 2}, 3);
    for (uint32_t n = 0; n < 3; n++)
        add_nonzero(x, (const uint32_t[]){n == 0, n == 1, n == 2}, 1);
}
