/* The command line: tables of options, each declared once in a row, which is parsed, printed as
 * help, completed in shells and compared among processes. cli_values.h has the kinds of rows. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/words.h"

struct cli_option;

/* Takes the argument `text` of an option, NULL without argument, into the value at `to`.
 * STATUS_INPUT, with the name of the option, where the argument is wrong. */
typedef enum status cli_setter(const struct cli_option *o, void *to, const char *text,
                               struct error *error);

/* What the argument of an option is (cli_values.h). */
enum cli_kind {
    CLI_IS_OWN, /* what a setter of the command's own reads */
    CLI_IS_FLAG,
    CLI_IS_UNSIGNED,
    CLI_IS_INT,
    CLI_IS_NUMBER,
    CLI_IS_SIZE,
    CLI_IS_DURATION,
    CLI_IS_TEXT,
    CLI_IS_NAME,
    CLI_IS_FILE,
    CLI_IS_CHOICE,
    CLI_IS_WORD,
    CLI_IS_WORDS
};

/* A row of a table. `at` and `given` are offsets in the settings of the command, which begin as
 * zeros. */
struct cli_option {
    const char *name; /* "--rank"; NULL ends a table */
    int letter;       /* 'r' of -r; 0: none          */

    /* The name of the argument in the help; NULL: the option takes none. In brackets: it may be
     * left out, and is a list of whole numbers, or, where the name begins with "=", a word that
     * follows this sign. */
    const char *argument;

    /* Text lines, each but the last ended by a newline. {default} stands for `initial`, {words} for
     * the words, as "a, b or c". */
    const char *help;

    cli_setter *set;
    enum cli_kind kind;
    size_t at;                     /* of the value                                              */
    const char *initial;           /* the default, as an argument; NULL: zero                   */
    uint64_t least, most;          /* of a whole number                                         */
    const struct word *words;      /* that the argument may be, or NULL                         */
    const char *(*name_at)(int i); /* other names for completion: the i-th; NULL after the last */
    const char *needs;    /* "--ranks or --grid": without one of these it is refused            */
    const char *excludes; /* "--ranks --grid": beside one of these it is refused                */
    size_t given;    /* of a const char *, set to the name of an option that is given; 0: none  */
    bool ends;       /* nothing after this option is parsed                                     */
    bool used_most;  /* shown in the short help of a command that has many options              */
    bool may_differ; /* between processes that work together: it concerns the process alone     */
};

struct cli_section {
    const char *title; /* in the help; NULL ends a list of sections */
    const struct cli_option *options;
};

/* What a command was called with. */
struct cli_line {
    int argc;
    char **argv;            /* argv[0] is the name of the command; argv[argc] is NULL; borrowed */
    int operands;           /* how many there are, once the line is parsed                      */
    const char *operand[2]; /* the first ones                                                   */
};

/* Fills the settings: the defaults of the sections, then the options of the command line (GNU
 * style: options and operands in any order), up to --help or --version. Without these two the
 * operands of the line are set as well, and options that need or exclude others are compared with
 * these. STATUS_INPUT, with the hint of cli_hint. */
enum status cli_parse(struct cli_line *line, const struct cli_section *sections, void *settings,
                      struct error *error);

/* The same with `take` in place of the setters and without the defaults. */
typedef enum status cli_taker(void *context, const struct cli_option *o, const char *text,
                              struct error *error);
enum status cli_each(struct cli_line *line, const struct cli_section *sections, cli_taker *take,
                     void *context, struct error *error);

/* Appends "; try blco COMMAND --help" to an error of STATUS_INPUT. For errors of usage, before any
 * file is read. Returns error->status. */
enum status cli_hint(const struct cli_line *line, struct error *error);

/* Expects one operand, which `what` names in the message. STATUS_INPUT, with the hint, if there is
 * none or more than one, or it is empty. */
enum status cli_single_operand(const struct cli_line *line, const char *what, struct error *error);

/* Expects two operands; `what` names both in the message, `first` and `second` each. Errors alike.
 */
enum status cli_two_operands(const struct cli_line *line, const char *what, const char *first,
                             const char *second, struct error *error);

/* Refuses operands. Errors alike. */
enum status cli_no_operand(const struct cli_line *line, struct error *error);

/* Prints the sections with their options; or, under the title `used_most` unless that is NULL, only
 * the options that are used most. */
void cli_help(FILE *stream, const struct cli_section *sections, const char *used_most);

#define CLI_HELP_ROOM 512

/* The help of an option, with its default and its words filled in. */
const char *cli_help_text(const struct cli_option *o, char text[CLI_HELP_ROOM]);

/* Whether the argument of an option, if it takes one, only follows the sign "=". */
bool cli_after_sign(const struct cli_option *o);

/* The entry of names[0..count) that is nearest to `word`, or NULL if none is near. */
const char *cli_nearest(const char *word, const char *const *names, int count);
