/* What a sweep is made of: the orderings that are built, and the steps to M of each mode. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/sweep_steps.h"

static struct plan plan_for(uint64_t budget, enum conflict conflict)
{
    const struct plan_request request = {
        .tensor = {.shape = {4, {183, 24, 1140, 1717}}, .nnz = 1000000},
        .rank = 16,
        .row_bytes = 16 * sizeof(double),
        .budget = budget,
        .copies = 4,
        .short_mode = 132,
        .conflict = conflict,
        .group = conflict == CONFLICT_AUTO};
    struct plan plan;
    plan_make(&plan, &request);
    return plan;
}

static struct sweep sweep_of(const struct plan *plan, unsigned cuts)
{
    struct mode_groups groups;
    struct sweep s;
    mode_groups_from_cuts(&groups, 4, cuts);
    sweep_decide(&s, plan, &groups);
    return s;
}

/* Sharing needs the room of every mode's own ordering, and that the user has not chosen a way. */
static void test_may_group(void **state)
{
    (void)state;
    struct plan plan = plan_for(100000000, CONFLICT_AUTO);
    assert_true(sweep_may_group(&plan));
    plan = plan_for(plan.total_bytes - 1, CONFLICT_AUTO);
    assert_true(plan.fits && plan.alto);
    assert_false(sweep_may_group(&plan));
    plan = plan_for(100000000, CONFLICT_ORDERED);
    assert_false(sweep_may_group(&plan));
    plan = plan_for(1000, CONFLICT_AUTO);
    assert_false(plan.fits || sweep_may_group(&plan));
}

/* Without groups: what the plan says of each mode. */
static void test_without_groups(void **state)
{
    (void)state;
    for (uint64_t budget = 100000000; budget > 20000000;) {
        struct plan plan = plan_for(budget, CONFLICT_AUTO);
        struct sweep s = sweep_of(&plan, 7);
        assert_false(s.grouped);
        assert_int_equal(s.alto, plan.alto);
        for (int n = 0; n < 4; n++) {
            assert_int_equal(s.conflict[n], plan.conflict[n]);
            assert_int_equal(s.ordered[n], plan.conflict[n] == CONFLICT_ORDERED);
            struct sweep_steps steps = sweep_steps(&s, n);
            assert_int_equal(steps.count, 1);
            assert_int_equal(steps.step[0].action, SWEEP_REDUCED);
            assert_int_equal(steps.step[0].group, n);
        }
        budget = plan.total_bytes - 1;
    }
}

static void expect_steps(struct sweep *s, int mode, int count, const struct sweep_step *expected)
{
    struct sweep_steps steps = sweep_steps(s, mode);
    assert_int_equal(steps.count, count);
    for (int i = 0; i < count; i++) {
        assert_int_equal(steps.step[i].action, expected[i].action);
        assert_int_equal(steps.step[i].group, expected[i].group);
    }
    sweep_changed(s, mode);
}

/* Modes 1 and 2 share, as do 3 and 4: an ordering for each group, all ordered, and in every sweep
 * one pass over the reduced tensor for each group. */
static void test_two_groups(void **state)
{
    (void)state;
    struct plan plan = plan_for(100000000, CONFLICT_AUTO);
    struct sweep s = sweep_of(&plan, 2);
    assert_true(s.grouped && !s.alto);
    for (int g = 0; g < 2; g++)
        assert_true(s.ordered[g] && s.conflict[g] == CONFLICT_ORDERED);
    const struct sweep_step first[] = {{SWEEP_PRODUCTS, 1}, {SWEEP_REDUCED, 0}, {SWEEP_TUPLES, 0}};
    const struct sweep_step next[] = {{SWEEP_TUPLES, 0}};
    const struct sweep_step third[] = {{SWEEP_PRODUCTS, 0}, {SWEEP_REDUCED, 1}, {SWEEP_TUPLES, 1}};
    const struct sweep_step last[] = {{SWEEP_TUPLES, 1}};
    for (int sweep = 0; sweep < 3; sweep++) {
        expect_steps(&s, 0, 3, first);
        expect_steps(&s, 1, 1, next);
        expect_steps(&s, 2, 3, third);
        expect_steps(&s, 3, 1, last);
    }
    (void)sweep_steps(&s, 0);
    sweep_restart(&s); /* a step has failed: its products are made again */
    expect_steps(&s, 0, 3, first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_may_group),
        cmocka_unit_test(test_without_groups),
        cmocka_unit_test(test_two_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
