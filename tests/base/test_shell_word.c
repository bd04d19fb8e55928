/* Words of command lines, quoted for a shell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/shell_word.h"

static void quotes_what_a_shell_would_change(void **state)
{
    (void)state;
    static const char *const words[][2] = {
        {"a/b-c_1.tns.gz", "a/b-c_1.tns.gz"},
        {"--tol=1e-9", "--tol=1e-9"},
        {"user,item", "user,item"},
        {"", "''"},
        {"=ls", "'=ls'"},
        {"a b", "'a b'"},
        {"~", "'~'"},
        {"{a,b}", "'{a,b}'"},
        {"$(touch x)`y`\"!*?[#\\", "'$(touch x)`y`\"!*?[#\\'"},
        {"a';touch x;',b", "'a'\\'';touch x;'\\'',b'"},
        {"Größe", "'Größe'"},
        {"it's\n1\x1b\xff\xe2\x80\xae\\", "$'it\\'s\\0121\\033\\377\\342\\200\\256\\\\'"},
    };
    char word[SHELL_WORD_ROOM(64)];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        assert_string_equal(shell_word(words[i][0], word, sizeof word), words[i][1]);
}

/* bash reads the word of what can be shown, and that of all bytes, as the text that it was. */
static void a_shell_reads_the_text(void **state)
{
    (void)state;
    static const int range[][2] = {{' ', 126}, {1, 255}};
    for (int i = 0; i < 2; i++) {
        char text[256] = "", word[SHELL_WORD_ROOM(sizeof text)], line[sizeof word + 16];
        char read[sizeof text + 1];
        const size_t length = (size_t)(range[i][1] - range[i][0] + 1);
        for (int c = range[i][0]; c <= range[i][1]; c++)
            text[c - range[i][0]] = (char)c;
        snprintf(line, sizeof line, "printf %%s %s", shell_word(text, word, sizeof word));
        setenv("LINE", line, 1);
        FILE *shell = popen("exec bash -c \"$LINE\"", "r");
        assert_non_null(shell);
        assert_int_equal(fread(read, 1, sizeof read, shell), length);
        assert_int_equal(pclose(shell), 0);
        assert_memory_equal(read, text, length);
    }
}

static void a_word_without_room_is_left_out(void **state)
{
    (void)state;
    char word[SHELL_WORD_ROOM(3)];
    assert_string_equal(shell_word("'''", word, sizeof word), "''\\'''\\'''\\'''");
    assert_string_equal(shell_word("aaaa", word, sizeof word), "...");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotes_what_a_shell_would_change),
        cmocka_unit_test(a_shell_reads_the_text),
        cmocka_unit_test(a_word_without_room_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
