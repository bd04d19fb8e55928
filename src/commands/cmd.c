#include "commands/cmd.h"

#include <string.h>

#define MAX_COMMANDS 32 /* of the table */

const struct command *const command_table[] = {
    &cmd_cpd,        &cmd_top,     &cmd_predict, &cmd_compare,  &cmd_report,
    &cmd_info,       &cmd_convert, &cmd_bench,   &cmd_generate, &cmd_selftest,
    &cmd_completion, &cmd_version, NULL};

void command_usage(FILE *stream)
{
    fprintf(stream, "blco decomposes large sparse tensors.\n\n"
                    "Usage: blco COMMAND [OPTION]... ARGUMENT...\n\nCommands:\n");
    for (const struct command *const *c = command_table; *c; c++)
        fprintf(stream, "  %-10s %s\n", (*c)->name, (*c)->summary);
    fprintf(stream, "  %-10s %s\n\n", "help", "print a command's help");
    fprintf(stream, "blco help COMMAND explains a command.\n");
}

const struct command *command_find(const char *name, struct error *error)
{
    const char *names[MAX_COMMANDS] = {"help"};
    int count = 1;
    for (const struct command *const *c = command_table; *c && count < MAX_COMMANDS; c++) {
        names[count++] = (*c)->name;
        if (strcmp(name, (*c)->name) == 0)
            return *c;
    }
    const char *nearest = cli_nearest(name, names, count);
    if (nearest)
        error_set(error, STATUS_INPUT, "unknown command '%s' (did you mean '%s'?); try blco --help",
                  name, nearest);
    else
        error_set(error, STATUS_INPUT, "unknown command '%s'; try blco --help", name);
    return NULL;
}
