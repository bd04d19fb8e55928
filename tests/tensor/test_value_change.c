/* Values that are changed: by the formula, whatever the pieces; unknown entries and zeros stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "tensor/value_change.h"

/* 3 x 2: slice 1 of mode 1 has two nonzeros, slice 2 one, slice 3 none. */
static uint32_t first[] = {0, 0, 1, 1, 2}, second[] = {0, 1, 0, 1, 0};
static const double before[] = {1, -0.5, 8, NAN, 0};

static struct coo tensor(double value[5])
{
    memcpy(value, before, sizeof before);
    return (struct coo){.shape = {2, {3, 2}}, .nnz = 5, .index = {first, second}, .value = value};
}

static void assert_values(const double *value, const double *expected)
{
    for (int i = 0; i < 5; i++)
        assert_true(isnan(expected[i]) ? isnan(value[i])
                                       : fabs(value[i] - expected[i]) <= 1e-15 * fabs(expected[i]));
}

static void test_formulas(void **state)
{
    (void)state;
    const struct {
        struct value_rule rule;
        double expected[5];
    } cases[] = {
        {{VALUES_AS_THEY_ARE, 0}, {1, -0.5, 8, NAN, 0}},
        {{VALUES_LOG1P, 0}, {log(2), log(0.5), log(9), NAN, 0}},
        {{VALUES_BINARY, 0}, {1, 1, 1, NAN, 0}},
        {{VALUES_TFIDF, 0}, {1, -0.5, 8 * (1 + log(2)), NAN, 0}},
        {{VALUES_TFIDF, 1}, {1, -0.5 * (1 + log(2)), 8, NAN, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error error = {0};
        double value[5];
        struct coo x = tensor(value);
        assert_int_equal(value_change_all(&cases[i].rule, &x, &error), STATUS_OK);
        assert_values(value, cases[i].expected);
    }
}

/* Two pieces, the second with indices that begin at 1, as the parts of ranks have. */
static void test_pieces(void **state)
{
    (void)state;
    const struct value_rule rule = {VALUES_TFIDF, 0};
    double value[5], whole[5];
    uint32_t from_one[] = {0, 0, 1};
    struct coo x = tensor(whole), all = tensor(value);
    struct coo piece[] = {all, all};
    const uint64_t begin[] = {1, 0};
    struct value_change c;
    struct error error = {0};
    piece[0].nnz = 2;
    piece[1].nnz = 3;
    piece[1].index[0] = from_one;
    piece[1].index[1] = second + 2;
    piece[1].value = value + 2;
    assert_int_equal(value_change_begin(&c, &rule, &x.shape, &error), STATUS_OK);
    value_change_count(&c, &piece[0], NULL);
    value_change_count(&c, &piece[1], begin);
    value_change_weigh(&c);
    assert_int_equal(value_change_apply(&c, &piece[0], NULL, &error), STATUS_OK);
    assert_int_equal(value_change_apply(&c, &piece[1], begin, &error), STATUS_OK);
    value_change_free(&c);
    assert_int_equal(value_change_all(&rule, &x, &error), STATUS_OK);
    assert_values(value, whole);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct value_rule log_rule = {VALUES_LOG1P, 0}, mode = {VALUES_TFIDF, 2},
                                   idf = {VALUES_TFIDF, 0};
    struct error error = {0};
    double value[5];
    struct coo x = tensor(value);
    value[1] = -1;
    value[2] = -7;
    assert_int_equal(value_change_all(&log_rule, &x, &error), STATUS_INPUT);
    assert_string_equal(error.message, "--values log1p: a value of -1, expected values above -1");
    error = (struct error){0};
    assert_int_equal(value_change_all(&mode, &x, &error), STATUS_INPUT);
    assert_string_equal(error.message, "--values tfidf:3: expected a mode from 1 to 2");
    error = (struct error){0};
    value[2] = 1.7e308;
    assert_int_equal(value_change_all(&idf, &x, &error), STATUS_INPUT);
    assert_string_equal(error.message, "--values: a value of 1.7e+308 becomes too large");
    error = (struct error){0};
    memory_hook_set(0);
    assert_int_equal(value_change_all(&idf, &x, &error), STATUS_MEMORY);
    memory_hook_set(-1);
}

static void test_texts(void **state)
{
    (void)state;
    char text[VALUE_RULE_TEXT];
    assert_string_equal(value_rule_text(&(struct value_rule){VALUES_TFIDF, 15}, text), "tfidf:16");
    assert_string_equal(value_rule_text(&(struct value_rule){VALUES_LOG1P, 0}, text), "log1p");
    assert_string_equal(value_rule_text(&(struct value_rule){VALUES_BINARY, 0}, text), "binary");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formulas), cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_texts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
