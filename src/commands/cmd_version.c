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
    struct cmd_common common;
    int first;
    cmd_common_init(&common);
    if (cli_parse(argc, argv, cmd_version_sections, cmd_common_set, &common, &first, error) !=
            STATUS_OK ||
        cmd_common_answered(&common, cmd_version_help))
        return (int)error->status;
    common.version = cli_no_operand(argc, argv, first, error) == STATUS_OK;
    cmd_common_answered(&common, cmd_version_help);
    return (int)error->status;
}
