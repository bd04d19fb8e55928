/* Mode groups: tuples are numbered right, and MTTKRP by way of them is the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "plan/mode_groups.h"
#include "support/naive.h"

static const struct mode_groups pairs = {.groups = 2, .first = {0, 2, 4}};
static const struct mode_groups middle = {.groups = 3, .first = {0, 1, 3, 4}};
static const struct mode_groups triple = {.groups = 2, .first = {0, 3, 4}};

static void random_tensor(struct coo *x)
{
    const uint64_t dims[] = {7, 5, 11, 64};
    naive_random_coo(x, SHAPE(4, dims), 900, 3, 1);
}

static void test_groups_of_modes(void **state)
{
    (void)state;
    struct mode_groups g;
    mode_groups_none(&g, 3);
    assert_int_equal(g.groups, 3);
    for (int n = 0; n < 3; n++) {
        assert_int_equal(mode_groups_of(&g, n), n);
        assert_int_equal(mode_groups_size(&g, n), 1);
    }
    mode_groups_from_cuts(&g, 4, 5);
    assert_int_equal(g.groups, 3);
    assert_memory_equal(g.first, middle.first, 4 * sizeof *g.first);
    mode_groups_from_cuts(&g, 4, 0);
    assert_int_equal(g.groups, 1);
    assert_int_equal(mode_groups_size(&g, 0), 4);
    assert_int_equal(mode_groups_of(&middle, 0), 0);
    assert_int_equal(mode_groups_of(&middle, 2), 1);
    assert_int_equal(mode_groups_of(&middle, 3), 2);
    assert_int_equal(mode_groups_size(&middle, 1), 2);
}

/* Every nonzero's number leads back to its coordinates; numbers ascend with the coordinates. */
static void check_tuples(const struct mode_groups *g)
{
    struct error error = {0};
    struct coo x;
    struct grouped_tensor out;
    random_tensor(&x);
    assert_int_equal(mode_groups_apply(&out, g, &x, &error), STATUS_OK);
    assert_int_equal(out.reduced.shape.order, g->groups);
    assert_int_equal(out.reduced.nnz, x.nnz);
    for (int k = 0; k < g->groups; k++) {
        const struct coo *t = &out.tuples[k];
        int size = mode_groups_size(g, k);
        if (size == 1) {
            assert_ptr_equal(out.reduced.index[k], x.index[g->first[k]]);
            continue;
        }
        assert_int_equal(t->shape.order, size + 1);
        assert_int_equal(t->nnz, out.reduced.shape.dims[k]);
        for (uint64_t i = 0; i < x.nnz; i++)
            for (int n = 0; n < size; n++)
                assert_int_equal(t->index[n][out.reduced.index[k][i]], x.index[g->first[k] + n][i]);
        for (uint64_t i = 0; i < t->nnz; i++) {
            assert_int_equal(t->index[size][i], i);
            assert_true(t->value[i] == 1);
        }
    }
    grouped_tensor_free(&out);
    coo_free(&x);
}

static void test_tuples(void **state)
{
    (void)state;
    check_tuples(&pairs);
    check_tuples(&middle);
    check_tuples(&triple);
}

/* product (tuples x R): the factor of a group seen from outside, products of its modes' rows. */
static void tuple_products(const struct coo *tuples, double *const *factor, uint64_t rank,
                           double *product)
{
    for (uint64_t f = 0; f < tuples->nnz; f++)
        for (uint64_t r = 0; r < rank; r++) {
            product[f * rank + r] = 1;
            for (int n = 0; n < tuples->shape.order - 1; n++)
                product[f * rank + r] *= factor[n][tuples->index[n][f] * rank + r];
        }
}

static void *array(uint64_t count, size_t size)
{
    void *a = calloc(count, size);
    assert_non_null(a);
    return a;
}

/* The factors of the reduced tensor: factors of *k, and products of tuples. */
static void make_outer(struct ktensor *outer, const struct grouped_tensor *t,
                       const struct ktensor *k)
{
    const struct mode_groups *g = &t->mode_groups;
    *outer = (struct ktensor){.shape = t->reduced.shape, .rank = k->rank, .lambda = k->lambda};
    for (int s = 0; s < g->groups; s++) {
        uint64_t entries = outer->shape.dims[s] * k->rank;
        outer->factor[s] = array(entries, sizeof(double));
        if (mode_groups_size(g, s) == 1)
            memcpy(outer->factor[s], k->factor[g->first[s]], entries * sizeof(double));
        else
            tuple_products(&t->tuples[s], &k->factor[g->first[s]], k->rank, outer->factor[s]);
    }
}

/* M of every mode of group s by way of its partial products, with the oracle for both steps. */
static void check_group(const struct grouped_tensor *t, int s, const struct ktensor *outer,
                        const struct coo *x, const struct ktensor *k)
{
    const uint64_t rank = k->rank, tuples = t->reduced.shape.dims[s];
    const int first = t->mode_groups.first[s], size = mode_groups_size(&t->mode_groups, s);
    long double *partial = array(tuples * rank, sizeof *partial);
    naive_mttkrp(&t->reduced, outer, s, partial);
    struct ktensor inner = {.shape.order = size + 1, .rank = rank, .lambda = k->lambda};
    for (int n = 0; n < size; n++)
        inner.factor[n] = k->factor[first + n];
    inner.factor[size] = array(tuples * rank, sizeof(double));
    for (uint64_t i = 0; i < tuples * rank; i++)
        inner.factor[size][i] = (double)partial[i];
    for (int n = 0; n < size; n++) {
        uint64_t entries = x->shape.dims[first + n] * rank;
        long double *m = array(entries, sizeof *m), *expected = array(entries, sizeof *m);
        naive_mttkrp(&t->tuples[s], &inner, n, m);
        naive_mttkrp(x, k, first + n, expected);
        for (uint64_t i = 0; i < entries; i++)
            assert_true(fabsl(m[i] - expected[i]) <= 1e-12L * (1 + fabsl(expected[i])));
        free(m);
        free(expected);
    }
    free(inner.factor[size]);
    free(partial);
}

static void check_mttkrp(const struct mode_groups *g)
{
    struct error error = {0};
    struct coo x;
    struct ktensor k, outer;
    struct grouped_tensor t;
    random_tensor(&x);
    assert_int_equal(ktensor_create(&k, SHAPE(4, x.shape.dims), 3, &error), STATUS_OK);
    ktensor_randomise(&k, KTENSOR_NORMAL, 5);
    assert_int_equal(mode_groups_apply(&t, g, &x, &error), STATUS_OK);
    make_outer(&outer, &t, &k);
    for (int s = 0; s < g->groups; s++)
        if (mode_groups_size(g, s) > 1)
            check_group(&t, s, &outer, &x, &k);
    for (int s = 0; s < g->groups; s++)
        free(outer.factor[s]);
    grouped_tensor_free(&t);
    ktensor_free(&k);
    coo_free(&x);
}

static void test_mttkrp(void **state)
{
    (void)state;
    check_mttkrp(&pairs);
    check_mttkrp(&middle);
    check_mttkrp(&triple);
}

static const struct gather_cost cost = {256, 1 << 20, MODE_GROUPS_BEYOND_CACHE};

/* Two short pairs of modes with many nonzeros each: groups pay. */
static void test_choice(void **state)
{
    (void)state;
    struct error error = {0};
    struct coo x;
    struct mode_groups g;
    const uint64_t full[] = {9, 8, 9, 8}, wide[] = {90000, 80000, 70000};
    naive_random_coo(&x, SHAPE(4, full), 4000, 1, 0);
    assert_int_equal(mode_groups_choose(&g, &x, &cost, &error), STATUS_OK);
    assert_int_equal(g.groups, 2);
    assert_int_equal(g.first[1], 2);
    coo_free(&x);
    naive_random_coo(&x, SHAPE(3, wide), 3000, 1, 0); /* hardly a tuple occurs twice */
    assert_int_equal(mode_groups_choose(&g, &x, &cost, &error), STATUS_OK);
    assert_int_equal(g.groups, 3);
    coo_free(&x);
}

static void test_allocation_fails(void **state)
{
    (void)state;
    struct coo x;
    random_tensor(&x);
    int failures = 0;
    for (long k = 0, fired = 1; fired; k++) {
        struct error error = {0};
        struct mode_groups g;
        struct grouped_tensor out = {.mode_groups = pairs};
        memory_hook_set(k);
        enum status status = mode_groups_choose(&g, &x, &cost, &error);
        if (status == STATUS_OK)
            status = mode_groups_apply(&out, &pairs, &x, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        if (!fired)
            grouped_tensor_free(&out);
        failures += (int)fired;
    }
    assert_true(failures > 5);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups_of_modes),  cmocka_unit_test(test_tuples),
        cmocka_unit_test(test_mttkrp),           cmocka_unit_test(test_choice),
        cmocka_unit_test(test_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
