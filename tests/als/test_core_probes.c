/* Random signs and the mean of what they give. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>

#include <cmocka.h>

#include "als/core_probes.h"

#define RANK 40

/* The correlation of two lists of signs. */
static double correlation(const double *a, const double *b)
{
    double sum = 0;
    for (int e = 0; e < RANK * RANK; e++)
        sum += a[e] * b[e];
    return sum / (RANK * RANK);
}

/* Signs of other modes and probes, and of other columns, have nothing to do with each other. */
static void test_signs(void **state)
{
    (void)state;
    static double s[4][RANK * RANK], one[RANK * RANK], transposed[RANK * RANK];
    const double far = 5.0 / RANK; /* five standard deviations */
    core_probes_signs(s[0], RANK, 2, 0);
    core_probes_signs(s[1], RANK, 3, 0);
    core_probes_signs(s[2], RANK, 2, 1);
    core_probes_signs(s[3], RANK, 15, 63);
    for (int e = 0; e < RANK * RANK; e++) {
        assert_true(fabs(s[0][e]) == 1);
        one[e] = 1;
        transposed[e] = s[0][e % RANK * RANK + e / RANK];
    }
    for (int i = 0; i < 4; i++) {
        assert_true(fabs(correlation(s[i], one)) < far);
        for (int j = 0; j < i; j++)
            assert_true(fabs(correlation(s[i], s[j])) < far);
    }
    assert_true(fabs(correlation(s[0], transposed)) < far);
    core_probes_signs(s[1], RANK, 2, 0);
    assert_memory_equal(s[0], s[1], sizeof s[0]);
}

/* The mean of 1, 2, 3, 4, 5 is 3, their variance 2.5, and the variance of the mean 0.5. */
static void test_mean(void **state)
{
    (void)state;
    struct core_mean m = {0};
    for (int i = 5; i > 0; i--)
        core_mean_add(&m, 1e6 + i);
    assert_true(m.count == 5);
    assert_true(fabs(m.mean - 1e6 - 3) < 1e-9);
    assert_true(fabs(core_mean_error(&m) - sqrt(0.5)) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signs),
        cmocka_unit_test(test_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
