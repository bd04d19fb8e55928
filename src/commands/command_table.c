#include "commands/command_table.h"

#include <string.h>

#include "commands/cmd.h"

#define TENSORS "tns tns.gz blco"

const struct command command_table[] = {
    {"cpd", "decompose a sparse tensor by CP-ALS", cmd_cpd_help, cmd_cpd, cmd_cpd_sections, TENSORS,
     NULL, true},
    {"top", "show the strongest entries of each component of a model", cmd_top_help, cmd_top,
     cmd_top_sections, "ktns", NULL, false},
    {"compare", "say how alike two models are", cmd_compare_help, cmd_compare, cmd_compare_sections,
     "ktns", NULL, false},
    {"report", "write a page about a model", cmd_report_help, cmd_report, cmd_report_sections,
     "ktns", NULL, false},
    {"info", "say what is in a tensor file, and what decomposing it takes", cmd_info_help, cmd_info,
     cmd_info_sections, TENSORS, NULL, false},
    {"convert", "write a tensor file as another kind of tensor file", cmd_convert_help, cmd_convert,
     cmd_convert_sections, TENSORS, NULL, false},
    {"bench", "measure MTTKRP and ALS against what the machine can do", cmd_bench_help, cmd_bench,
     cmd_bench_sections, TENSORS, NULL, false},
    {"generate", "make a synthetic tensor", cmd_generate_help, cmd_generate, cmd_generate_sections,
     TENSORS, NULL, false},
    {"selftest", "check known answers on every backend and device of this machine",
     cmd_selftest_help, cmd_selftest, cmd_selftest_sections, NULL, NULL, true},
    {"completion", "print a script by which a shell completes command lines", cmd_completion_help,
     cmd_completion, cmd_completion_sections, NULL, "bash fish zsh", false},
    {"version", "print the version", cmd_version_help, cmd_version, cmd_version_sections, NULL,
     NULL, false},
    {NULL, NULL, NULL, NULL, NULL, NULL, NULL, false},
};

void command_usage(FILE *stream)
{
    fprintf(stream, "blco decomposes large sparse tensors.\n\n"
                    "Usage: blco COMMAND [OPTION]... ARGUMENT...\n\nCommands:\n");
    for (const struct command *c = command_table; c->name; c++)
        fprintf(stream, "  %-10s %s\n", c->name, c->summary);
    fprintf(stream, "  %-10s %s\n\n", "help", "print a command's help");
    fprintf(stream, "blco help COMMAND explains a command.\n");
}

const struct command *command_find(const char *name, struct error *error)
{
    const char *names[MAX_COMMANDS] = {"help"};
    int count = 1;
    for (const struct command *c = command_table; c->name && count < MAX_COMMANDS; c++) {
        names[count++] = c->name;
        if (strcmp(name, c->name) == 0)
            return c;
    }
    const char *nearest = cli_nearest(name, names, count);
    if (nearest)
        error_set(error, STATUS_INPUT, "unknown command '%s' (did you mean '%s'?); try blco --help",
                  name, nearest);
    else
        error_set(error, STATUS_INPUT, "unknown command '%s'; try blco --help", name);
    return NULL;
}
