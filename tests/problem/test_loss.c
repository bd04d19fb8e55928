/* The rows of the losses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "problem/loss.h"

/* Every word has a row, and no other number has one. */
static void test_rows(void **state)
{
    (void)state;
    unsigned count = 0;
    for (const struct word *w = loss_words; w->text; w++, count++) {
        assert_int_equal(w->value, count);
        assert_true(loss_is_known(count));
        assert_non_null(loss_of((enum loss_name)w->value));
    }
    assert_false(loss_is_known(count));
    assert_false(loss_of(LOSS_SQUARES)->rates);
    assert_true(loss_of(LOSS_POISSON)->rates);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
