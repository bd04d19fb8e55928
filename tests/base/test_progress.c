#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/progress.h"

/* What a stream shows that is taken for a terminal, or is not. The caller frees the text. */
static char *shown(bool terminal)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    struct progress p;
    progress_init(&p, stream, PROGRESS_AUTO);
    assert_false(p.terminal);
    p.terminal = terminal;
    progress_stage(&p, "reading %s", "x.tns");
    progress_update(&p, 0.25, "%d MB", 3);
    progress_update(&p, 0.5, "%d MB", 6); /* too early to be shown */
    progress_note(&p, "%d duplicates", 7);
    progress_done(&p, "%d entries", 12);
    progress_stage(&p, "building");
    progress_update(&p, -1, "block %d", 1);
    progress_clear(&p);
    progress_clear(&p);
    fclose(stream);
    return text;
}

static void plain_lines_elsewhere(void **state)
{
    (void)state;
    char *text = shown(false);
    assert_string_equal(text, "7 duplicates\nreading x.tns: 12 entries\n");
    free(text);
}

static void one_line_on_a_terminal(void **state)
{
    (void)state;
    char *text = shown(true);
    assert_string_equal(text, "\r\033[Kreading x.tns"
                              "\r\033[Kreading x.tns: 3 MB, 25 %, 0 s left"
                              "\r\033[K7 duplicates\nreading x.tns: 12 entries\n"
                              "\r\033[Kbuilding"
                              "\r\033[Kbuilding: block 1"
                              "\r\033[K");
    free(text);
}

static void long_lines_are_cut(void **state)
{
    (void)state;
    char *text = NULL, name[200];
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    struct progress p;
    progress_init(&p, stream, PROGRESS_AUTO);
    p.terminal = true;
    progress_stage(&p, "reading %s", name);
    progress_update(&p, -1, "%s", name);
    fclose(stream);
    const char *last = strrchr(text, 'K') + 1;
    assert_int_equal(strlen(last), 79);
    free(text);
}

/* On a terminal a text line ends with a whole character; nowhere is a control character left. */
static void control_characters_are_escaped(void **state)
{
    (void)state;
    for (int terminal = 0; terminal < 2; terminal++) {
        char *text = NULL;
        size_t size;
        FILE *stream = open_memstream(&text, &size);
        assert_non_null(stream);
        struct progress p;
        progress_init(&p, stream, PROGRESS_AUTO);
        p.terminal = terminal;
        progress_stage(&p, "reading %s", "a\n\x1b[2J");
        progress_note(&p, "%s", "b\xff");
        progress_done(&p, "%s", "c\tä");
        fclose(stream);
        assert_string_equal(text +
                                (terminal ? strlen("\r\033[Kreading a\\x0a\\x1b[2J\r\033[K") : 0),
                            "b\\xff\nreading a\\x0a\\x1b[2J: c\\x09ä\n");
        free(text);
    }
}

/* What a stage of 1000 steps of a second each shows elsewhere than on a terminal, 1000 of 4000
 * steps done before. The caller frees the text. */
static char *long_stage(enum progress_kind kind)
{
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    struct progress p;
    progress_init(&p, stream, kind);
    for (int stage = 0; stage < 2; stage++) {
        progress_stage(&p, "stage %d", stage);
        progress_skip(&p, 0.25);
        for (int step = 1001; step <= 4000; step++) {
            p.stage_start -= 1; /* as if a second had passed */
            progress_update(&p, step / 4000., "step %d", step);
        }
    }
    progress_stage(&p, "unknown");
    p.stage_start -= 11;
    progress_update(&p, -1, "sorting");
    progress_done(&p, "done");
    fclose(stream);
    return text;
}

static void long_stages_show_lines(void **state)
{
    (void)state;
#define STAGE(number)                                                                              \
    number ": step 1010, 50 min left\n" number ": step 1030, 50 min left\n" number                 \
           ": step 1070, 49 min left\n" number ": step 1150, 48 min left\n" number                 \
           ": step 1310, 45 min left\n" number ": step 1630, 40 min left\n" number                 \
           ": step 2230, 30 min left\n" number ": step 2830, 20 min left\n" number                 \
           ": step 3430, 10 min left\n"
    for (int kind = PROGRESS_AUTO; kind <= PROGRESS_LINES; kind++) {
        char *text = long_stage((enum progress_kind)kind);
        assert_string_equal(text, STAGE("stage 0") STAGE("stage 1") "unknown: sorting\n"
                                                                    "unknown: done\n");
        free(text);
    }
    char *text = long_stage(PROGRESS_NEVER);
    assert_string_equal(text, "unknown: done\n");
    free(text);
}

/* A line that is late moves no later one, and is not made up for by several. */
static void late_updates_show_one_line(void **state)
{
    (void)state;
    char *text = NULL;
    size_t size;
    FILE *stream = open_memstream(&text, &size);
    assert_non_null(stream);
    struct progress p;
    progress_init(&p, stream, PROGRESS_AUTO);
    progress_stage(&p, "stage");
    p.stage_start -= 100;
    for (int i = 0; i < 3; i++)
        progress_update(&p, -1, "late");
    p.stage_start -= 49;
    progress_update(&p, -1, "early");
    p.stage_start -= 2;
    progress_update(&p, -1, "in time");
    fclose(stream);
    assert_string_equal(text, "stage: late\nstage: in time\n");
    free(text);
}

static void quiet_shows_nothing(void **state)
{
    (void)state;
    struct progress quiet;
    progress_init(&quiet, NULL, PROGRESS_AUTO);
    struct progress *none[] = {&quiet, NULL};
    for (int i = 0; i < 2; i++) {
        progress_stage(none[i], "reading");
        progress_update(none[i], 0.5, "half");
        progress_note(none[i], "note");
        progress_done(none[i], "done");
        progress_clear(none[i]);
    }
    assert_false(quiet.open);
}

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
        assert_int_equal(progress_rewrites(terminal), cases[i].rewrites);
        assert_false(progress_rewrites(file));
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(long_stages_show_lines), cmocka_unit_test(late_updates_show_one_line),
        cmocka_unit_test(plain_lines_elsewhere),  cmocka_unit_test(one_line_on_a_terminal),
        cmocka_unit_test(long_lines_are_cut),     cmocka_unit_test(control_characters_are_escaped),
        cmocka_unit_test(quiet_shows_nothing),    cmocka_unit_test(kinds_of_terminals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
