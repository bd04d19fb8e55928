#include <string.h>

#include "commands/command_table.h"
#include "commands/completion/completion.h"

/* The names of the models' files without .mode1.mat. */
#define STEMS "compadd -- $PREFIX*.mode1.(mat|npy)(N\\:r\\:r)"

/* Text between single quotes, in a place where `special` are to be escaped, too. */
static void print_quoted(FILE *stream, const char *text, const char *special)
{
    for (; *text; text++) {
        if (*text == '\'')
            fprintf(stream, "'\\'");
        else if (strchr(special, *text))
            fputc('\\', stream);
        fputc(*text == '\n' ? ' ' : *text, stream);
    }
}

/* ":R:", the name of an argument and what it may be. */
static void print_argument(FILE *stream, const struct cli_option *o)
{
    struct completion c;
    if (!completion_of(&c, o))
        return;
    fprintf(stream, ":");
    print_quoted(stream, o->argument, ":");
    fprintf(stream, ":");
    if (c.list)
        fprintf(stream, "_values -s , word %s", c.words);
    else if (c.words[0] && c.models)
        fprintf(stream, "{compadd %s; " STEMS "; _path_files -/ -g \"*.ktns(-.)\"}", c.words);
    else if (c.models)
        fprintf(stream, "{" STEMS "; _path_files -/ -g \"*.ktns(-.)\"}");
    else if (c.words[0])
        fprintf(stream, "(%s)", c.words);
    else if (c.mode_files)
        fprintf(stream, "{compset -P \"*=\" && _files}");
    else if (c.files)
        fprintf(stream, "_files");
    else if (c.folders)
        fprintf(stream, "_files -/");
    else
        fprintf(stream, " ");
}

/* One specification of _arguments. */
static void print_option(FILE *stream, const struct cli_option *o)
{
    const bool takes = o->argument && !cli_after_sign(o);
    char help[CLI_HELP_ROOM];
    fprintf(stream, "            ");
    if (o->letter)
        fprintf(stream, "'(-%c %s)'{-%c%s,%s%s}'[", o->letter, o->name, o->letter, takes ? "+" : "",
                o->name, takes ? "=" : "");
    else
        fprintf(stream, "'%s%s[", o->name, takes ? "=" : "");
    print_quoted(stream, cli_help_text(o, help), "[]\\");
    fprintf(stream, "]");
    print_argument(stream, o);
    fprintf(stream, "' \\\n");
}

/* 'tns tns.gz' as _files takes it: "*.(tns|tns.gz)"; with ktns also the stems of models. */
static void print_operands(FILE *stream, const char *endings)
{
    const bool models = completion_models(endings);
    fprintf(stream, "            '*:%s -g \"*.(",
            models ? "model:{" STEMS "; _path_files -/" : "file:_files");
    for (; *endings; endings++)
        fputc(*endings == ' ' ? '|' : *endings, stream);
    fprintf(stream, ")(-.)\"%s' \\\n", models ? "}" : "");
}

static void print_command(FILE *stream, const struct command *command)
{
    char words[COMPLETION_ROOM];
    fprintf(stream, "        %s)\n            _arguments -s \\\n", command->name);
    for (const struct cli_section *s = command->sections; s->title; s++)
        for (const struct cli_option *o = s->options; o->name; o++)
            print_option(stream, o);
    if (command->operands)
        print_operands(stream, command->operands);
    if (command->words)
        fprintf(stream, "            '1:word:(%s)' \\\n", completion_words(words, command->words));
    fprintf(stream, "            && return 0\n            ;;\n");
}

void completion_zsh(FILE *stream)
{
    fprintf(stream, "#compdef blco\n"
                    "# Completion of blco for zsh; printed by: blco completion zsh\n\n"
                    "_blco() {\n"
                    "    local curcontext=$curcontext state line\n"
                    "    typeset -A opt_args\n"
                    "    local -a commands\n"
                    "    commands=(\n");
    for (const struct command *const *c = command_table; *c; c++) {
        fprintf(stream, "        '%s:", (*c)->name);
        print_quoted(stream, (*c)->summary, ":\\");
        fprintf(stream, "'\n");
    }
    fprintf(stream, "        'help:print the help of a command'\n"
                    "    )\n"
                    "    _arguments -C '(- *)'{-h,--help}'[print the usage]' \\\n"
                    "        '(- *)'{-V,--version}'[print the version]' \\\n"
                    "        '1:command:->command' '*::argument:->argument' && return 0\n"
                    "    case $state in\n"
                    "    command) _describe -t commands command commands ;;\n"
                    "    argument)\n"
                    "        case $words[1] in\n"
                    "        help) _describe -t commands command commands ;;\n");
    for (const struct command *const *c = command_table; *c; c++)
        print_command(stream, *c);
    fprintf(stream, "        esac\n"
                    "        ;;\n"
                    "    esac\n"
                    "}\n\n"
                    "_blco \"$@\"\n");
}
