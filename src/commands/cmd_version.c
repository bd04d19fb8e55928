/* blco version: which blco this is. */
#include "commands/cmd.h"

#include "commands/options/cmd_common.h"

const struct cli_section cmd_version_sections[] = {{"General", cmd_general_options}, {NULL, NULL}};

void cmd_version_help(FILE *stream)
{
    fprintf(stream, "Usage: blco version [OPTION]...\n\n"
                    "Prints the version and the commit of blco, as blco --version does.\n");
    cli_help(stream, cmd_version_sections);
}

int cmd_version(int argc, char **argv, struct error *error)
{
    struct cli_line line = {.argc = argc, .argv = argv};
    struct cmd_common common = {0};
    if (!cmd_parse(&line, cmd_version_sections, cmd_version_help, &common, error))
        return (int)error->status;
    common.version = cli_no_operand(&line, error) == STATUS_OK;
    cmd_common_answered(&common, cmd_version_help);
    return (int)error->status;
}
