/* What a sweep is made of: the orderings that are built, and the steps to M of each mode. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include <cmocka.h>

#include "plan/sweep_steps.h"
#include "support/naive.h"

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

/* --- The steps of MTTKRP with mode groups: no table is used that is out of date, and none is
 * computed again that is current. Here a factor is its version, the number of its changes, and a
 * table is the versions that it was computed from. --- */

#define ORDER 5

struct traced_sweep {
    struct sweep sweep;
    int factor[ORDER];          /* its version; 0: none                                 */
    int products[ORDER][ORDER]; /* of each group: by mode, the versions that are in it  */
    int partial[ORDER][ORDER];
    int passes, products_made; /* so far */
};

static void change(struct traced_sweep *s, int mode)
{
    s->factor[mode]++;
    sweep_changed(&s->sweep, mode);
}

static void begin(struct traced_sweep *s, unsigned cuts)
{
    *s = (struct traced_sweep){0};
    mode_groups_from_cuts(&s->sweep.groups, ORDER, cuts);
    memset(s->products, -1, sizeof s->products); /* of versions that never exist */
    memset(s->partial, -1, sizeof s->partial);
    for (int n = 0; n < ORDER; n++)
        change(s, n);
}

static void make_products(struct traced_sweep *s, int group)
{
    const struct mode_groups *g = &s->sweep.groups;
    int current[ORDER] = {0};
    assert_true(mode_groups_size(g, group) > 1);
    for (int n = g->first[group]; n < g->first[group + 1]; n++)
        current[n] = s->factor[n];
    assert_memory_not_equal(s->products[group], current, sizeof current);
    memcpy(s->products[group], current, sizeof current);
    s->products_made++;
}

/* m = what MTTKRP of the reduced tensor reads: tables of groups of several modes, and factors. */
static void compute_reduced(struct traced_sweep *s, int group, int *m)
{
    const struct mode_groups *g = &s->sweep.groups;
    for (int k = 0; k < g->groups; k++)
        for (int n = g->first[k]; n < g->first[k + 1] && k != group; n++)
            m[n] = mode_groups_size(g, k) > 1 ? s->products[k][n] : s->factor[n];
    s->passes++;
}

/* M of a mode by its steps: of the present version of every other factor, and not of its own. */
static void check_mttkrp(struct traced_sweep *s, int mode)
{
    const struct mode_groups *g = &s->sweep.groups;
    const struct sweep_steps steps = sweep_steps(&s->sweep, mode);
    int group = mode_groups_of(g, mode), several = mode_groups_size(g, group) > 1, m[ORDER] = {0};
    bool reduced = false, tuples = false;
    for (int i = 0; i < steps.count; i++) {
        const struct sweep_step *step = &steps.step[i];
        assert_false(tuples); /* the last step, and products come first */
        if (step->action == SWEEP_PRODUCTS) {
            assert_false(reduced);
            make_products(s, step->group);
            continue;
        }
        assert_int_equal(step->group, group);
        if (step->action == SWEEP_REDUCED) {
            assert_false(reduced);
            reduced = true;
            compute_reduced(s, group, m);
            if (several) {
                assert_memory_not_equal(s->partial[group], m, sizeof m);
                memcpy(s->partial[group], m, sizeof m);
            }
        } else {
            tuples = true;
            memcpy(m, s->partial[group], sizeof m);
            for (int n = g->first[group]; n < g->first[group + 1]; n++)
                m[n] = n == mode ? 0 : s->factor[n];
        }
    }
    assert_int_equal(tuples, several);
    assert_true(reduced || (tuples && steps.count == 1)); /* products serve the reduced tensor */
    for (int n = 0; n < ORDER; n++)
        assert_int_equal(m[n], n == mode ? 0 : s->factor[n]);
}

/* Any modes, with changes of any factors between them. */
static void test_any_order(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (unsigned cuts = 0; cuts < 1u << (ORDER - 1); cuts++) {
        struct traced_sweep s;
        begin(&s, cuts);
        for (int i = 0; i < 500; i++) {
            check_mttkrp(&s, (int)(naive_random(&seed) % ORDER));
            for (uint64_t k = naive_random(&seed) % 4; k > 0; k--)
                change(&s, (int)(naive_random(&seed) % ORDER));
        }
    }
}

/* A sweep of ALS goes over the nonzeros once per group and computes the products of each group
 * once; the first sweep computes some of them twice. */
static void test_sweeps(void **state)
{
    (void)state;
    for (unsigned cuts = 1; cuts < 1u << (ORDER - 1); cuts++) {
        struct traced_sweep s;
        begin(&s, cuts);
        int several = 0;
        for (int k = 0; k < s.sweep.groups.groups; k++)
            several += mode_groups_size(&s.sweep.groups, k) > 1;
        for (int sweep = 1; sweep <= 4; sweep++) {
            int before = s.products_made;
            for (int n = 0; n < ORDER; n++) {
                check_mttkrp(&s, n);
                change(&s, n);
            }
            assert_int_equal(s.passes, sweep * s.sweep.groups.groups);
            if (sweep > 1)
                assert_int_equal(s.products_made - before, several);
        }
    }
}

/* Zeroed after a failure, everything is computed again. */
static void test_nothing_current(void **state)
{
    (void)state;
    const struct mode_groups g = {.groups = 3, .first = {0, 2, 4, 5}};
    struct sweep s = {.groups = g};
    sweep_steps(&s, 0);
    assert_int_equal(sweep_steps(&s, 1).count, 1); /* nothing is to be reduced */
    sweep_restart(&s);
    const struct sweep_steps steps = sweep_steps(&s, 1);
    assert_int_equal(steps.count, 3);
    assert_int_equal(steps.step[0].action, SWEEP_PRODUCTS);
    assert_int_equal(steps.step[0].group, 1);
    assert_int_equal(steps.step[1].action, SWEEP_REDUCED);
    assert_int_equal(steps.step[2].action, SWEEP_TUPLES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_may_group),  cmocka_unit_test(test_without_groups),
        cmocka_unit_test(test_two_groups), cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_sweeps),     cmocka_unit_test(test_nothing_current),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
