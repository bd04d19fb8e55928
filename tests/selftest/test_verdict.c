/* A verdict distinguishes right answers from wrong ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "selftest/selftest_checks.h"
#include "selftest/known_tensors.h"

static void test_numbers(void **state)
{
    (void)state;
    struct verdict f = {0};
    assert_false(verdict_good(&f)); /* nothing was compared */
    verdict_near(&f, 1.0, 1.0 + 1e-7, 1e-6, "near");
    verdict_near(&f, 3.0, 3.0, 0, "the same");
    verdict_at_most(&f, 1e-13, 1e-12, "small");
    verdict_equal(&f, 7, 7, "equal");
    assert_true(verdict_good(&f));
    assert_int_equal(f.compared, 4);
}

static void test_wrong_numbers(void **state)
{
    (void)state;
    struct verdict f = {0};
    verdict_near(&f, 0.5, 0.25, 1e-6, "fit of rank %d", 3);
    assert_false(verdict_good(&f));
    assert_string_equal(f.wrong, "fit of rank 3: 0.5, expected 0.25 within 1e-06");
    verdict_equal(&f, 1, 2, "another");
    assert_non_null(strstr(f.wrong, "fit of rank 3")); /* the first counts */
    f = (struct verdict){0};
    verdict_near(&f, NAN, 1, INFINITY, "not a number");
    assert_false(verdict_good(&f));
    f = (struct verdict){0};
    verdict_at_most(&f, NAN, 1, "not a number");
    assert_false(verdict_good(&f));
    f = (struct verdict){0};
    verdict_at_most(&f, 2e-12, 1e-12, "error");
    assert_string_equal(f.wrong, "error: 2e-12, expected at most 1e-12");
    f = (struct verdict){0};
    verdict_equal(&f, 6, 7, "place");
    assert_string_equal(f.wrong, "place: 6, expected 7");
}

static bool same_tensor(const struct coo *got, const struct coo *expected)
{
    struct verdict f = {0};
    verdict_same_tensor(&f, got, expected, "tensor");
    return verdict_good(&f);
}

/* One bit of a value or of an index, a nonzero less, a length. */
static void test_tensors(void **state)
{
    (void)state;
    static const struct shape shape = {3, {9, 8, 7}};
    struct error error = {0};
    struct coo a, b;
    assert_int_equal(known_scattered(&a, &shape, 50, 1, 0, &error), STATUS_OK);
    assert_int_equal(known_scattered(&b, &shape, 50, 1, 0, &error), STATUS_OK);
    assert_true(same_tensor(&b, &a));
    double value = b.value[20];
    b.value[20] = nextafter(value, 2);
    assert_false(same_tensor(&b, &a));
    b.value[20] = NAN;
    assert_false(same_tensor(&b, &a));
    b.value[20] = value;
    b.index[2][a.nnz - 1] ^= 1;
    assert_false(same_tensor(&b, &a));
    b.index[2][a.nnz - 1] ^= 1;
    b.nnz--;
    assert_false(same_tensor(&b, &a));
    b.nnz++;
    b.shape.dims[1]++;
    assert_false(same_tensor(&b, &a));
    b.shape.dims[1]--;
    assert_true(same_tensor(&b, &a));
    coo_free(&a);
    coo_free(&b);
}

static bool same_model(const struct ktensor *got, const struct ktensor *expected, double tolerance)
{
    struct verdict f = {0};
    verdict_same_model(&f, got, expected, tolerance, "model");
    return verdict_good(&f);
}

static void test_models(void **state)
{
    (void)state;
    static const struct shape shape = {3, {4, 1, 3}};
    struct error error = {0};
    struct ktensor a, b;
    assert_int_equal(ktensor_create(&a, &shape, 2, &error), STATUS_OK);
    assert_int_equal(ktensor_create(&b, &shape, 2, &error), STATUS_OK);
    ktensor_randomise(&a, KTENSOR_NORMAL, 1);
    ktensor_randomise(&b, KTENSOR_NORMAL, 1);
    assert_true(same_model(&b, &a, 0));
    double *places[] = {&b.lambda[0],    &b.lambda[1],    &b.factor[0][0],
                        &b.factor[0][7], &b.factor[1][1], &b.factor[2][3]};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        double was = *places[i];
        *places[i] = nextafter(was, 10);
        assert_false(same_model(&b, &a, 0));
        assert_true(same_model(&b, &a, 1e-9));
        *places[i] = was + 1e-8;
        assert_false(same_model(&b, &a, 1e-9));
        *places[i] = NAN;
        assert_false(same_model(&b, &a, 1e300));
        *places[i] = was;
    }
    ktensor_free(&b);
    assert_int_equal(ktensor_create(&b, &shape, 3, &error), STATUS_OK);
    ktensor_randomise(&b, KTENSOR_NORMAL, 1);
    assert_false(same_model(&b, &a, 1e300));
    ktensor_free(&a);
    ktensor_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_wrong_numbers),
        cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
