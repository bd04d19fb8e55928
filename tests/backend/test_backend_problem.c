/* The rules of rows and the penalty of a ridge, by the definitions of problem.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>

#include <cmocka.h>

#include "backend/backend_problem.h"

#define RANK 3

static const double lambda[RANK] = {4, .25, 2};

/* Of a tensor that was divided by 2^3. */
static struct backend_problem posed(const struct problem *asked)
{
    return (struct backend_problem){
        .asked = asked, .order = 3, .count = {.weight = .5, .ridge = 1}, .exponent = 3};
}

static void near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-14 * fabs(expected)))
        fail_msg("%.17g, expected %.17g", found, expected);
}

/* What a balanced ridge X adds is X times the squares of all entries of all modes, whose columns
 * have the norms lambda^(1/3); for the row of a mode, whose column has the weight lambda, the same
 * entry is lambda^(2/3) times as long. The tensor's own lambda is 8 times the one here. */
static void test_ridges(void **state)
{
    (void)state;
    struct problem asked = {.rank = RANK, .rules = {.ridge = {.1, .2, .4}}};
    const struct backend_problem p = posed(&asked);
    double squares = 0, balanced = 0;
    for (int r = 0; r < RANK; r++) {
        squares += .2 * lambda[r] * lambda[r];
        balanced += (.1 + .2 + .4) * pow(8 * lambda[r], 2.0 / 3) / 64;
    }
    near(backend_penalty_of(&p, 1, lambda, 7), squares);
    struct row_rules rules = backend_row_rules(&p, 1, PRECISION_DOUBLE);
    near(row_ridge(&rules, 4), .2);
    asked.ridge_scale = RIDGE_BALANCED;
    near(backend_penalty_of(&p, 1, lambda, 7), balanced);
    rules = backend_row_rules(&p, 1, PRECISION_DOUBLE);
    near(row_ridge(&rules, 4), .2 * pow(8 * 4, -4.0 / 3));
    assert_true(row_ridge(&rules, 0) == ROW_RIDGE_LIMIT);
    asked.ridge_scale = RIDGE_COUNTED;
    assert_true(backend_penalty_of(&p, 1, lambda, 7) == 7);
    assert_true(backend_row_rules(&p, 1, PRECISION_DOUBLE).counted);
}

/* What is asked, and how unlisted entries count, may change after opening. */
static void test_changes(void **state)
{
    (void)state;
    struct problem asked = {.rank = RANK, .rules = {.nonneg = {true}}};
    struct backend_problem p = posed(&asked);
    struct row_rules rules = backend_row_rules(&p, 0, PRECISION_DOUBLE);
    assert_true(rules.nonneg && rules.ridge == 0 && rules.unlisted == .5);
    assert_true(prox(-3, 2, rules.prox) == -2);
    assert_true(!rules.rates && rules.matrix && !rules.weighed);
    asked.rules.ridge[0] = .5;
    p.count = (struct unlisted_count){.weight = .25, .ridge = .5};
    rules = backend_row_rules(&p, 0, PRECISION_DOUBLE);
    assert_true(rules.ridge == .25 && rules.unlisted == .25);
}

static void test_rates(void **state)
{
    (void)state;
    struct problem asked = {.rank = RANK, .loss = LOSS_POISSON, .unlisted = {.weighed = true}};
    const struct backend_problem p = posed(&asked);
    const struct row_rules newton = backend_row_rules(&p, 0, PRECISION_DOUBLE);
    assert_true(newton.rates && newton.matrix && newton.weighed && newton.count == .125);
    assert_true(prox(-3, 2, newton.prox) > -2); /* a rate stays positive */
    asked.solver = SOLVER_MU;
    const struct row_rules mu = backend_row_rules(&p, 0, PRECISION_SINGLE);
    assert_true(mu.rates && !mu.matrix && mu.floor > newton.floor && mu.kind == POISSON_COUNTS);
    asked.loss = LOSS_BINARY;
    assert_int_equal(backend_row_rules(&p, 0, PRECISION_SINGLE).kind, POISSON_CLIPPED);
}

/* No step makes an entry less than the part of it that must stay. */
static void test_prox(void **state)
{
    (void)state;
    const struct prox_rule nonneg = {0}, quarter = {.25};
    assert_true(prox(-3, 2, nonneg) == -2);
    assert_true(prox(-1, 2, nonneg) == -1);
    assert_true(prox(-3, 2, quarter) == -1.5);
    assert_true(prox(NAN, 2, nonneg) == -2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ridges),
                                       cmocka_unit_test(test_changes), cmocka_unit_test(test_rates),
                                       cmocka_unit_test(test_prox)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
