#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <fcntl.h>
#include <unistd.h>

#include "base/progress.h"
#include "base/terminal.h"

/* The master of a pseudo terminal is a terminal, too. */
static void kinds_of_terminals(void **state)
{
    (void)state;
    static const struct {
        const char *kind; /* TERM; NULL: not set */
        bool rewrites;
    } cases[] = {{"xterm", true}, {"dumb", false}, {"", false}, {NULL, false}};
    int terminal = posix_openpt(O_RDWR | O_NOCTTY), file = open("/dev/null", O_WRONLY);
    assert_true(terminal >= 0 && file >= 0);
    FILE *stream = fdopen(terminal, "w");
    assert_non_null(stream);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (cases[i].kind)
            setenv("TERM", cases[i].kind, 1);
        else
            unsetenv("TERM");
        struct progress p;
        assert_int_equal(terminal_rewrites(terminal), cases[i].rewrites);
        assert_false(terminal_rewrites(file));
        progress_init(&p, stream, PROGRESS_AUTO);
        assert_int_equal(p.terminal, cases[i].rewrites);
        progress_init(&p, stream, PROGRESS_LINES);
        assert_false(p.terminal);
        progress_init(&p, stream, PROGRESS_NEVER);
        assert_false(p.terminal);
    }
    fclose(stream);
    close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kinds_of_terminals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
