/* Random counts: how often each number is drawn. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <math.h>

#include <cmocka.h>

#include "generate/poisson_draw.h"

#define DRAWS 200000

/* Each frequency is within five standard deviations of the probability. */
static void test_frequencies(void **state)
{
    (void)state;
    static const double means[] = {0, 0.03, 1, 7.5, 32, 33, 100};
    for (size_t m = 0; m < sizeof means / sizeof *means; m++) {
        struct random_stream stream = random_stream_at(7, 3, m);
        int found[400] = {0};
        for (int i = 0; i < DRAWS; i++) {
            const double count = poisson_draw(&stream, means[m]);
            assert_true(count >= 0 && count < 400 && count == floor(count));
            found[(int)count]++;
        }
        for (int k = 0; k < 400; k++) {
            const double p =
                means[m] > 0 ? exp(k * log(means[m]) - means[m] - lgamma(k + 1.0)) : k == 0;
            const double off = found[k] - p * DRAWS, deviation = sqrt(p * (1 - p) * DRAWS);
            if (!(fabs(off) <= 5 * deviation + 3))
                fail_msg("mean %g: %d drawn %d times, expected %g", means[m], k, found[k],
                         p * DRAWS);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_frequencies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
