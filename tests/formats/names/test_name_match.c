/* Which index is which, by names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "formats/names/name_match.h"

/* Names of modes and of their indices, "mode:a b c, mode: ..."; a mode without a colon has none. */
static struct labels labels_from(const char *text)
{
    struct labels l = {0};
    struct error error = {0};
    char *copy = strdup(text), *rest = copy;
    for (char *mode; (mode = strsep(&rest, ","));) {
        char *names = strchr(mode, ':');
        mode_names_set(&l.modes, l.order, mode, names ? (size_t)(names - mode) : strlen(mode),
                       &error);
        for (char *name; names && (name = strsep(&names, " :"));)
            if (*name && name != mode)
                name_table_append(&l.mode[l.order].names, (struct name){name, strlen(name)},
                                  &error);
        l.order++;
    }
    free(copy);
    assert_int_equal(error.status, STATUS_OK);
    return l;
}

/* Matches two sides; *text = the match, or the message. */
static void match(const char *a, const char *b, enum match how, char *text, size_t size)
{
    struct labels x = labels_from(a), y = labels_from(b);
    const struct named_side model = {"A", &x}, tensor = {"B", &y};
    struct name_match m;
    struct error error = {0};
    if (name_match_find(&m, &model, &tensor, x.order, how, &error) != STATUS_OK) {
        snprintf(text, size, "%.*s", (int)size - 1, error.message);
    } else {
        size_t used = 0;
        for (int n = 0; n < m.order; n++) {
            used +=
                (size_t)snprintf(text + used, size - used, "%s%d:", n > 0 ? " " : "", m.mode[n]);
            for (uint64_t i = 0; m.index[n] && i < m.count[n]; i++)
                used += (size_t)(m.index[n][i] == NO_INDEX
                                     ? snprintf(text + used, size - used, "-")
                                     : snprintf(text + used, size - used, "%u", m.index[n][i]));
            if (m.index[n])
                used += (size_t)snprintf(text + used, size - used, "(%ju,%ju)",
                                         (uintmax_t)m.only_a[n], (uintmax_t)m.only_b[n]);
        }
    }
    name_match_free(&m);
    labels_free(&x);
    labels_free(&y);
}

static void test_matches(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        enum match how;
        const char *expected;
    } rows[] = {
        {"u:a b c,i:x y", "u:a b c,i:x y", MATCH_NAMES, "0: 1:"},
        {"u:a b c,i:x y", "u:c a b,i:x y", MATCH_NAMES, "0:201(0,0) 1:"},
        {"u:a b c,i:x y", "i:y x,u:a b c", MATCH_NAMES, "1: 0:10(0,0)"},
        {"u:a b c,i:x y", "u:d c,i:x", MATCH_NAMES, "0:-2(2,1) 1:0(1,0)"},
        {":a b,i:x", "i:b a,:x", MATCH_NAMES, "0:10(0,0) 1:"}, /* not all modes have names */
        {"u,i:x y", "u,i:y x", MATCH_NAMES, "0: 1:10(0,0)"},
        {"u:a a,i:x", "u:a a,i:x", MATCH_NAMES, "0: 1:"}, /* alike, but the same */
        {"u:a b", "v:b c", MATCH_INDEX, "0:"},
        {"v,v:x y", "v,v:y x", MATCH_NAMES, "0: 1:10(0,0)"}, /* modes of one name stay */
        {"u:a b c", "u:c a", MATCH_ALL, "0:20(1,0)"},
        {"u:a b c", "u:c d", MATCH_ALL, "B: mode 1: the name 'd', expected one that A has"},
        {"u:a b,i", "i,w:a b", MATCH_NAMES,
         "B: no mode is named 'u', as mode 1 of A is (--match index: modes and indices agree)"},
        {"u:a b", "u", MATCH_NAMES,
         "B: no names of the indices of mode 1, which A has: expected a .map file (--match index: "
         "indices agree)"},
        {"u", "u:a", MATCH_NAMES,
         "A: no names of the indices of mode 1, which B has: expected a .map file (--match index: "
         "indices agree)"},
        {"u:a b a", "u:a b", MATCH_NAMES,
         "A: mode 1: indices 1 and 3 have the name 'a': names do not tell which index is which "
         "(--match index: they agree)"},
        {"u:a b", "u:b b", MATCH_NAMES,
         "B: mode 1: indices 1 and 2 have the name 'b': names do not tell which index is which "
         "(--match index: they agree)"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[512];
        match(rows[i].a, rows[i].b, rows[i].how, text, sizeof text);
        assert_string_equal(text, rows[i].expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_matches)};
    return cmocka_run_group_tests_name("matching names", tests, NULL, NULL);
}
