/* Words that stand for values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/words.h"

static const struct word words[] = {{"one", 1}, {"two", 2}, {"minus", -1}, {NULL, 0}};

static void finds_words_and_values(void **state)
{
    (void)state;
    int value = 7;
    assert_string_equal(word_of(words, -1), "minus");
    assert_null(word_of(words, 0));
    assert_true(word_find(words, "two,one", 3, &value));
    assert_int_equal(value, 2);
    assert_false(word_find(words, "two", 2, &value));
    assert_false(word_find(words, "twos", 4, &value));
    assert_false(word_find(words, "Two", 3, &value));
    assert_false(word_find(words, "", 0, &value));
    assert_int_equal(value, 2);
}

static void lists_words(void **state)
{
    (void)state;
    char list[32] = "expected ", small[8] = "", one[8] = "";
    words_list(list, sizeof list, words, ", ", " or ");
    assert_string_equal(list, "expected one, two or minus");
    words_list(small, sizeof small, words, ", ", ", ");
    assert_string_equal(small, "one, tw");
    words_list(one, sizeof one, words + 2, ", ", " or ");
    assert_string_equal(one, "minus");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_words_and_values),
        cmocka_unit_test(lists_words),
    };
    return cmocka_run_group_tests_name("words", tests, NULL, NULL);
}
