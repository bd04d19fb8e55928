/* A model that several ranks arrange, of which each has some rows, is the one that a single process
 * arranges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/memory.h"
#include "ranks/model_collect.h"
#include "support/model_parts.h"
#include "support/models.h"
#include "support/rank_threads.h"

static void arrange(struct comm *c, void *context, struct error *error)
{
    struct model_part *p = context;
    model_arrange_together(&p->k, &p->own, c, error);
}

/* Up to 3000 squares are added in another order, and lambda is a product of four norms. */
static void assert_close(double found, double expected)
{
    assert_true(fabs(found - expected) <= 3e-15 * fabs(expected));
}

/* All rows that are here, also those of other ranks, are those of the whole model. */
static void assert_part_of(const struct ktensor *part, const struct ktensor *whole)
{
    for (uint64_t r = 0; r < whole->rank; r++)
        assert_close(part->lambda[r], whole->lambda[r]);
    for (int n = 0; n < whole->shape.order; n++)
        for (uint64_t i = 0; i < part->shape.dims[n] * whole->rank; i++)
            assert_close(part->factor[n][i], whole->factor[n][part->first[n] * whole->rank + i]);
}

/* Compares with ktensor_arrange for every number of ranks; one rank alone has the same bits. */
static void assert_as_one_process(const struct ktensor *k)
{
    struct error failure = {0};
    struct ktensor expected = model_copy(k);
    assert_int_equal(ktensor_arrange(&expected, &failure), STATUS_OK);
    for (size_t s = 0; s < RANK_COUNTS; s++) {
        int ranks = rank_counts[s];
        struct error error[MOST_RANKS];
        struct model_part part[MOST_RANKS];
        model_parts_make(part, k, ranks);
        assert_true(run_rank_threads(ranks, arrange, part, sizeof *part, error));
        assert_all_well(error, ranks);
        for (int r = 0; r < ranks; r++) {
            assert_part_of(&part[r].k, &expected);
            assert_memory_equal(part[r].k.lambda, part[0].k.lambda, k->rank * sizeof(double));
        }
        assert_true(ranks > 1 || model_same_bits(&part[0].k, &expected));
        model_parts_free(part, ranks);
    }
    ktensor_free(&expected);
}

static void test_shapes(void **state)
{
    (void)state;
    const uint64_t dims[][4] = {{9, 40, 3, 20}, {1, 5, 1, 2}, {1, 1, 1, 1}, {3000, 7, 2, 1}};
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
        for (int order = 1; order <= 4; order++)
            for (uint64_t rank = 1; rank <= 9; rank += 4) {
                struct ktensor k = model_random(order, dims[i], rank, rank + i);
                assert_as_one_process(&k);
                ktensor_free(&k);
            }
}

/* Entries of one magnitude and of either sign: the first row decides, whichever rank has it. */
static void test_ties(void **state)
{
    (void)state;
    for (unsigned pattern = 0; pattern < 64; pattern++) {
        struct ktensor k = model_create(3, (uint64_t[]){6, 6, 6}, 2);
        for (int n = 0; n < 3; n++)
            for (uint64_t i = 0; i < 6; i++) {
                k.factor[n][2 * i] = pattern >> (i + (uint64_t)n) % 6 & 1 ? -3 : 3;
                k.factor[n][2 * i + 1] = i == 1 ? 0.5 : pattern >> i & 1 ? -1 : 1;
            }
        assert_as_one_process(&k);
        ktensor_free(&k);
    }
}

/* Columns of zeros, parts of columns of zeros, and magnitudes whose squares overflow or vanish. */
static void test_extremes(void **state)
{
    (void)state;
    struct ktensor k = model_random(2, (uint64_t[]){14, 7}, 5, 1);
    for (uint64_t i = 0; i < 14; i++) {
        k.factor[0][i * 5] = i == 3 || i == 12 ? 1.1e308 : 0;
        k.factor[0][i * 5 + 1] = i % 2 ? 1e300 : 1e-300;
        k.factor[0][i * 5 + 2] = 0;
        k.factor[0][i * 5 + 3] *= i < 7 ? 1e-200 : 1e-290;
    }
    for (uint64_t i = 0; i < 7; i++) {
        k.factor[1][i * 5] = i == 2 ? -1e-5 : 0;
        k.factor[1][i * 5 + 1] = i == 6 ? 1e-5 : 0;
    }
    assert_as_one_process(&k);
    ktensor_free(&k);
}

/* One allocation, of whichever rank, is refused: no rank hangs, all fail and no model changes. */
static void test_allocation_fails(void **state)
{
    (void)state;
    struct ktensor k = model_random(3, (uint64_t[]){4, 9, 2}, 3, 1);
    bool fired = true;
    int failures = 0;
    for (long count = 0; fired; count++) {
        struct error error[4];
        struct model_part part[4], before[4];
        model_parts_make(part, &k, 4);
        model_parts_make(before, &k, 4);
        memory_hook_set(count);
        bool started = run_rank_threads(4, arrange, part, sizeof *part, error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        for (int r = 0; r < 4 && started; r++) {
            assert_int_equal(error[r].status, fired ? STATUS_MEMORY : STATUS_OK);
            assert_true(model_same_bits(&part[r].k, &before[r].k) == fired);
            failures += fired;
        }
        model_parts_free(part, 4);
        model_parts_free(before, 4);
    }
    assert_true(failures > 4 * 20);
    ktensor_free(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
