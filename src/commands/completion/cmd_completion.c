/* blco completion: scripts by which shells complete command lines of blco. */
#include "commands/cmd.h"

#include "commands/options/cmd_common.h"
#include "commands/completion/completion.h"

const struct cli_section cmd_completion_sections[] = {{"General", cmd_plain_options}, {NULL, NULL}};

void cmd_completion_help(FILE *stream)
{
    fprintf(stream, "Usage: blco completion bash|fish|zsh\n\n"
                    "Prints a script that completes command lines of blco in this shell; make\n"
                    "install puts it where the shell finds it. For the present shell alone:\n"
                    "source <(blco completion bash). More in blco(1).\n");
    cli_help(stream, cmd_completion_sections);
}

int cmd_completion(int argc, char **argv, struct error *error)
{
    static const char *const names[] = {"bash", "fish", "zsh", NULL};
    static void (*const print[])(FILE *) = {completion_bash, completion_fish, completion_zsh};
    struct cmd_common common;
    const char *shell = NULL;
    int first, choice = 0;
    cmd_common_init(&common);
    if (cli_parse(argc, argv, cmd_completion_sections, cmd_common_set, &common, &first, error) !=
            STATUS_OK ||
        cmd_common_answered(&common, cmd_completion_help))
        return (int)error->status;
    if (cli_single_operand(argc, argv, first, "shell", &shell, error) == STATUS_OK &&
        cli_choice("shell", shell, names, &choice, error) == STATUS_OK)
        print[choice](stdout);
    return (int)error->status;
}
