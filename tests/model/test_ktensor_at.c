/* The values of a model at coordinates, against sums in long double. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include <cmocka.h>

#include "model/ktensor_at.h"
#include "support/models.h"
#include "support/naive.h"
#include "support/small_tensors.h"

#define ENTRIES 1100 /* more than a thread takes at a time */

/* The model's value at the coordinates of entry i; *terms = the sum of the terms' magnitudes. */
static long double naive_value(const struct ktensor *k, const struct coo *x, uint64_t i,
                               long double *terms)
{
    long double sum = 0;
    *terms = 0;
    for (uint64_t r = 0; r < k->rank; r++) {
        long double term = k->lambda[r];
        for (int n = 0; n < k->shape.order; n++)
            term *= k->factor[n][x->index[n][i] * k->rank + r];
        sum += term;
        *terms += fabsl(term);
    }
    return sum;
}

/* Entries in no order, of which some stand more than once. */
static void draw(struct coo *x, const struct shape *shape, uint64_t nnz, uint64_t *seed)
{
    small_tensor(x, shape->order, shape->dims, nnz);
    for (uint64_t i = 0; i < nnz; i++) {
        uint32_t at[MAX_ORDER];
        for (int n = 0; n < shape->order; n++)
            at[n] = (uint32_t)(naive_random(seed) % shape->dims[n]);
        add_nonzero(x, at, NAN);
    }
}

static void check(const struct ktensor *k, uint64_t *seed)
{
    static double value[ENTRIES], alone[ENTRIES];
    struct coo x;
    draw(&x, &k->shape, ENTRIES, seed);
    const int threads = omp_get_max_threads();
    memset(value, 0xff, sizeof value);
    omp_set_num_threads(3);
    ktensor_at(value, k, &x);
    omp_set_num_threads(1);
    ktensor_at(alone, k, &x);
    omp_set_num_threads(threads);
    assert_memory_equal(value, alone, sizeof value);
    const double most = ((double)k->rank + k->shape.order + 1) * 0x1p-53;
    for (uint64_t i = 0; i < ENTRIES; i++) {
        long double terms, expected = naive_value(k, &x, i, &terms);
        if (!(fabsl(value[i] - expected) <= most * terms))
            fail_msg("order %d, rank %ju, entry %ju: %.17g, expected %.17Lg", k->shape.order,
                     (uintmax_t)k->rank, (uintmax_t)i, value[i], expected);
    }
    coo_free(&x);
}

static void every_order_and_rank(void **state)
{
    (void)state;
    static const uint64_t dims[MAX_ORDER] = {7, 40, 1, 3, 300, 2, 5, 4, 1, 9, 2, 3, 1, 6, 2, 8};
    static const uint64_t ranks[] = {1, 3, 4, 5, 8, 12, 13, 33};
    uint64_t seed = 1;
    for (int order = 1; order <= MAX_ORDER; order++)
        for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
            struct ktensor k = model_random(order, dims, ranks[i], i);
            check(&k, &seed);
            ktensor_free(&k);
        }
}

static void no_entries(void **state)
{
    (void)state;
    struct ktensor k = model_random(2, (const uint64_t[]){3, 4}, 5, 1);
    const struct coo x = {.shape = k.shape};
    ktensor_at(NULL, &k, &x);
    ktensor_free(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_and_rank),
        cmocka_unit_test(no_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
