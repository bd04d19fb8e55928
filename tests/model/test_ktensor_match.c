/* Which components of two models belong together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "model/ktensor_match.h"
#include "support/models.h"

static struct ktensor_match match_of(const struct ktensor *a, const struct ktensor *b,
                                     bool with_weights)
{
    struct error error = {0};
    struct ktensor_match match;
    assert_int_equal(ktensor_match(&match, a, b, with_weights, NULL, &error), STATUS_OK);
    return match;
}

static void scale_column(struct ktensor *k, int n, uint64_t r, double factor)
{
    for (uint64_t i = 0; i < k->shape.dims[n]; i++)
        k->factor[n][i * k->rank + r] *= factor;
}

/* Component r of the copy, which has `rank` components, is component (r + shift) mod R of the
 * model. */
static struct ktensor shifted(const struct ktensor *k, uint64_t rank, uint64_t shift)
{
    struct ktensor c = model_create(k->shape.order, k->shape.dims, rank);
    for (uint64_t r = 0; r < rank; r++) {
        uint64_t from = (r + shift) % k->rank;
        c.lambda[r] = k->lambda[from];
        for (int n = 0; n < k->shape.order; n++)
            for (uint64_t i = 0; i < k->shape.dims[n]; i++)
                c.factor[n][i * rank + r] = k->factor[n][i * k->rank + from];
    }
    return c;
}

/* Modes 2 and 3 of models whose modes 1 have other lengths: as models of these modes alone, whose
 * weights have the norms of mode 1. */
static void test_some_modes(void **state)
{
    (void)state;
    static const bool modes[MAX_ORDER] = {false, true, true};
    struct error error = {0};
    struct ktensor a = model_random(3, (uint64_t[]){60, 5, 700}, 4, 1),
                   b = model_random(3, (uint64_t[]){90, 5, 700}, 3, 2),
                   part_a = model_create(2, a.shape.dims + 1, 4),
                   part_b = model_create(2, b.shape.dims + 1, 3), *whole[] = {&a, &b},
                   *part[] = {&part_a, &part_b};
    for (int i = 0; i < 2; i++) {
        const uint64_t rank = whole[i]->rank;
        for (int n = 0; n < 2; n++)
            memcpy(part[i]->factor[n], whole[i]->factor[n + 1],
                   part[i]->shape.dims[n] * rank * sizeof(double));
        for (uint64_t r = 0; r < rank; r++) {
            double norm_sq = 0;
            for (uint64_t k = 0; k < whole[i]->shape.dims[0]; k++)
                norm_sq += pow(whole[i]->factor[0][k * rank + r], 2);
            part[i]->lambda[r] = whole[i]->lambda[r] * sqrt(norm_sq);
        }
    }
    struct ktensor_match some, expected = match_of(&part_a, &part_b, true);
    assert_int_equal(ktensor_match(&some, &a, &b, true, modes, &error), STATUS_OK);
    assert_true(some.order == 2 && some.mode[0] == 1 && some.mode[1] == 2 && some.pairs == 3);
    assert_true(fabs(some.score - expected.score) < 1e-12);
    assert_true(fabs(some.congruence - expected.congruence) < 1e-12);
    for (uint64_t p = 0; p < 3; p++) {
        assert_true(some.pair[p].a == expected.pair[p].a && some.pair[p].b == expected.pair[p].b);
        for (uint64_t n = 0; n < 2; n++)
            assert_true(some.cosine[2 * p + n] == expected.cosine[2 * p + n]);
    }
    ktensor_match_free(&some);
    ktensor_match_free(&expected);
    assert_int_equal(ktensor_match(&some, &a, &b, true, NULL, &error), STATUS_INPUT);
    for (int i = 0; i < 2; i++) {
        ktensor_free(whole[i]);
        ktensor_free(part[i]);
    }
}

static void test_permutation_and_signs(void **state)
{
    (void)state;
    struct ktensor a = model_random(3, (uint64_t[]){60, 5, 700}, 4, 1), b = shifted(&a, 4, 1);
    scale_column(&b, 0, 2, -3); /* weight 3 times as large, opposite direction */
    scale_column(&b, 0, 1, -1);
    scale_column(&b, 2, 1, -1); /* two signs cancel */
    b.lambda[0] *= -1;
    struct ktensor_match m = match_of(&a, &b, true);
    assert_int_equal(m.pairs, 4);
    for (uint64_t p = 0; p < 4; p++) {
        const struct ktensor_pair *pair = &m.pair[p];
        uint64_t s = (p + 3) % 4;
        assert_int_equal(pair->a, p);
        assert_int_equal(pair->b, s);
        assert_int_equal(m.partner_a[p], s);
        assert_int_equal(m.partner_b[s], p);
        double sign = s == 0 || s == 2 ? -1 : 1;
        assert_true(fabs(pair->congruence - sign) < 1e-13);
        assert_true(fabs(pair->score - (s == 2 ? 1.0 / 3 : 1)) < 1e-13);
        for (int n = 0; n < 3; n++) {
            double cosine = (n == 0 && (s == 1 || s == 2)) || (n == 2 && s == 1) ? -1 : 1;
            assert_true(fabs(m.cosine[p * 3 + (uint64_t)n] - cosine) < 1e-13);
        }
        assert_true(fabs(m.weight_b[s] / m.weight_a[p]) > (s == 2 ? 2.999 : 0.999));
    }
    assert_true(fabs(m.score - (3 + 1.0 / 3) / 4) < 1e-13);
    assert_true(fabs(m.congruence - 1) < 1e-13);
    ktensor_match_free(&m);
    m = match_of(&a, &b, false);
    assert_true(fabs(m.score - 1) < 1e-13);
    ktensor_match_free(&m);
    ktensor_match_free(&m);
    ktensor_free(&a);
    ktensor_free(&b);
}

/* The best pair is not in the best assignment: the greedy choice would score (1 + 0) / 2. */
static void test_best_assignment(void **state)
{
    (void)state;
    struct ktensor a = model_create(1, (uint64_t[]){3}, 2), b = model_create(1, a.shape.dims, 2);
    /* a: e1, and e1 turned a little towards e2; b: e1, and e3 with some of e1 */
    memcpy(a.factor[0], (double[]){1, 0.9, 0, sqrt(1 - 0.81), 0, 0}, 6 * sizeof(double));
    memcpy(b.factor[0], (double[]){1, 0.5, 0, -sqrt(0.75), 0, 0}, 6 * sizeof(double));
    double cross = fabs(0.9 * 0.5 - sqrt(1 - 0.81) * sqrt(0.75)); /* of the second ones: 0.07 */
    struct ktensor_match m = match_of(&a, &b, true);
    assert_int_equal(m.pair[0].b, 1);
    assert_int_equal(m.pair[1].b, 0);
    assert_true(fabs(m.score - (0.5 + 0.9) / 2) < 1e-15 && m.score > (1 + cross) / 2);
    ktensor_match_free(&m);
    ktensor_free(&a);
    ktensor_free(&b);
}

static void test_different_ranks(void **state)
{
    (void)state;
    struct ktensor a = model_random(2, (uint64_t[]){40, 50}, 5, 3), b = shifted(&a, 3, 2);
    for (int turned = 0; turned < 2; turned++) {
        struct ktensor_match m = turned ? match_of(&b, &a, true) : match_of(&a, &b, true);
        assert_int_equal(m.pairs, 3);
        assert_true(fabs(m.score - 1) < 1e-13);
        const uint64_t *of_five = turned ? m.partner_b : m.partner_a;
        const uint64_t *of_three = turned ? m.partner_a : m.partner_b;
        for (uint64_t r = 0; r < 5; r++)
            assert_int_equal(of_five[r], r < 2 ? NO_PARTNER : r - 2);
        for (uint64_t p = 0; p < 3; p++) {
            assert_int_equal(of_three[p], p + 2);
            assert_int_equal(m.pair[p].a, turned ? p : p + 2);
            assert_int_equal(m.pair[p].b, turned ? p + 2 : p);
        }
        ktensor_match_free(&m);
    }
    ktensor_free(&a);
    ktensor_free(&b);
}

/* Entries whose squares overflow or underflow, and weights that no double holds. */
static void test_extreme_sizes(void **state)
{
    (void)state;
    struct ktensor a = model_random(3, (uint64_t[]){300, 20, 9}, 3, 5), b = shifted(&a, 3, 1),
                   other = model_random(3, a.shape.dims, 3, 6);
    struct ktensor_match usual = match_of(&a, &other, false);
    for (int n = 0; n < 3; n++) {
        scale_column(&b, n, 0, 1e200);
        scale_column(&b, n, 1, 1e-250);
        scale_column(&other, n, 0, -1e220);
        scale_column(&other, n, 2, 1e-180);
    }
    struct ktensor_match m = match_of(&a, &b, false);
    assert_true(fabs(m.score - 1) < 1e-13);
    ktensor_match_free(&m);
    m = match_of(&b, &b, true); /* equal weights, one of them infinite */
    assert_true(isinf(m.weight_a[0]) && fabs(m.score - 1) < 1e-13);
    ktensor_match_free(&m);
    m = match_of(&a, &other, false);
    assert_true(fabs(m.score - usual.score) < 1e-13);
    for (uint64_t p = 0; p < 3; p++)
        assert_int_equal(m.pair[p].b, usual.pair[p].b);
    ktensor_match_free(&m);
    m = match_of(&a, &other, true);
    assert_true(m.score >= 0 && m.score < usual.score);
    ktensor_match_free(&m);
    ktensor_match_free(&usual);
    ktensor_free(&a);
    ktensor_free(&b);
    ktensor_free(&other);
}

/* Components of zeros, by a weight or by a column, match only where nothing else is left. */
static void test_zeros(void **state)
{
    (void)state;
    struct ktensor a = model_random(2, (uint64_t[]){30, 4}, 3, 8), b = shifted(&a, 3, 0);
    b.lambda[0] = 0;
    scale_column(&b, 1, 1, 0);
    struct ktensor_match m = match_of(&a, &b, true);
    for (uint64_t p = 0; p < 3; p++)
        assert_true(fabs(m.pair[p].score - (m.pair[p].b == 2)) < 1e-13);
    assert_int_equal(m.partner_b[2], 2);
    assert_true(m.weight_b[0] == 0 && m.weight_b[1] == 0);
    ktensor_match_free(&m);
    ktensor_free(&a);
    ktensor_free(&b);
}

static void test_shapes(void **state)
{
    (void)state;
    struct ktensor a = model_random(2, (uint64_t[]){3, 4}, 2, 1),
                   b = model_random(2, (uint64_t[]){3, 5}, 2, 1),
                   c = model_random(3, (uint64_t[]){3, 4, 1}, 2, 1);
    struct ktensor_match m;
    struct error error = {0};
    assert_int_equal(ktensor_match(&m, &a, &b, true, NULL, &error), STATUS_INPUT);
    assert_string_equal(error.message, "mode 2: a length of 4 and one of 5 cannot be compared");
    error = (struct error){0};
    assert_int_equal(ktensor_match(&m, &a, &c, true, NULL, &error), STATUS_INPUT);
    assert_string_equal(error.message, "a model of 2 modes and one of 3 cannot be compared");
    assert_null(m.pair);
    ktensor_free(&a);
    ktensor_free(&b);
    ktensor_free(&c);
}

/* The k-th allocation fails, for every k: an error and no leak. */
static void test_allocation_fails(void **state)
{
    (void)state;
    struct ktensor a = model_random(3, (uint64_t[]){4, 3, 2}, 3, 1), b = shifted(&a, 2, 0);
    scale_column(&b, 1, 1, 1e200);
    for (long k = 0, fired = 1; fired; k++) {
        struct error error = {0};
        struct ktensor_match m;
        memory_hook_set(k);
        enum status status = ktensor_match(&m, &a, &b, true, NULL, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        assert_true((m.pair == NULL) == (fired != 0));
        ktensor_match_free(&m);
    }
    ktensor_free(&a);
    ktensor_free(&b);
}

/* --- the factor match score --- */

/* b's component r is a's component (r + 1) mod R, with signs flipped and scaled. */
static void test_score_permuted(void **state)
{
    (void)state;
    struct ktensor a = model_random(3, (uint64_t[]){6, 5, 7}, 4, 1), b = model_copy(&a);
    for (uint64_t r = 0; r < 4; r++) {
        uint64_t from = (r + 1) % 4;
        b.lambda[r] = -a.lambda[from] / 2;
        for (int n = 0; n < 3; n++)
            for (uint64_t i = 0; i < a.shape.dims[n]; i++)
                b.factor[n][i * 4 + r] = (n == 0 ? -1 : n == 1 ? 2 : 1) * a.factor[n][i * 4 + from];
    }
    for (int with_lambda = 0; with_lambda < 2; with_lambda++) {
        struct error error = {0};
        double score, component[4];
        assert_int_equal(ktensor_score(&a, &b, with_lambda, &score, component, &error), STATUS_OK);
        assert_true(fabs(score - 1) < 1e-13);
        for (int r = 0; r < 4; r++)
            assert_true(component[r] <= 1 && component[r] > 1 - 1e-13);
    }
    ktensor_free(&a);
    ktensor_free(&b);
}

/* By hand: unit columns in two modes, component 0 turned by 30 degrees in one of them, component 1
 * with its weight halved, and a third one in `a` that has no counterpart. */
static void test_score_by_hand(void **state)
{
    (void)state;
    struct ktensor a = model_create(2, (uint64_t[]){3, 3}, 3),
                   b = model_create(2, (uint64_t[]){3, 3}, 2);
    for (int n = 0; n < 2; n++) {
        memcpy(a.factor[n], (double[]){1, 0, 0, 0, 1, 0, 0, 0, 1}, 9 * sizeof(double));
        memcpy(b.factor[n], (double[]){1, 0, 0, 1, 0, 0}, 6 * sizeof(double));
    }
    b.factor[0][0] = sqrt(0.75);
    b.factor[0][4] = 0.5; /* towards a's third component */
    a.lambda[1] = 4;
    b.lambda[1] = 2;
    struct error error = {0};
    double score, component[2];
    assert_int_equal(ktensor_score(&a, &b, 0, &score, component, &error), STATUS_OK);
    assert_true(fabs(component[0] - sqrt(0.75)) < 1e-15 && component[1] == 1);
    assert_true(fabs(score - (sqrt(0.75) + 1) / 2) < 1e-15);
    assert_int_equal(ktensor_score(&a, &b, 1, &score, component, &error), STATUS_OK);
    assert_true(fabs(component[0] - sqrt(0.75)) < 1e-15 && fabs(component[1] - 0.5) < 1e-15);

    /* the other way round, a's component without a counterpart counts as 0 */
    double back[3];
    assert_int_equal(ktensor_score(&b, &a, 0, &score, back, &error), STATUS_OK);
    assert_true(back[2] == 0 && fabs(score - (sqrt(0.75) + 1) / 3) < 1e-15);
    ktensor_free(&a);
    ktensor_free(&b);
}

static void test_score_shapes(void **state)
{
    (void)state;
    struct ktensor a = model_random(2, (uint64_t[]){3, 4}, 2, 1);
    struct ktensor b = model_random(2, (uint64_t[]){3, 5}, 2, 1);
    struct ktensor c = model_random(3, (uint64_t[]){3, 4, 1}, 2, 1);
    double score;
    struct error error = {0};
    assert_int_equal(ktensor_score(&a, &b, 0, &score, NULL, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "mode 2"));
    error = (struct error){0};
    assert_int_equal(ktensor_score(&a, &c, 0, &score, NULL, &error), STATUS_INPUT);

    /* a component of zero scores 0 and does not disturb the other */
    for (uint64_t i = 0; i < 3; i++)
        a.factor[0][i * 2] = 0;
    error = (struct error){0};
    double component[2];
    assert_int_equal(ktensor_score(&a, &a, 1, &score, component, &error), STATUS_OK);
    assert_true(component[0] == 0 && fabs(component[1] - 1) < 1e-14);
    ktensor_free(&a);
    ktensor_free(&b);
    ktensor_free(&c);
}

/* The k-th allocation fails, for every k: an error and no leak. */
static void test_score_allocation_fails(void **state)
{
    (void)state;
    struct ktensor start = model_random(3, (uint64_t[]){4, 3, 2}, 3, 1);
    for (long k = 0, fired = 1; fired; k++) {
        struct error error = {0};
        double score;
        memory_hook_set(k);
        enum status status = ktensor_score(&start, &start, 1, &score, NULL, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
    }
    ktensor_free(&start);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_some_modes),      cmocka_unit_test(test_permutation_and_signs),
        cmocka_unit_test(test_best_assignment), cmocka_unit_test(test_different_ranks),
        cmocka_unit_test(test_extreme_sizes),   cmocka_unit_test(test_zeros),
        cmocka_unit_test(test_shapes),          cmocka_unit_test(test_allocation_fails),
        cmocka_unit_test(test_score_permuted),  cmocka_unit_test(test_score_by_hand),
        cmocka_unit_test(test_score_shapes),    cmocka_unit_test(test_score_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
