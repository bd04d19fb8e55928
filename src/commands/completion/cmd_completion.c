/* blco completion: what shells need to complete command lines of blco. */
#include "commands/cmd.h"

#include <string.h>

#include "commands/completion/completion.h"
#include "commands/options/cmd_common.h"

static const struct cli_section sections[] = {{"General", cmd_plain_options}, {NULL, NULL}};

static const char bash[] = "# Completion of blco for bash; printed by: blco completion bash\n"
                           "_blco() {\n"
                           "    local words=(\"${COMP_WORDS[@]:1:COMP_CWORD}\")\n"
                           "    mapfile -t COMPREPLY < <(command blco completion words "
                           "\"${words[@]//\\\\/}\" 2>/dev/null | cut -f1)\n"
                           "}\n"
                           "complete -o filenames -F _blco blco\n";

static const char fish[] = "# Completion of blco for fish; printed by: blco completion fish\n"
                           "function __blco_words\n"
                           "    set -l words (commandline -opc)\n"
                           "    set -l last (commandline -ct | string unescape)\n"
                           "    command blco completion words $words[2..-1] \"$last\" 2>/dev/null\n"
                           "end\n"
                           "complete -c blco -f -a '(__blco_words)'\n";

static const char zsh[] =
    "#compdef blco\n"
    "# Completion of blco for zsh; printed by: blco completion zsh\n"
    "_blco() {\n"
    "    local line word\n"
    "    local -a found shown folders\n"
    "    for line in \"${(@f)$(command blco completion words \"${(@Q)words[2,CURRENT-1]}\" \\\n"
    "        \"${(Q)PREFIX}\" 2>/dev/null)}\"; do\n"
    "        word=${line%%$'\\t'*}\n"
    "        [[ $word == */ ]] && folders+=(\"$word\") && continue\n"
    "        [[ $word ]] && found+=(\"$word\") && shown+=(\"${line/$'\\t'/ -- }\")\n"
    "    done\n"
    "    compadd -U -d shown -a found\n"
    "    compadd -U -S '' -a folders\n"
    "}\n"
    "_blco \"$@\"\n";

enum { BASH, FISH, ZSH, JSON };
static const char *const scripts[] = {[BASH] = bash, [FISH] = fish, [ZSH] = zsh};
static const struct word shells[] = {
    {"bash", BASH}, {"fish", FISH}, {"zsh", ZSH}, {"json", JSON}, {NULL, 0}};

static int run_command(int argc, char **argv, struct error *error)
{
    struct cli_line line = {.argc = argc, .argv = argv};
    struct cmd_common common = {0};
    const char *shell = NULL;
    int choice;
    if (argc > 1 && strcmp(argv[1], "words") == 0) { /* what follows are no options of ours */
        completion_words(stdout, argc - 2, argv + 2);
        return STATUS_OK;
    }
    if (!cmd_parse(&line, &cmd_completion, &common, error))
        return (int)error->status;
    if (cli_single_operand(&line, "shell", &shell, error) != STATUS_OK)
        return (int)error->status;
    if (cli_choice("shell", shell, shells, &choice, error) != STATUS_OK)
        return (int)error->status;
    if (choice == JSON)
        return (int)completion_json(stdout, error);
    fputs(scripts[choice], stdout);
    return (int)error->status;
}

const struct command cmd_completion = {
    .name = "completion",
    .summary = "print a script by which a shell completes command lines",
    .usage = "Usage: blco completion bash|fish|zsh|json\n"
             "       blco completion words WORD...\n\n"
             "Prints a script that completes command lines of blco in this shell; make\n"
             "install puts it where the shell finds it. For the current shell only:\n"
             "source <(blco completion bash). json: the commands and their options, for\n"
             "programs. words: what may stand in place of the last WORD of a command line,\n"
             "which the scripts ask for. More in blco(1).\n",
    .sections = sections,
    .run = run_command,
    .words = shells,
};
