/* The commands of the program. Implemented in cmd.c, and in cmd_*.c, a file for each command. */
#pragma once

#include <stdio.h>

#include "commands/options/cmd_common.h"

extern const struct command cmd_cpd, cmd_top, cmd_predict, cmd_compare, cmd_report, cmd_info,
    cmd_convert, cmd_bench, cmd_generate, cmd_selftest, cmd_completion, cmd_version;

/* All of them in one table, which NULL ends: what main.c dispatches to, what the usage lists, and
 * what completion in shells knows. */
extern const struct command *const command_table[];

/* The command of this name. NULL, and STATUS_INPUT with the nearest name, where there is none. */
const struct command *command_find(const char *name, struct error *error);

/* Prints what `blco --help` prints. */
void command_usage(FILE *stream);
