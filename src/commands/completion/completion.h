/* Completion in shells: scripts that are printed from the table of commands and their options; and
 * the table itself, for programs. Implemented in completion_bash.c, completion_fish.c,
 * completion_zsh.c, completion_json.c and completion_words.c. */
#ifndef BLCO_COMPLETION_H
#define BLCO_COMPLETION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/error.h"
#include "commands/options/cli.h"

/* Prints a script that completes command lines of blco: a function for bash 4 or later; rules for
 * fish, to stand in a file blco.fish; a function for zsh's own completion, to stand in a file
 * _blco. */
void completion_bash(FILE *stream);
void completion_fish(FILE *stream);
void completion_zsh(FILE *stream);

/* Prints the commands and their options as JSON, as blco(1) describes. STATUS_MEMORY. */
enum status completion_json(FILE *stream, struct error *error);

#define COMPLETION_ROOM 512 /* of a list of words */

/* What the argument of an option may be. */
struct completion {
    char words[COMPLETION_ROOM]; /* separated by spaces; empty where any text will do */
    bool list;                   /* several of the words, separated by commas         */
    bool files, folders;         /* the name of a file; of a folder                   */
    bool models;                 /* the stem of a model, or a .ktns file              */
    bool mode_files;             /* MODE=FILE: the name of a file after a sign        */
};

/* The words in `list`, with spaces between them. */
const char *completion_words(char list[COMPLETION_ROOM], const struct word *words);

/* *c = what the argument of the option may be. Returns whether the option takes one as the next
 * word. */
bool completion_of(struct completion *c, const struct cli_option *option);

/* Whether an operand with one of these endings may be a model, which is also named by its stem. */
bool completion_models(const char *endings);

#endif
