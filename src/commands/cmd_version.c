/* blco version: which blco this is. */
#include "commands/cmd.h"

#include "commands/options/cmd_common.h"

static const struct cli_section sections[] = {{"General", cmd_general_options}, {NULL, NULL}};

static enum status run(void *settings, const struct cli_line *line, struct error *error)
{
    struct cmd_common *common = settings;
    common->version = cli_no_operand(line, error) == STATUS_OK;
    cmd_answered(&cmd_version, common);
    return error->status;
}

const struct command cmd_version = {
    .name = "version",
    .summary = "print the version",
    .usage = "Usage: blco version [OPTION]...\n\n"
             "Prints the version and the commit of blco, as blco --version does.\n",
    .sections = sections,
    .settings = sizeof(struct cmd_common),
    .run = run,
};
