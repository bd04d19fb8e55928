#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tensor/shape.h"

static const uint64_t dims[MAX_ORDER + 1] = {5, 3, MAX_LENGTH, 1, 2, 2, 2, 2, 2,
                                             2, 2, 2,          2, 2, 2, 9, 7};

/* Order and lengths are copied, nothing after them. */
static void test_shape_of(void **state)
{
    (void)state;
    for (int order = 1; order <= MAX_ORDER; order++) {
        struct shape s = shape_of(order, dims);
        assert_int_equal(s.order, order);
        for (int n = 0; n < MAX_ORDER; n++)
            assert_int_equal(s.dims[n], n < order ? dims[n] : 0);
    }
}

/* SHAPE is an argument as well as a variable, and evaluates its arguments once. */
static void test_macro(void **state)
{
    (void)state;
    int order = 2;
    const struct shape *s = SHAPE(++order, dims + 1);
    assert_int_equal(order, 3);
    struct shape expected = shape_of(3, dims + 1);
    assert_memory_equal(s, &expected, sizeof expected);
    assert_true(shape_equal(SHAPE(3, dims + 1), s));
    const struct shape *other = SHAPE(1, dims);
    assert_int_equal(s->order + other->order, 4);
}

static void test_equal(void **state)
{
    (void)state;
    for (int order = 1; order <= MAX_ORDER; order++) {
        struct shape a = shape_of(order, dims), b = a;
        assert_true(shape_equal(&a, &b));
        if (order < MAX_ORDER) { /* lengths after the last mode do not count */
            b.dims[order] = 4;
            assert_true(shape_equal(&a, &b));
            b.order++;
            assert_false(shape_equal(&a, &b));
            assert_false(shape_equal(&b, &a));
        }
        for (int n = 0; n < order; n++) {
            b = a;
            b.dims[n]++;
            assert_false(shape_equal(&a, &b));
        }
    }
}

static void test_longest(void **state)
{
    (void)state;
    assert_int_equal(shape_longest(SHAPE(1, dims)), 5);
    assert_int_equal(shape_longest(SHAPE(2, dims)), 5);
    assert_int_equal(shape_longest(SHAPE(3, dims)), MAX_LENGTH);
    assert_int_equal(shape_longest(SHAPE(2, dims + 3)), 2);
    assert_int_equal(shape_longest(SHAPE(MAX_ORDER - 3, dims + 3)), 9);
    struct shape s = shape_of(2, dims);
    s.dims[2] = 100; /* after the last mode */
    assert_int_equal(shape_longest(&s), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shape_of),
        cmocka_unit_test(test_macro),
        cmocka_unit_test(test_equal),
        cmocka_unit_test(test_longest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
