/* The commands of the program, in one table: what main.c dispatches to, what the usage lists, and
 * what completion in shells knows. */
#ifndef BLCO_COMMAND_TABLE_H
#define BLCO_COMMAND_TABLE_H

#include <stdio.h>

#include "commands/options/cmd_common.h"

extern const struct command *const command_table[]; /* NULL ends it */

#define MAX_COMMANDS 32 /* of the table */

/* The command of this name. NULL, and STATUS_INPUT with the nearest name, where there is none. */
const struct command *command_find(const char *name, struct error *error);

/* Prints what `blco --help` prints. */
void command_usage(FILE *stream);

#endif
