/* Value codec: values come back to the last bit, in the narrowest form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "formats/blco/value_codec.h"
#include "support/naive.h"

#define MOST PACKED_GROUP_NNZ

static double from_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Packs, checks that nothing after the fields is written, and unpacks to the same bits; also one
 * at a time, as a device does it. */
static void assert_round_trip(const struct packed_group *g, const double *value)
{
    uint32_t words = packed_field_words(g->count, g->value_bits);
    uint32_t packed[2 * MOST + 2];
    double back[MOST + 1];
    memset(packed, 0xa5, sizeof packed);
    memset(back, 0x5a, sizeof back);
    value_codec_pack(value, g, packed);
    assert_int_equal(packed[words], 0xa5a5a5a5);
    value_codec_unpack(packed, g, back);
    assert_memory_equal(back, value, g->count * sizeof *value);
    assert_int_equal(((unsigned char *)back)[g->count * sizeof *back], 0x5a);
    for (uint32_t i = 0; i < g->count; i++) {
        double one = packed_value(g, packed_power_of_ten(g->decimals),
                                  packed_field(packed, i, g->value_bits));
        assert_memory_equal(&one, &value[i], sizeof one);
    }
}

static struct packed_group choose(const double *value, uint32_t count)
{
    struct packed_group g = {.count = (uint16_t)count};
    value_codec_choose(value, &g);
    assert_round_trip(&g, value);
    return g;
}

static void assert_form(enum packed_values form, int bits, int decimals, const double *value,
                        uint32_t count)
{
    struct packed_group g = choose(value, count);
    if (g.value_form != form || g.value_bits != bits || g.decimals != decimals)
        fail_msg("%.17g and %.17g: form %d, %d bits, %d decimals; expected %d, %d, %d", value[0],
                 value[1], g.value_form, g.value_bits, g.decimals, (int)form, bits, decimals);
}

static void test_forms(void **state)
{
    (void)state;
    const double quiet = from_bits(UINT64_C(0x7ff8000020000000)); /* a NaN that float holds      */
    const double deep = from_bits(UINT64_C(0x7ff8000000000001));  /* a payload that float loses  */
    const double signalling = from_bits(UINT64_C(0x7ff0000020000000));
    const struct {
        enum packed_values form;
        int bits, decimals;
        double value[2];
    } cases[] = {
        {PACKED_CONSTANT, 0, 0, {3.25, 3.25}},
        {PACKED_CONSTANT, 0, 0, {-0.0, -0.0}},
        {PACKED_CONSTANT, 0, 0, {deep, deep}},
        {PACKED_CONSTANT, 0, 0, {signalling, signalling}},
        {PACKED_WHOLE, 1, 0, {0, 1}},
        {PACKED_WHOLE, 2, 0, {1, -1}},
        {PACKED_WHOLE, 8, 0, {0, 255}},
        {PACKED_WHOLE, 9, 0, {256, 0}},
        {PACKED_WHOLE, 3, 0, {1e15, 1e15 + 7}},
        {PACKED_WHOLE, 32, 0, {-1, 4294967294.0}},
        {PACKED_WHOLE, 33, 0, {-1, 4294967295.0}},
        {PACKED_WHOLE, 1, 0, {0x1p53 - 1, 0x1p53}},
        {PACKED_WHOLE, 1, 0, {-0x1p53, 1 - 0x1p53}},
        {PACKED_WHOLE, 54, 0, {-0x1p53, 0x1p53 - 1}},
        {PACKED_F32, 32, 0, {-0x1p53, 0x1p53}}, /* two floats */
        {PACKED_WHOLE, 3, 1, {1, 0.5}},
        {PACKED_WHOLE, 8, 2, {2.37, 0.01}},
        {PACKED_WHOLE, 1, 1, {0.1, 0.2}},
        {PACKED_WHOLE, 5, 1, {-1.7, 0.3}},
        {PACKED_WHOLE, 7, 22, {1e-22, 1.27e-20}},
        {PACKED_WHOLE, 53, 15, {0.123456789012345, 8.765432109876543}},
        {PACKED_WHOLE, 24, 0, {1, 16777216}},
        {PACKED_WHOLE, 27, 7, {0.0000001, 9.9999999}},
        {PACKED_F32, 32, 0, {0.0, -0.0}},
        {PACKED_F32, 32, 0, {1, INFINITY}},
        {PACKED_F32, 32, 0, {INFINITY, 1}},
        {PACKED_F32, 32, 0, {1, -INFINITY}},
        {PACKED_F32, 32, 0, {1, FLT_MAX}},
        {PACKED_F32, 32, 0, {1, FLT_TRUE_MIN}},
        {PACKED_F32, 32, 0, {1, 0x1.2345p-30}},
        {PACKED_F32, 32, 0, {1, quiet}},
        {PACKED_F64, 64, 0, {1, deep}},
        {PACKED_F64, 64, 0, {1, signalling}},
        {PACKED_F64, 64, 0, {-0.0, 0.1}},
        {PACKED_F64, 64, 0, {1, 1e300}},
        {PACKED_F64, 64, 0, {1, 1e-23}},
        {PACKED_F64, 64, 0, {1, 1.0 / 3}},
        {PACKED_F64, 64, 0, {1, DBL_TRUE_MIN}},
        {PACKED_F64, 64, 0, {1, (double)FLT_TRUE_MIN / 2}},
        {PACKED_F64, 64, 0, {1, DBL_MAX}},
        {PACKED_F64, 64, 0, {0.5, 0x1.123456789p54}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++)
        assert_form(cases[c].form, cases[c].bits, cases[c].decimals, cases[c].value, 2);
    assert_form(PACKED_CONSTANT, 0, 0, (const double[]){0.1, 0}, 1);
    assert_form(PACKED_WHOLE, 55, 0, (const double[]){-0x1p53, 0x1p53, 0x1p53 - 1}, 3);
}

/* One odd value anywhere in a group decides. */
static void test_the_odd_one(void **state)
{
    (void)state;
    double value[MOST];
    const struct {
        enum packed_values form;
        int bits, decimals;
        double value;
    } odd[] = {{PACKED_F32, 32, 0, -0.0},        {PACKED_WHOLE, 12, 1, 200.5},
               {PACKED_WHOLE, 17, 0, 70000},     {PACKED_WHOLE, 15, 2, 0.01},
               {PACKED_F64, 64, 0, 1.0 / 3},     {PACKED_WHOLE, 10, 0, -300},
               {PACKED_F32, 32, 0, 0x1.23p-70},  {PACKED_WHOLE, 18, 3, 255.001},
               {PACKED_WHOLE, 48, 12, 1e-12 + 7}};
    const int places[] = {0, 1, 100, MOST - 2, MOST - 1};
    for (int i = 0; i < MOST; i++)
        value[i] = i;
    assert_form(PACKED_WHOLE, 8, 0, value, MOST);
    for (int p = 0; p < 5; p++) {
        for (size_t k = 0; k < sizeof odd / sizeof *odd; k++) {
            double kept = value[places[p]];
            value[places[p]] = odd[k].value;
            value[50] = 255; /* wherever the odd one is, the range is the same */
            value[51] = 0;
            assert_form(odd[k].form, odd[k].bits, odd[k].decimals, value, MOST);
            value[places[p]] = kept;
        }
    }
}

/* What reads as a decimal number of up to 15 digits is stored as that number. */
static void test_decimals_as_they_are_read(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int decimals = 1; decimals <= 15; decimals++) {
        double value[MOST];
        uint64_t most = 1, largest = 0, least = UINT64_MAX;
        for (int d = 0; d < decimals; d++)
            most *= 10;
        for (int i = 0; i < MOST; i++) {
            char text[40];
            uint64_t whole = naive_random(&seed) % most;
            whole += i == 7 && whole % 10 == 0;
            largest = whole > largest ? whole : largest;
            least = whole < least ? whole : least;
            snprintf(text, sizeof text, "%jue-%d", (uintmax_t)whole, decimals);
            value[i] = strtod(text, NULL);
        }
        struct packed_group g = choose(value, MOST);
        assert_int_equal(g.value_form, PACKED_WHOLE);
        assert_int_equal(g.decimals, decimals);
        assert_int_equal(g.least, least);
        assert_int_equal(g.value_bits, 64 - __builtin_clzll(largest - least));
    }
}

/* Any bits at all come back, in groups of any size. */
static void test_arbitrary_bits(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (uint32_t count = 1; count <= MOST; count++) {
        double value[MOST];
        int zeros = (int)(naive_random(&seed) % 60);
        for (uint32_t i = 0; i < count; i++)
            value[i] = from_bits(naive_random(&seed) >> zeros << zeros);
        choose(value, count);
        for (uint32_t i = 0; i < count; i++)
            value[i] = (double)(int64_t)(naive_random(&seed) >> zeros) / 64 - 1000;
        choose(value, count);
    }
}

/* Which values a file may have depends on what its header announces. */
static void test_first_bad(void **state)
{
    (void)state;
    static const double odd[] = {NAN, 0, -0.0, INFINITY, -INFINITY};
    for (int o = 0; o < 5; o++)
        for (int may = 0; may < 4; may++) {
            const struct value_kinds kinds = {.unknown = may & 1, .zeros = may & 2};
            double value[] = {1, -2, odd[o], 3, odd[o]};
            const bool good = o == 0 ? kinds.unknown : o < 3 ? kinds.zeros : false;
            assert_int_equal(value_codec_first_bad(value, 5, kinds), good ? 5 : 2);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_the_odd_one),
        cmocka_unit_test(test_decimals_as_they_are_read),
        cmocka_unit_test(test_arbitrary_bits),
        cmocka_unit_test(test_first_bad),
    };
    return cmocka_run_group_tests_name("values", tests, NULL, NULL);
}
