/* The factor match score of two models. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "model/ktensor.h"
#include "support/models.h"

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
static void test_allocation_fails(void **state)
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
        cmocka_unit_test(test_score_permuted),
        cmocka_unit_test(test_score_by_hand),
        cmocka_unit_test(test_score_shapes),
        cmocka_unit_test(test_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
