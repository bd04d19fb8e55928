#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "naive.h"
#include "values.h"

#define MOST 5000

static double from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Packs, checks that nothing behind the packed bytes is written, and widens to the same bits. */
static void assert_round_trip(enum value_form form, const double *value, uint64_t count)
{
    static uint64_t packed[MOST + 2];
    static double back[MOST + 1];
    uint64_t bytes = values_bytes(form, count);
    memset(packed, 0xa5, sizeof packed);
    memset(back, 0x5a, sizeof back);
    values_pack(form, value, count, packed);
    assert_int_equal(((unsigned char *)packed)[bytes], 0xa5);
    values_widen(form, packed, count, back);
    assert_memory_equal(back, value, count * sizeof *value);
    assert_int_equal(((unsigned char *)back)[count * sizeof *back], 0x5a);
}

static void assert_form(enum value_form expected, const double *value, uint64_t count)
{
    assert_int_equal(values_narrowest(value, count), expected);
    assert_round_trip(expected, value, count);
    assert_round_trip(VALUES_F64, value, count);
}

static void test_forms(void **state)
{
    (void)state;
    const double quiet = from_bits(UINT64_C(0x7ff8000020000000)); /* a NaN that float holds      */
    const double deep = from_bits(UINT64_C(0x7ff8000000000001));  /* a payload that float loses  */
    const double signalling = from_bits(UINT64_C(0x7ff0000020000000));
    const struct {
        enum value_form form;
        double value[2];
    } cases[] = {
        {VALUES_CONSTANT, {3.25, 3.25}},
        {VALUES_CONSTANT, {-0.0, -0.0}},
        {VALUES_CONSTANT, {deep, deep}},
        {VALUES_CONSTANT, {signalling, signalling}},
        {VALUES_U8, {0, 1}},
        {VALUES_U8, {0, 255}},
        {VALUES_U16, {0, 256}},
        {VALUES_U16, {1, 65535}},
        {VALUES_F32, {0, 65536}},
        {VALUES_F32, {0.0, -0.0}},
        {VALUES_F32, {1, -1}},
        {VALUES_F32, {1, 0.5}},
        {VALUES_F32, {1, 16777216}},
        {VALUES_F32, {1, INFINITY}},
        {VALUES_F32, {1, -INFINITY}},
        {VALUES_F32, {1, FLT_MAX}},
        {VALUES_F32, {1, FLT_TRUE_MIN}},
        {VALUES_F32, {1, quiet}},
        {VALUES_F64, {1, deep}},
        {VALUES_F64, {1, signalling}},
        {VALUES_F64, {1, 0.1}},
        {VALUES_F64, {1, 16777217}},
        {VALUES_F64, {1, 1e300}},
        {VALUES_F64, {1, DBL_TRUE_MIN}},
        {VALUES_F64, {1, (double)FLT_TRUE_MIN / 2}},
        {VALUES_F64, {0.25, 1e10 + 1}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        assert_form(cases[c].form, cases[c].value, 2);
    assert_form(VALUES_CONSTANT, (const double[]){0.1}, 1);
}

/* One odd value anywhere among many decides. */
static void test_the_odd_one(void **state)
{
    (void)state;
    static double value[MOST];
    const double odd[] = {-0.0, 200.5, 70000, 0.1, 300};
    const enum value_form form[] = {VALUES_F32, VALUES_F32, VALUES_F32, VALUES_F64, VALUES_U16};
    uint64_t seed = 1;
    for (int i = 0; i < MOST; i++)
        value[i] = (double)(naive_random(&seed) % 256);
    assert_form(VALUES_U8, value, MOST);
    const int places[] = {0, 1, 1023, 1024, 2500, MOST - 1};
    for (int p = 0; p < 6; p++) {
        for (int k = 0; k < 5; k++) {
            double kept = value[places[p]];
            value[places[p]] = odd[k];
            assert_form(form[k], value, MOST);
            value[places[p]] = kept;
        }
    }
    /* a wide one before and behind one that is wider still, or narrower */
    value[10] = 300;
    value[3000] = 0.5;
    assert_form(VALUES_F32, value, MOST);
    value[4000] = 0.1;
    assert_form(VALUES_F64, value, MOST);
}

static void test_bytes(void **state)
{
    (void)state;
    const uint64_t expected[VALUES_FORMS] = {8, 7, 14, 28, 56};
    for (int form = 0; form < VALUES_FORMS; form++)
        assert_int_equal(values_bytes((enum value_form)form, 7), expected[form]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_the_odd_one),
        cmocka_unit_test(test_bytes),
    };
    return cmocka_run_group_tests_name("values", tests, NULL, NULL);
}
