#include <string.h>

#include "commands/command_table.h"
#include "commands/completion/completion.h"

static const char helpers[] =
    "# Words of the list that begin with the present one; of words with commas between, those "
    "that\n"
    "# do not stand before the last comma.\n"
    "function __blco_list\n"
    "    set -l before (string match -r -- '.*,' (commandline -ct | string replace -r '^--[^=]*=' "
    "''))\n"
    "    for word in $argv\n"
    "        string match -q -- \"*,$word,*\" \",$before\"; or echo \"$before$word\"\n"
    "    end\n"
    "end\n"
    "\n"
    "# Folders, and files whose names have one of these endings; of models also the stems.\n"
    "function __blco_files\n"
    "    set -l word (commandline -ct | string replace -r '^--[^=]*=' '')\n"
    "    set -l endings (string join '|' (string replace -a . '\\.' -- $argv))\n"
    "    __fish_complete_path $word | string match -r '.*(?:/|\\.(?:'$endings'))(?=\\t|$)'\n"
    "end\n"
    "function __blco_models\n"
    "    set -l word (commandline -ct | string replace -r '^--[^=]*=' '')\n"
    "    for name in $word*.mode1.mat $word*.mode1.npy\n"
    "        string replace -r '\\.mode1\\.(mat|npy)$' '' -- $name\n"
    "    end\n"
    "    __blco_files $argv\n"
    "end\n"
    "\n"
    "# Whether the command has not been given yet; whether it is the one of this name.\n"
    "function __blco_no_command\n"
    "    not __blco_command_word >/dev/null\n"
    "end\n"
    "function __blco_command\n"
    "    test (__blco_command_word; or echo) = $argv[1]\n"
    "end\n"
    "function __blco_command_word\n"
    "    set -l words (commandline -opc)\n"
    "    for word in $words[2..-1]\n"
    "        string match -q -- '-*' $word; or begin; echo $word; return 0; end\n"
    "    end\n"
    "    return 1\n"
    "end\n"
    "\n"
    "complete -c blco -f\n";

/* Text between single quotes, on one text line. */
static void print_quoted(FILE *stream, const char *text)
{
    fputc('\'', stream);
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            fputc('\\', stream);
        fputc(*text == '\n' ? ' ' : *text, stream);
    }
    fputc('\'', stream);
}

/* What may follow an option that takes an argument. fish itself completes files after a sign. */
static void print_argument(FILE *stream, const struct cli_option *o)
{
    struct completion c;
    if (!completion_of(&c, o))
        return;
    fprintf(stream, c.files || c.mode_files ? " -rF" : " -x");
    if (c.list)
        fprintf(stream, " -a '(__blco_list %s)'", c.words);
    else if (c.folders)
        fprintf(stream, " -a '(__fish_complete_directories (commandline -ct))'");
    else if (c.models)
        fprintf(stream, " -a '%s (__blco_models ktns)'", c.words);
    else if (c.words[0])
        fprintf(stream, " -a '%s'", c.words);
}

static void print_option(FILE *stream, const char *command, const struct cli_option *o)
{
    char help[CLI_HELP_ROOM];
    fprintf(stream, "complete -c blco -n '__blco_command %s'", command);
    if (o->letter)
        fprintf(stream, " -s %c", o->letter);
    fprintf(stream, " -l %s", o->name + 2);
    print_argument(stream, o);
    fprintf(stream, " -d ");
    print_quoted(stream, cli_help_text(o, help));
    fprintf(stream, "\n");
}

/* Files by their endings; with ktns also the stems of models. */
static void print_operands(FILE *stream, const char *command, const char *endings)
{
    fprintf(stream, "complete -c blco -n '__blco_command %s' -a '(%s %s)'\n", command,
            completion_models(endings) ? "__blco_models" : "__blco_files", endings);
}

static void print_command(FILE *stream, const struct command *command)
{
    char words[COMPLETION_ROOM];
    fprintf(stream, "\ncomplete -c blco -n __blco_no_command -a %s -d ", command->name);
    print_quoted(stream, command->summary);
    fprintf(stream, "\ncomplete -c blco -n '__blco_command help' -a %s\n", command->name);
    for (const struct cli_section *s = command->sections; s->title; s++)
        for (const struct cli_option *o = s->options; o->name; o++)
            print_option(stream, command->name, o);
    if (command->operands)
        print_operands(stream, command->name, command->operands);
    if (command->words)
        fprintf(stream, "complete -c blco -n '__blco_command %s' -a '%s'\n", command->name,
                completion_words(words, command->words));
}

void completion_fish(FILE *stream)
{
    fprintf(stream, "# Completion of blco for fish; printed by: blco completion fish\n\n%s",
            helpers);
    fprintf(stream,
            "complete -c blco -n __blco_no_command -s h -l help -d 'print the usage'\n"
            "complete -c blco -n __blco_no_command -s V -l version -d 'print the version'\n"
            "complete -c blco -n __blco_no_command -a help -d 'print the help of a command'\n");
    for (const struct command *const *c = command_table; *c; c++)
        print_command(stream, *c);
}
