/* The arguments of options. Each macro of the first part is the second half of a row: it says what
 * the argument is and which member of the settings it goes to, as in
 *
 *     {"--iters", 'i', "N", "at most N iterations ({default})",
 *      CLI_INT(struct cpd_settings, iterations, 1, MAX_ITERATIONS), .initial = "50"}
 *
 * A member of another type does not compile. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "commands/options/cli.h"

#define CLI_OFFSET(type, owner, member)                                                            \
    _Generic(&((owner *)0)->member, type * : offsetof(owner, member))
#define CLI_KIND(which, type, owner, member)                                                       \
    .set = cli_set_kind, .kind = (which), .at = CLI_OFFSET(type, owner, member)

/* No argument: true once given. */
#define CLI_FLAG(owner, member) CLI_KIND(CLI_IS_FLAG, bool, owner, member)
/* A whole number from `low` to `high`. */
#define CLI_UNSIGNED(owner, member, low, high)                                                     \
    CLI_KIND(CLI_IS_UNSIGNED, uint64_t, owner, member), .least = (low), .most = (high)
#define CLI_INT(owner, member, low, high)                                                          \
    CLI_KIND(CLI_IS_INT, int, owner, member), .least = (low), .most = (high)
/* A number of 0 or more. */
#define CLI_NUMBER(owner, member) CLI_KIND(CLI_IS_NUMBER, double, owner, member)
/* Bytes, as 500M or 16G (uint64_t). */
#define CLI_SIZE(owner, member) CLI_KIND(CLI_IS_SIZE, uint64_t, owner, member)
/* A time as 90s, 10m or 3h50m, in seconds (double): numbers with the units d, h, m and s, each at
 * most once, larger units first; more than 0. */
#define CLI_DURATION(owner, member) CLI_KIND(CLI_IS_DURATION, double, owner, member)
/* Any text; a name that is not empty; the same, but not "-" (const char *, borrowed). */
#define CLI_TEXT(owner, member) CLI_KIND(CLI_IS_TEXT, const char *, owner, member)
#define CLI_NAME(owner, member) CLI_KIND(CLI_IS_NAME, const char *, owner, member)
#define CLI_FILE(owner, member) CLI_KIND(CLI_IS_FILE, const char *, owner, member)
/* One of the words: its value (an enum), or itself (const char *). */
#define CLI_CHOICE(owner, member, table)                                                           \
    .set = cli_set_kind, .kind = CLI_IS_CHOICE, .words = (table),                                  \
    .at = offsetof(owner, member) + 0 / (sizeof(((owner *)0)->member) == sizeof(int))
#define CLI_WORD(owner, member, table)                                                             \
    CLI_KIND(CLI_IS_WORD, const char *, owner, member), .words = (table)
/* Several of the words, separated by commas: their values are bits (unsigned). */
#define CLI_WORDS(owner, member, table)                                                            \
    CLI_KIND(CLI_IS_WORDS, unsigned, owner, member), .words = (table)
/* An argument that a setter of the command's own reads, into a member or into the settings. */
#define CLI_OWN(setter, type, owner, member) .set = (setter), .at = CLI_OFFSET(type, owner, member)
#define CLI_SETTINGS(setter)                 .set = (setter), .at = 0

/* Beside one of these: where the name of the option goes once it is given (const char *). */
#define CLI_GIVEN(owner, member) .given = CLI_OFFSET(const char *, owner, member)

/* Reads an argument of any kind but CLI_IS_OWN. */
cli_setter cli_set_kind;

/* For setters of a command's own. Each reads all of `text`, or fails with STATUS_INPUT and says
 * what is wrong with the argument of `option`. */
enum status cli_unsigned(const char *option, const char *text, uint64_t least, uint64_t most,
                         uint64_t *value, struct error *error);
enum status cli_nonnegative(const char *option, const char *text, double *value,
                            struct error *error);
enum status cli_size(const char *option, const char *text, uint64_t *bytes, struct error *error);
enum status cli_duration(const char *option, const char *text, double *seconds,
                         struct error *error);
enum status cli_choice(const char *option, const char *text, const struct word *words, int *value,
                       struct error *error);

/* Reads lengths of modes, as 4,5,6 or 4x5x6; 0 where `-` leaves one out, as in -,5,6. `lengths` has
 * room for MAX_ORDER of them. */
enum status cli_lengths(const char *option, const char *text, uint64_t *lengths, int *count,
                        struct error *error);

/* Reads a grid of ranks, as 2x2x1: the number of ranges of each of *count modes. `parts` has room
 * for MAX_ORDER numbers; their product is MAX_RANKS at most. */
enum status cli_grid(const char *option, const char *text, int *parts, int *count,
                     struct error *error);

/* Lists of modes on the command line. Modes count from 1 there, from 0 in arrays. Each function
 * reads all of `text`, or fails with STATUS_INPUT and says what is wrong with the argument of
 * `option`. *most becomes the largest mode that `text` names, unless it is larger already. */

/* Sets the flags (MAX_ORDER) of the modes that `text` lists as 1,3; none of these is set before. */
enum status cli_modes(const char *option, const char *text, bool *flag, int *most,
                      struct error *error);

/* Sets value (MAX_ORDER), numbers of 0 or more: all of them to the number that `text` is, or those
 * of the modes that `text` lists as 1=0.5,3=0. These modes are added to `listed` (MAX_ORDER), which
 * a number alone empties. */
enum status cli_mode_numbers(const char *option, const char *text, double *value, bool *listed,
                             int *most, struct error *error);
