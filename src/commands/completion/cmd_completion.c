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
    static const struct word shells[] = {{"bash", 0}, {"fish", 1}, {"zsh", 2}, {NULL, 0}};
    static void (*const print[])(FILE *) = {completion_bash, completion_fish, completion_zsh};
    struct cli_line line = {.argc = argc, .argv = argv};
    struct cmd_common common = {0};
    const char *shell = NULL;
    int choice;
    if (!cmd_parse(&line, cmd_completion_sections, cmd_completion_help, &common, error))
        return (int)error->status;
    if (cli_single_operand(&line, "shell", &shell, error) != STATUS_OK)
        return (int)error->status;
    if (cli_choice("shell", shell, shells, &choice, error) == STATUS_OK)
        print[choice](stdout);
    return (int)error->status;
}
