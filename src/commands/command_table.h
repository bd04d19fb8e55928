/* The commands of the program, in one table: what main.c dispatches to, what the usage lists, and
 * what completion in shells knows. */
#ifndef BLCO_COMMAND_TABLE_H
#define BLCO_COMMAND_TABLE_H

#include <stdbool.h>
#include <stdio.h>

#include "commands/options/cli.h"

struct command {
    const char *name; /* NULL ends the table                                               */
    const char *summary;
    void (*help)(FILE *stream);
    int (*run)(int argc, char **argv, struct error *error);
    const struct cli_section *sections; /* its options                                        */
    const char *operands; /* how the names of its files end, as "tns blco"; NULL: it takes none */
    const char *words;    /* what its operand may be; NULL: no operand is one of some words   */
    bool together;        /* the processes that a launcher has started work on one task       */
};

extern const struct command command_table[];

#define MAX_COMMANDS 32 /* of the table */

/* The command of this name. NULL, and STATUS_INPUT with the nearest name, where there is none. */
const struct command *command_find(const char *name, struct error *error);

/* Prints what `blco --help` prints. */
void command_usage(FILE *stream);

#endif
