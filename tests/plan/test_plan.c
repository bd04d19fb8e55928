/* Plans of tensors in memory, and what holds for plans of all kinds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/naive.h"
#include "support/plan_requests.h"

static void test_sizes(void **state)
{
    (void)state;
    struct plan p = plan_with(UINT64_MAX);
    assert_in_range(p.tensor_bytes, 16000000, 16100000);
    /* factors of 3064 rows, M of 1717, five 16 x 16 matrices */
    assert_int_equal(p.factor_bytes, (3064 + 1717) * 16 * 8 + 5 * 16 * 16 * 8);

    struct plan_request r = request_of(UINT64_MAX);
    r.previous[1] = r.previous[3] = true; /* with a Gram each */
    plan_make(&p, &r);
    assert_int_equal(p.factor_bytes, (3064 + 1717 + 24 + 1717) * 16 * 8 + 7 * 16 * 16 * 8);

    r = request_of(UINT64_MAX);
    r.sent_bytes = 16 * 4;
    plan_make(&p, &r);
    assert_int_equal(p.factor_bytes, (3064 + 1717) * 16 * 8 + 1717 * 16 * 4 + 5 * 16 * 16 * 8);

    r = request_of(UINT64_MAX);
    r.tensor.shape.dims[0] = r.tensor.shape.dims[1] =
        MAX_LENGTH; /* 32 + 32 + 11 + 11 bits: two index words */
    plan_make(&p, &r);
    assert_in_range(p.tensor_bytes, 24000000, 24100000);
    r.row_bytes /= 2;
    uint64_t in_double = p.factor_bytes;
    plan_make(&p, &r);
    assert_in_range(p.factor_bytes, in_double / 2, in_double / 2 + 5 * 16 * 16 * 8);
}

static void test_everything_fits(void **state)
{
    (void)state;
    struct plan p = plan_with(100000000);
    check_sums(&p);
    assert_true(p.fits);
    assert_false(p.alto);
    assert_int_equal(p.replicas, 4);
    assert_int_equal(p.copy_bytes, 0);
    p = plan_with(p.total_bytes); /* exactly */
    assert_int_equal(p.replicas, 4);
    p = plan_with(p.total_bytes - 1);
    assert_true(p.fits && p.alto);
}

/* Three orderings fit: alto and replicas for the two longest modes, 4 and 3. */
static void test_some_replicas(void **state)
{
    (void)state;
    struct plan p = plan_with(50000000);
    check_sums(&p);
    assert_true(p.fits && p.alto);
    assert_int_equal(p.replicas, 2);
    assert_int_equal(p.conflict[0], CONFLICT_REGISTER);
    assert_int_equal(p.conflict[1], CONFLICT_HIERARCHICAL);
    assert_int_equal(p.conflict[2], CONFLICT_ORDERED);
    assert_int_equal(p.conflict[3], CONFLICT_ORDERED);
    assert_int_equal(p.copy_bytes, 4 * 24 * 16 * 8);
}

static void test_only_alto(void **state)
{
    (void)state;
    struct plan p = plan_with(20000000);
    check_sums(&p);
    assert_true(p.fits && p.alto);
    assert_int_equal(p.replicas, 0);
    assert_int_equal(p.conflict[1], CONFLICT_HIERARCHICAL);
    assert_int_equal(p.conflict[3], CONFLICT_REGISTER);
}

/* Copies that memory has no room for are left out, those of the longest mode first, unless the rows
 * that wait in their place would take more. */
static void test_long_copies(void **state)
{
    (void)state;
    struct plan_request r = request_of(UINT64_MAX);
    struct plan p;
    r.forced.one_copy = true;
    r.short_mode = 1200;
    r.copies = 1000;
    r.waiting_rows = 100000;
    plan_make(&p, &r);
    check_sums(&p);
    assert_int_equal(p.copy_bytes, 1000 * 1140 * 16 * 8);
    static const uint64_t rows[] = {183000, 100000};
    for (int i = 0; i < 2; i++) {
        r.budget = p.total_bytes - 1;
        plan_make(&p, &r);
        check_sums(&p);
        assert_true(p.fits);
        assert_int_equal(p.copy_bytes, rows[i] * 16 * 8);
        assert_int_equal(p.conflict[0], i == 0 ? CONFLICT_HIERARCHICAL : CONFLICT_REGISTER);
        assert_int_equal(p.conflict[1], CONFLICT_HIERARCHICAL);
        assert_int_equal(p.conflict[2], CONFLICT_REGISTER);
    }
    r.budget = p.total_bytes - 1;
    plan_make(&p, &r);
    assert_false(p.fits);
    assert_int_equal(p.conflict[1], CONFLICT_HIERARCHICAL); /* 24000 rows */
}

/* Nonzeros that stay in memory while the orderings are built take from the budget, and fewer
 * orderings are built; nonzeros that are spent take less. */
static void test_building(void **state)
{
    (void)state;
    struct plan_request r = request_of(UINT64_MAX);
    struct plan p, spent;
    r.nonzero_bytes = 24000000;
    r.model_bytes = 1000;
    plan_make(&p, &r);
    /* the nonzeros, three orderings, and for the fourth the sorted pairs, their copies, and a sort
     */
    assert_in_range(p.building_bytes, 24000000 + 6 * 16000000, 24000000 + 6 * 16000000 + 100000);
    assert_int_equal(p.total_bytes, p.building_bytes + 1000);
    r.spends = true;
    plan_make(&spent, &r);
    assert_int_equal(spent.building_bytes, p.building_bytes - 24000000);
    uint64_t least = UINT64_MAX;
    for (r.budget = spent.total_bytes; r.budget > 0; r.budget = p.total_bytes - 1) {
        plan_make(&p, &r);
        if (!p.fits)
            break;
        assert_true(p.total_bytes <= r.budget && p.building_bytes <= r.budget);
        least = p.total_bytes;
    }
    /* alto alone: coordinates and values with the lines that they become, or the sort */
    assert_int_equal(least, 32000000 + 1000);
}

static void test_nothing_fits(void **state)
{
    (void)state;
    struct plan p = plan_with(10000000);
    check_sums(&p);
    assert_false(p.fits);
    assert_true(p.alto);
    assert_int_equal(p.replicas, 0);
    assert_true(plan_with(p.total_bytes).fits);

    /* rows that wait with alto take more than the orderings do */
    struct plan_request r = request_of(UINT64_MAX);
    r.waiting_rows = 1000000;
    plan_make(&p, &r);
    r.budget = p.total_bytes - 1;
    plan_make(&p, &r);
    check_sums(&p);
    assert_false(p.fits);
    assert_int_equal(p.replicas, 4);
    assert_int_equal(p.total_bytes, r.budget + 1);
}

static void test_no_replicas(void **state)
{
    (void)state;
    struct plan_request r = request_of(UINT64_MAX);
    r.forced.one_copy = true;
    struct plan p;
    plan_make(&p, &r);
    check_sums(&p);
    assert_true(p.fits && p.alto);
    assert_int_equal(p.replicas, 0);
    assert_int_equal(p.conflict[1], CONFLICT_HIERARCHICAL);
    assert_int_equal(p.conflict[3], CONFLICT_REGISTER);
}

static void test_equal_lengths(void **state)
{
    (void)state;
    struct plan_request r = request_of(36000000);
    r.tensor.shape.order = 3;
    r.tensor.shape.dims[0] = r.tensor.shape.dims[1] = r.tensor.shape.dims[2] = 500;
    struct plan p;
    plan_make(&p, &r);
    check_sums(&p);
    assert_int_equal(p.replicas, 1);
    assert_int_equal(p.conflict[0], CONFLICT_ORDERED);
}

static void test_forced(void **state)
{
    (void)state;
    static const uint64_t budgets[] = {1000, 50000000, UINT64_MAX};
    for (int b = 0; b < 3; b++)
        for (int c = CONFLICT_ORDERED; c <= CONFLICT_ATOMIC; c++) {
            struct plan_request r = request_of(budgets[b]);
            r.conflict = (enum conflict)c;
            struct plan p;
            plan_make(&p, &r);
            check_sums(&p);
            for (int n = 0; n < r.tensor.shape.order; n++)
                assert_int_equal(p.conflict[n], c);
            assert_int_equal(p.replicas, c == CONFLICT_ORDERED ? 4 : 0);
            assert_int_equal(p.copy_bytes, c == CONFLICT_HIERARCHICAL ? 4 * 1717 * 16 * 8 : 0);
        }
}

/* Where the device has less room than the plan thought, the next one is smaller, and soon small. */
static void test_fallback_ends(void **state)
{
    (void)state;
    struct plan_request r = large_request(200 * GB, 500 * GB);
    struct plan p;
    plan_make(&p, &r);
    assert_true(p.fits && p.replicas == 4 && !p.streamed);
    int steps = 0;
    for (uint64_t last = UINT64_MAX; p.fits; steps++) {
        assert_true(p.total_bytes < last);
        last = p.total_bytes;
        r.budget = p.total_bytes - 1;
        plan_make(&p, &r);
        assert_true(!p.fits || p.total_bytes <= r.budget);
        check_sums(&p);
    }
    assert_true(p.streamed && p.resident_bytes == 0 && p.batch_nnz == 65536);
    assert_in_range(steps, 50, 300);
}

/* More memory never means fewer replicas, nor that something no longer fits. */
static void test_monotone_in_budget(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int trial = 0; trial < 50; trial++) {
        struct plan_request r = request_of(0);
        r.tensor.shape.order = 1 + (int)(naive_random(&seed) % MAX_ORDER);
        r.can_stream = trial % 2;
        r.host_budget = trial % 4 == 1 ? 100 * GB : 17000000;
        for (int n = 0; n < r.tensor.shape.order; n++)
            r.tensor.shape.dims[n] = 1 + (naive_random(&seed) >> (34 + naive_random(&seed) % 30));
        struct plan p = {0}, last = {0};
        for (; !p.fits || p.alto; r.budget += 3000000 + r.budget / 4) {
            plan_make(&p, &r);
            check_sums(&p);
            assert_true(p.streamed || last.streamed || p.replicas >= last.replicas);
            assert_true(p.streamed <= last.streamed || !last.fits);
            assert_true(p.fits >= last.fits);
            last = p;
        }
        assert_int_equal(p.replicas, r.tensor.shape.order);
    }
}

/* Sizes beyond 64 bits do not wrap into something that fits. */
static void test_overflow(void **state)
{
    (void)state;
    struct plan_request r = request_of(UINT64_MAX - 1);
    set_rank(&r, UINT64_C(1) << 60);
    struct plan p;
    plan_make(&p, &r);
    assert_false(p.fits);
    assert_int_equal(p.total_bytes, UINT64_MAX);
}

static void test_names(void **state)
{
    (void)state;
    for (int c = CONFLICT_AUTO; c <= CONFLICT_ATOMIC; c++)
        assert_string_equal(conflict_name((enum conflict)c), conflict_words[c].text);
    assert_string_equal(conflict_name(CONFLICT_ORDERED), "ordered");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),         cmocka_unit_test(test_everything_fits),
        cmocka_unit_test(test_some_replicas), cmocka_unit_test(test_only_alto),
        cmocka_unit_test(test_long_copies),   cmocka_unit_test(test_building),
        cmocka_unit_test(test_nothing_fits),  cmocka_unit_test(test_no_replicas),
        cmocka_unit_test(test_equal_lengths), cmocka_unit_test(test_forced),
        cmocka_unit_test(test_fallback_ends), cmocka_unit_test(test_monotone_in_budget),
        cmocka_unit_test(test_overflow),      cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
