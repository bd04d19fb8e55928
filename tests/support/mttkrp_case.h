/* A tensor, a model, and their MTTKRPs by the oracle. Include it after cmocka.h. */
#pragma once

#include <math.h>

#include "base/memory.h"
#include "model/ktensor.h"
#include "support/naive.h"

struct mttkrp_case {
    struct coo x;
    struct ktensor k;
    long double *expected[MAX_ORDER]; /* (I_n x R): M of each mode; owned */
};

/* Positive factors: sums do not cancel, so that single precision is exact enough. */
static inline void make_positive(struct coo *x)
{
    for (uint64_t i = 0; i < x->nnz; i++)
        x->value[i] = fabs(x->value[i]);
}

/* Sets q->expected from q->x and q->k. */
static inline void expect_products(struct mttkrp_case *q)
{
    struct error error = {0};
    for (int n = 0; n < q->x.shape.order; n++) {
        q->expected[n] =
            memory_array(q->x.shape.dims[n] * q->k.rank, sizeof *q->expected[n], &error);
        assert_non_null(q->expected[n]);
        naive_mttkrp(&q->x, &q->k, n, q->expected[n]);
    }
}

static inline void free_case(struct mttkrp_case *q)
{
    for (int n = 0; n < q->x.shape.order; n++)
        memory_free(q->expected[n]);
    ktensor_free(&q->k);
    coo_free(&q->x);
}
