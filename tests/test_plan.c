#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "naive.h"
#include "plan.h"

/* A tensor whose orderings take 16 MB each, with one short mode (24). */
static struct plan_request request_of(uint64_t budget)
{
    return (struct plan_request){.order = 4,
                                 .dims = {183, 24, 1140, 1717},
                                 .nnz = 1000000,
                                 .rank = 16,
                                 .budget = budget,
                                 .real_size = 8,
                                 .copies = 4,
                                 .short_mode = 132,
                                 .conflict = CONFLICT_AUTO};
}

static struct plan plan_with(uint64_t budget)
{
    struct plan_request request = request_of(budget);
    struct plan plan;
    plan_make(&plan, &request);
    return plan;
}

static void check_sums(const struct plan *p)
{
    uint64_t orderings = (uint64_t)p->replicas + p->alto;
    assert_int_equal(p->total_bytes, orderings * p->tensor_bytes + p->factor_bytes + p->copy_bytes);
    assert_int_equal(p->fits, p->total_bytes <= p->request.budget);
    int ordered = 0;
    for (int n = 0; n < p->request.order; n++) {
        ordered += p->conflict[n] == CONFLICT_ORDERED;
        assert_int_not_equal(p->conflict[n], CONFLICT_AUTO);
    }
    assert_int_equal(ordered, p->replicas);
    assert_int_equal(p->alto, p->replicas < p->request.order);
}

static void test_sizes(void **state)
{
    (void)state;
    struct plan p = plan_with(UINT64_MAX);
    assert_in_range(p.tensor_bytes, 16000000, 16100000);
    /* factors of 3064 rows, M of 1717, five 16 x 16 matrices */
    assert_int_equal(p.factor_bytes, (3064 + 1717) * 16 * 8 + 5 * 16 * 16 * 8);

    struct plan_request r = request_of(UINT64_MAX);
    r.dims[0] = r.dims[1] = MAX_LENGTH; /* 32 + 32 + 11 + 11 bits: two index words */
    plan_make(&p, &r);
    assert_in_range(p.tensor_bytes, 24000000, 24100000);
    r.real_size = 4;
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

static void test_nothing_fits(void **state)
{
    (void)state;
    struct plan p = plan_with(10000000);
    check_sums(&p);
    assert_false(p.fits);
    assert_true(p.alto);
    assert_int_equal(p.replicas, 0);
    assert_true(plan_with(p.total_bytes).fits);
}

static void test_no_replicas(void **state)
{
    (void)state;
    struct plan_request r = request_of(UINT64_MAX);
    r.no_replicas = true;
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
    r.order = 3;
    r.dims[0] = r.dims[1] = r.dims[2] = 500;
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
            for (int n = 0; n < r.order; n++)
                assert_int_equal(p.conflict[n], c);
            assert_int_equal(p.replicas, c == CONFLICT_ORDERED ? 4 : 0);
            assert_int_equal(p.copy_bytes, c == CONFLICT_HIERARCHICAL ? 4 * 1717 * 16 * 8 : 0);
        }
}

/* More memory never means fewer replicas, nor that something no longer fits. */
static void test_monotone_in_budget(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int trial = 0; trial < 50; trial++) {
        struct plan_request r = request_of(0);
        r.order = 1 + (int)(naive_random(&seed) % MAX_ORDER);
        for (int n = 0; n < r.order; n++)
            r.dims[n] = 1 + (naive_random(&seed) >> (34 + naive_random(&seed) % 30));
        struct plan p = {0}, last = {0};
        for (; !p.fits || p.alto; r.budget += 3000000 + r.budget / 4) {
            plan_make(&p, &r);
            check_sums(&p);
            assert_true(p.replicas >= last.replicas);
            assert_true(p.fits >= last.fits);
            last = p;
        }
        assert_int_equal(p.replicas, r.order);
    }
}

/* Sizes beyond 64 bits do not wrap into something that fits. */
static void test_overflow(void **state)
{
    (void)state;
    struct plan_request r = request_of(UINT64_MAX - 1);
    r.rank = UINT64_C(1) << 60;
    struct plan p;
    plan_make(&p, &r);
    assert_false(p.fits);
    assert_int_equal(p.total_bytes, UINT64_MAX);
}

static void test_describe(void **state)
{
    (void)state;
    struct plan p = plan_with(50000000);
    char text[4096], shorter[100];
    plan_describe(&p, text, sizeof text);
    assert_string_equal(
        text, "mode 1: length 183, register, the shared alto ordering\n"
              "mode 2: length 24, hierarchical, the shared alto ordering, copies of 0.000 GB\n"
              "mode 3: length 1140, ordered, its own ordering of 0.016 GB\n"
              "mode 4: length 1717, ordered, its own ordering of 0.016 GB\n"
              "memory: 3 orderings of 0.016 GB + factors 0.001 GB + copies 0.000 GB = 0.049 GB of "
              "the 0.050 GB that may be used\n");
    plan_describe(&p, shorter, sizeof shorter);
    assert_int_equal(strlen(shorter), sizeof shorter - 1);
    assert_memory_equal(shorter, text, sizeof shorter - 1);
    p = plan_with(1000);
    plan_describe(&p, text, sizeof text);
    assert_non_null(strstr(text, "memory: 1 ordering of "));
    assert_non_null(strstr(text, "does not fit"));
}

static void test_names(void **state)
{
    (void)state;
    for (int c = CONFLICT_AUTO; c <= CONFLICT_ATOMIC; c++)
        assert_int_equal(conflict_by_name(conflict_name((enum conflict)c)), c);
    assert_int_equal(conflict_by_name("ordered"), CONFLICT_ORDERED);
    assert_int_equal(conflict_by_name("Ordered"), -1);
    assert_int_equal(conflict_by_name(""), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_everything_fits),
        cmocka_unit_test(test_some_replicas),
        cmocka_unit_test(test_only_alto),
        cmocka_unit_test(test_nothing_fits),
        cmocka_unit_test(test_no_replicas),
        cmocka_unit_test(test_equal_lengths),
        cmocka_unit_test(test_forced),
        cmocka_unit_test(test_monotone_in_budget),
        cmocka_unit_test(test_overflow),
        cmocka_unit_test(test_describe),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
