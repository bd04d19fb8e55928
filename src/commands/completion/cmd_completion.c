/* blco completion: scripts by which shells complete command lines of blco. */
#include "commands/cmd.h"

#include "commands/options/cmd_common.h"
#include "commands/completion/completion.h"

static const struct cli_section sections[] = {{"General", cmd_plain_options}, {NULL, NULL}};

enum { JSON = 3 };
static const struct word shells[] = {
    {"bash", 0}, {"fish", 1}, {"zsh", 2}, {"json", JSON}, {NULL, 0}};

static int run_command(int argc, char **argv, struct error *error)
{
    static void (*const print[])(FILE *) = {completion_bash, completion_fish, completion_zsh};
    struct cli_line line = {.argc = argc, .argv = argv};
    struct cmd_common common = {0};
    const char *shell = NULL;
    int choice;
    if (!cmd_parse(&line, &cmd_completion, &common, error))
        return (int)error->status;
    if (cli_single_operand(&line, "shell", &shell, error) != STATUS_OK)
        return (int)error->status;
    if (cli_choice("shell", shell, shells, &choice, error) != STATUS_OK)
        return (int)error->status;
    if (choice == JSON)
        return (int)completion_json(stdout, error);
    print[choice](stdout);
    return (int)error->status;
}

const struct command cmd_completion = {
    .name = "completion",
    .summary = "print a script by which a shell completes command lines",
    .usage =
        "Usage: blco completion bash|fish|zsh|json\n\nPrints a script that completes command lines "
        "of blco in this shell; make\ninstall puts it where the shell finds it. For the "
        "current shell only:\nsource <(blco completion bash). json: the commands and their "
        "options, for\nprograms. More in blco(1).\n",
    .sections = sections,
    .run = run_command,
    .words = shells,
};
