/* The syntax of the command line: option tables, which are both parsed and printed as help, and
 * numbers, sizes, lists and names that are read whole or refused. */
#ifndef BLCO_CLI_H
#define BLCO_CLI_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

struct cli_option {
    const char *name;     /* long name; NULL ends a table                                        */
    int key;              /* the short letter, or CLI_KEY_LONG or more for an option without one */
    const char *argument; /* the name of the argument in the help; NULL: takes none; in brackets:
                           * may be left out, and is a list of whole numbers, or, where the name
                           * begins with "=", a word that follows this sign                      */
    const char *help;     /* text lines, each but the last ended by a newline                    */
};

struct cli_section {
    const char *title; /* in the help; NULL ends a list of sections */
    const struct cli_option *options;
};

enum {
    CLI_KEY_HELP = 'h',
    CLI_KEY_VERSION = 'V',
    CLI_KEY_LONG = 1000 /* the first key of options without a short letter */
};

/* Takes one option for cli_parse. `text` is the argument, NULL for an option without argument.
 * STATUS_INPUT if the argument is wrong. */
typedef enum status (*cli_setter)(void *settings, int key, const char *text, struct error *error);

/* Parses argv by the sections (GNU style: options and operands in any order). Calls `set` for each
 * option, in order, up to --help or --version. Without these two the operands then stand in
 * argv[*first..argc). STATUS_INPUT, with the hint of cli_hint, and what `set` fails with. */
enum status cli_parse(int argc, char **argv, const struct cli_section *sections, cli_setter set,
                      void *settings, int *first, struct error *error);

/* Puts "; try blco COMMAND --help" after the message of an error of usage, which is one of
 * STATUS_INPUT, before any file is read; argv[0] is the name of the command. Returns
 * error->status. */
enum status cli_hint(char *const *argv, struct error *error);

/* Sets *operand to the one operand in argv[first..argc). `what` names it in the message.
 * STATUS_INPUT, with the hint, if there is none or more than one. */
enum status cli_single_operand(int argc, char **argv, int first, const char *what,
                               const char **operand, struct error *error);

/* Sets the two operands; `what` names both in the message, name[] each. Errors alike. */
enum status cli_two_operands(int argc, char **argv, int first, const char *what,
                             const char *const name[2], const char *operand[2],
                             struct error *error);

/* Refuses operands. Errors alike. */
enum status cli_no_operand(int argc, char **argv, int first, struct error *error);

/* Prints the sections with their options. */
void cli_help(FILE *stream, const struct cli_section *sections);

/* Prints the options of these names, which NULL ends, under one title. */
void cli_help_some(FILE *stream, const char *title, const struct cli_section *sections,
                   const char *const *names);

/* Whether the argument of an option, if it takes one, only follows the sign "=". */
bool cli_after_sign(const struct cli_option *option);

/* Each of these reads all of `text`, or fails with STATUS_INPUT and says what is wrong with the
 * argument of `option`. */
enum status cli_unsigned(const char *option, const char *text, uint64_t least, uint64_t most,
                         uint64_t *value, struct error *error);
enum status cli_nonnegative(const char *option, const char *text, double *value,
                            struct error *error);
/* The name of a file or folder; the second takes no "-", where that would not be a standard stream.
 */
enum status cli_name(const char *option, const char *text, const char **name, struct error *error);
enum status cli_file(const char *option, const char *text, const char **name, struct error *error);
/* A time as 90s, 10m or 3h50m: numbers with the units d, h, m and s, each at most once, larger
 * units first; more than 0. */
enum status cli_duration(const char *option, const char *text, double *seconds,
                         struct error *error);
enum status cli_size(const char *option, const char *text, uint64_t *bytes, struct error *error);

/* The same for lengths of modes. `lengths` has room for MAX_ORDER of them. */
enum status cli_lengths(const char *option, const char *text, uint64_t *lengths, int *count,
                        struct error *error);

/* The same for a grid of ranks, as 2x2x1: the number of ranges of each mode, of which there are
 * *count. `parts` has room for MAX_ORDER of them; their product is MAX_RANKS at most. */
enum status cli_grid(const char *option, const char *text, int *parts, int *count,
                     struct error *error);

/* Sets *choice to the place of `text` in `names`, which NULL ends. STATUS_INPUT if it is not there.
 */
enum status cli_choice(const char *option, const char *text, const char *const *names, int *choice,
                       struct error *error);

/* The entry of names[0..count) that is nearest to `word`, or NULL if none is near. */
const char *cli_nearest(const char *word, const char *const *names, int count);

#endif
