/* The rows of all option tables: what follows from a row must hold for each of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "commands/cmd.h"

#define MOST_ROWS 64

/* Calls visit for each row of each command. */
static void each_row(void (*visit)(const struct command *, const struct cli_option *))
{
    for (const struct command *const *c = command_table; *c; c++)
        for (const struct cli_section *s = (*c)->sections; s->title; s++)
            for (const struct cli_option *o = s->options; o->name; o++)
                visit(*c, o);
}

/* Gives the argument to settings that have room for those of each command. */
static enum status give(const struct cli_option *o, const char *text, struct error *error)
{
    static _Alignas(max_align_t) char settings[1 << 18];
    *error = (struct error){0};
    memset(settings, 0, sizeof settings);
    return o->set(o, settings + o->at, text, error);
}

static void has_a_name_and_a_setter(const struct command *c, const struct cli_option *o)
{
    int rows = 0, same = 0;
    assert_memory_equal(o->name, "--", 2);
    assert_non_null(o->set);
    for (const struct cli_section *s = c->sections; s->title; s++)
        for (const struct cli_option *p = s->options; p->name; p++, rows++)
            same += strcmp(p->name, o->name) == 0 || (o->letter && p->letter == o->letter);
    if (same != 1 || rows > MOST_ROWS)
        fail_msg("%s %s: a name or a letter stands twice, or there are too many options", c->name,
                 o->name);
}

static void names_and_letters_are_unique(void **state)
{
    (void)state;
    each_row(has_a_name_and_a_setter);
}

static bool has_option(const struct command *c, const char *name, size_t length)
{
    for (const struct cli_section *s = c->sections; s->title; s++)
        for (const struct cli_option *o = s->options; o->name; o++)
            if (strlen(o->name) == length && strncmp(o->name, name, length) == 0)
                return true;
    return false;
}

static void names_options_of_its_command(const struct command *c, const struct cli_option *o)
{
    const char *const lists[] = {o->needs, o->excludes};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const char *at = lists[i]; at && (at = strstr(at, "--")); at += strcspn(at, " "))
            if (!has_option(c, at, strcspn(at, " ")))
                fail_msg("%s %s: has no option %s", c->name, o->name, at);
}

static void others_that_rows_name_are_there(void **state)
{
    (void)state;
    each_row(names_options_of_its_command);
}

static void takes_its_default(const struct command *c, const struct cli_option *o)
{
    struct error error;
    if (o->initial && give(o, o->initial, &error) != STATUS_OK)
        fail_msg("%s %s: %s", c->name, o->name, error.message);
}

static void defaults_are_taken(void **state)
{
    (void)state;
    each_row(takes_its_default);
}

static void fills_in_its_help(const struct command *c, const struct cli_option *o)
{
    char help[CLI_HELP_ROOM];
    cli_help_text(o, help);
    if (strchr(help, '{') || strlen(help) == sizeof help - 1)
        fail_msg("%s %s: %s", c->name, o->name, help);
    if (o->initial && !strstr(o->help, "{default}"))
        fail_msg("%s %s: the help does not tell the default", c->name, o->name);
    const bool elsewhere = strstr(help, "of blco\ncpd"); /* the help of cpd tells the words */
    for (const struct word *w = o->words; w && !elsewhere && w->text; w++)
        if (!strstr(help, w->text))
            fail_msg("%s %s: the help does not tell %s", c->name, o->name, w->text);
}

static void help_tells_the_default_and_the_words(void **state)
{
    (void)state;
    each_row(fills_in_its_help);
}

/* What is none of the words of --init is the stem of a model. */
static void takes_its_words_only(const struct command *c, const struct cli_option *o)
{
    struct error error;
    for (const struct word *w = o->words; w && w->text; w++)
        if (give(o, w->text, &error) != STATUS_OK)
            fail_msg("%s %s: %s", c->name, o->name, error.message);
    if (!o->words || strcmp(o->argument, "START") == 0)
        return;
    assert_int_equal(give(o, "none-of-these", &error), STATUS_INPUT);
    assert_memory_equal(error.message, o->name, strlen(o->name));
    for (const struct word *w = o->words; w->text; w++)
        assert_non_null(strstr(error.message, w->text));
}

static void words_are_taken(void **state)
{
    (void)state;
    each_row(takes_its_words_only);
}

/* What `blco completion words COMMAND OPTION ""` prints: a word a text line. */
static void offered_words(const char *command, const char *option, char *text, size_t room)
{
    char *words[] = {"completion", "words", (char *)command, (char *)option, "", NULL};
    struct error error = {0};
    FILE *file = tmpfile();
    assert_non_null(file);
    fflush(stdout);
    const int out = dup(STDOUT_FILENO);
    dup2(fileno(file), STDOUT_FILENO);
    cmd_run(&cmd_completion, 5, words, &error);
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    close(out);
    rewind(file);
    text[0] = '\n';
    text[1 + fread(text + 1, 1, room - 2, file)] = '\0';
    fclose(file);
    assert_int_equal(error.status, STATUS_OK);
}

static void completes_its_words(const struct command *c, const struct cli_option *o)
{
    char offered[4096], line[128];
    if (!o->words || cli_after_sign(o))
        return;
    offered_words(c->name, o->name, offered, sizeof offered);
    for (const struct word *w = o->words; w->text; w++) {
        snprintf(line, sizeof line, "\n%s\n", w->text);
        if (!strstr(offered, line))
            fail_msg("%s %s: completion does not offer %s", c->name, o->name, w->text);
    }
}

static void words_are_completed(void **state)
{
    (void)state;
    each_row(completes_its_words);
}

/* An option is one and the same in the commands that processes work on together. */
static void may_differ_everywhere(const struct command *c, const struct cli_option *o)
{
    for (const struct command *const *d = command_table; c->together && *d; d++)
        for (const struct cli_section *s = (*d)->sections; (*d)->together && s->title; s++)
            for (const struct cli_option *p = s->options; p->name; p++)
                if (strcmp(o->name, p->name) == 0 && o->may_differ != p->may_differ)
                    fail_msg("%s: may differ in %s or in %s, not in both", o->name, c->name,
                             (*d)->name);
}

static void same_options_may_differ_alike(void **state)
{
    (void)state;
    each_row(may_differ_everywhere);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_letters_are_unique),
        cmocka_unit_test(others_that_rows_name_are_there),
        cmocka_unit_test(defaults_are_taken),
        cmocka_unit_test(help_tells_the_default_and_the_words),
        cmocka_unit_test(words_are_taken),
        cmocka_unit_test(words_are_completed),
        cmocka_unit_test(same_options_may_differ_alike),
    };
    return cmocka_run_group_tests_name("cmd", tests, NULL, NULL);
}
