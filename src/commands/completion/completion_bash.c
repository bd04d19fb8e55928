#include "commands/command_table.h"
#include "commands/completion/completion.h"

static const char helpers[] =
    "# Words of the list $2 that begin with $1; with a third argument, also after a comma, where\n"
    "# they do not stand before it.\n"
    "_blco_words() {\n"
    "    local before='' words=$2 word\n"
    "    if [[ -n ${3-} && $1 == *,* ]]; then\n"
    "        before=${1%,*}, words=''\n"
    "        for word in $2; do\n"
    "            [[ ,$before == *,\"$word\",* ]] || words+=\" $word\"\n"
    "        done\n"
    "    fi\n"
    "    mapfile -t COMPREPLY < <(compgen -P \"$before\" -W \"$words\" -- "
    "\"${1#\"$before\"}\")\n"
    "}\n"
    "\n"
    "# Folders, and files whose names begin with $1 and end in one of the others; any where there "
    "is "
    "none.\n"
    "# With ktns also the stems of models.\n"
    "_blco_files() {\n"
    "    local name ending word=$1\n"
    "    shift\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    while IFS= read -r name; do\n"
    "        [[ $# -eq 0 || -d $name ]] && COMPREPLY+=(\"$name\") && continue\n"
    "        for ending in \"$@\"; do\n"
    "            [[ $name == *.\"$ending\" ]] && COMPREPLY+=(\"$name\") && break\n"
    "            [[ $ending == ktns && $name == \"$word\"*.mode1.@(mat|npy) ]] &&\n"
    "                COMPREPLY+=(\"${name%.mode1.*}\")\n"
    "        done\n"
    "    done < <(compgen -f -- \"$word\")\n"
    "}\n"
    "\n"
    "# Words of the list $2 that begin with $1, beside what was found before.\n"
    "_blco_more() {\n"
    "    local found\n"
    "    mapfile -t found < <(compgen -W \"$2\" -- \"$1\")\n"
    "    COMPREPLY+=(\"${found[@]}\")\n"
    "}\n"
    "\n"
    "_blco_folders() {\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    mapfile -t COMPREPLY < <(compgen -d -- \"$1\")\n"
    "}\n";

static const char beginning[] =
    "_blco() {\n"
    "    local word=${COMP_WORDS[COMP_CWORD]} previous='' sign=''\n"
    "    local command='' options='' endings='' i\n"
    "    COMPREPLY=()\n"
    "    # bash takes --option=word and MODE=FILE,MODE=FILE apart at each sign\n"
    "    i=$((COMP_CWORD - 1))\n"
    "    [[ $word == = ]] && word='' && i=$COMP_CWORD\n"
    "    [[ ${COMP_WORDS[i]} == = ]] && sign=1\n"
    "    while [[ ${COMP_WORDS[i]} == = && ${COMP_WORDS[i - 1]} != -* ]]; do\n"
    "        i=$((i - 2))\n"
    "    done\n"
    "    [[ ${COMP_WORDS[i]} == = ]] && i=$((i - 1))\n"
    "    previous=${COMP_WORDS[i]}\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        [[ ${COMP_WORDS[i]} == -* ]] || { command=${COMP_WORDS[i]} && break; }\n"
    "    done\n"
    "    case $command in\n";

static void print_commands(FILE *stream)
{
    for (const struct command *const *c = command_table; *c; c++)
        fprintf(stream, "%s ", (*c)->name);
}

/* "-r | --rank" or "--tol", the names of an option in a pattern. */
static void print_pattern(FILE *stream, const struct cli_option *o)
{
    fprintf(stream, "        ");
    if (o->letter)
        fprintf(stream, "-%c | ", o->letter);
    fprintf(stream, "%s) ", o->name);
}

/* What may follow an option that takes an argument. */
static void print_argument(FILE *stream, const struct cli_option *o)
{
    struct completion c;
    if (!completion_of(&c, o))
        return;
    print_pattern(stream, o);
    if (c.files)
        fprintf(stream, "_blco_files \"$word\"; ");
    if (c.mode_files)
        fprintf(stream, "[[ $sign ]] && _blco_files \"$word\"; ");
    if (c.models)
        fprintf(stream, "_blco_files \"$word\" ktns; ");
    if (c.folders)
        fprintf(stream, "_blco_folders \"$word\"; ");
    if (c.words[0])
        fprintf(stream, "%s \"$word\" '%s'%s; ", c.files || c.models ? "_blco_more" : "_blco_words",
                c.words, c.list ? " list" : "");
    fprintf(stream, "return ;;\n");
}

static void print_command(FILE *stream, const struct command *command)
{
    char words[COMPLETION_ROOM];
    fprintf(stream, "    %s)\n        case $previous in\n", command->name);
    for (const struct cli_section *s = command->sections; s->title; s++)
        for (const struct cli_option *o = s->options; o->name; o++)
            print_argument(stream, o);
    fprintf(stream, "        esac\n        options='");
    for (const struct cli_section *s = command->sections; s->title; s++)
        for (const struct cli_option *o = s->options; o->name; o++)
            fprintf(stream, "%s ", o->name);
    fprintf(stream, "'\n        endings='%s'\n", command->operands ? command->operands : "");
    if (command->words)
        fprintf(stream, "        [[ $word != -* ]] && _blco_words \"$word\" '%s' && return\n",
                completion_words(words, command->words));
    fprintf(stream, "        ;;\n");
}

void completion_bash(FILE *stream)
{
    fprintf(stream, "# Completion of blco for bash; printed by: blco completion bash\n\n%s\n%s",
            helpers, beginning);
    fprintf(stream, "    '' | help)\n        options='");
    print_commands(stream);
    fprintf(stream, "'\n        [[ $command ]] || options+='help --help --version'\n"
                    "        _blco_words \"$word\" \"$options\"\n        return\n        ;;\n");
    for (const struct command *const *c = command_table; *c; c++)
        print_command(stream, *c);
    fprintf(stream, "    esac\n"
                    "    if [[ $word == -* ]]; then\n"
                    "        _blco_words \"$word\" \"$options\"\n"
                    "    elif [[ $endings ]]; then\n"
                    "        # shellcheck disable=SC2086 # the endings are split at their spaces\n"
                    "        _blco_files \"$word\" $endings\n"
                    "    fi\n"
                    "}\n"
                    "complete -F _blco blco\n");
}
