/* blco completion: what shells need to complete command lines of blco. */
#include "commands/cmd.h"

#include <ctype.h>
#include <glob.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"
#include "commands/options/cmd_common.h"

/* --- the words that may stand at the end of a command line --- */

#define ROOM 8192 /* of a word */

/* The word at the end of the line: text[0..head) stays, what is offered begins with the rest. */
struct last_word {
    char text[ROOM];
    size_t head;
    size_t hidden; /* text[0..hidden) is not printed: to the shell these are other words */
};

static bool begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

/* Offers text[0..length) if it begins as the word does. Line ends of the help become spaces. */
static void offer(const struct last_word *w, const char *text, size_t length, const char *help)
{
    const char *tail = w->text + w->head;
    const size_t hidden = w->hidden > w->head ? w->hidden - w->head : 0; /* of the text */
    if (length < strlen(tail) || !begins_with(text, tail))
        return;
    if (w->hidden < w->head)
        printf("%.*s", (int)(w->head - w->hidden), w->text + w->hidden);
    printf("%.*s%s", (int)(length - hidden), text + hidden, help ? "\t" : "");
    for (; help && *help; help++)
        putchar(*help == '\n' ? ' ' : *help);
    putchar('\n');
}

/* Offers a word of a list unless it stands before the last comma. */
static void offer_listed(const struct last_word *w, size_t list, const char *word)
{
    const size_t length = strlen(word);
    for (const char *at = w->text + list; at < w->text + w->head; at += strcspn(at, ",") + 1)
        if (begins_with(at, word) && at[length] == ',')
            return;
    offer(w, word, length, NULL);
}

/* Whether the name of a file has one of the endings, with spaces between them. */
static bool has_ending(const char *name, const char *endings)
{
    for (const char *e = endings; *e; e += strcspn(e, " "), e += *e == ' ') {
        char ending[32];
        snprintf(ending, sizeof ending, ".%.*s", (int)strcspn(e, " "), e);
        if (cmd_ends_in(name, strlen(name), ending))
            return true;
    }
    return false;
}

/* Offers files that begin as the word does: folders, and those that have one of the endings (NULL:
 * any), with ktns also the stems of models; hidden ones only after a point. "~/" is the folder
 * HOME.
 */
static void offer_files(const struct last_word *w, const char *endings)
{
    static const char *const models[] = {".mode1.mat", ".mode1.npy", ".mode1.csv"};
    const char *tail = w->text + w->head, *slash = strrchr(tail, '/'), *home = getenv("HOME");
    const bool at_home = home && begins_with(tail, "~/");
    char path[PATH_MAX + ROOM], pattern[2 * sizeof path + 2] = "", *end = pattern;
    glob_t found = {0};
    snprintf(path, sizeof path, "%s%s", at_home ? home : "", tail + at_home);
    for (const char *c = path; *c; c++) { /* every character but a slash stands for itself */
        *end = '\\';
        end += *c != '/';
        *end++ = *c;
    }
    *end = '*';
    glob(pattern, GLOB_MARK, NULL, &found); /* folders end in "/" */
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char *last = found.gl_pathv[i], name[sizeof path]; /* the folder as typed, and the file */
        for (char *c = last; *c && c[1]; c++)
            last = *c == '/' ? c + 1 : last;
        snprintf(name, sizeof name, "%.*s%s", slash ? (int)(slash + 1 - tail) : 0, tail, last);
        const size_t length = strlen(name);
        if (strcmp(last, "./") == 0 || strcmp(last, "../") == 0 || strpbrk(name, "\n\t"))
            continue;
        if (!endings || name[length - 1] == '/' || has_ending(name, endings))
            offer(w, name, length, NULL);
        for (size_t k = 0; endings && strstr(endings, "ktns") && k < 3; k++)
            if (cmd_ends_in(name, length, models[k]))
                offer(w, name, length - strlen(models[k]), NULL);
    }
    globfree(&found);
}

/* Offers what may be the argument of the option, which begins at w->head. */
static void offer_argument(struct last_word *w, const struct cli_option *o)
{
    const char *argument = o->argument;
    const size_t begin = w->head;
    const bool list = o->words && strcmp(argument, "LIST") == 0;
    const char *before = strrchr(w->text + begin, strcmp(argument, "MODE=FILE") == 0 ? '=' : ',');
    if (list && before)
        w->head = (size_t)(before - w->text) + 1;
    for (const struct word *word = o->words; word && word->text; word++)
        offer_listed(w, begin, word->text);
    for (int i = 0; o->name_at && o->name_at(i); i++)
        offer(w, o->name_at(i), strlen(o->name_at(i)), NULL);
    /* of N|all|LIST, the words that are not names in capitals */
    for (const char *word = argument; !o->words && strchr(argument, '|') && *word;) {
        const size_t length = strcspn(word, "|");
        if (!isupper((unsigned char)*word))
            offer(w, word, length, NULL);
        word += length + (word[length] == '|');
    }
    if (strcmp(argument, "FILE") == 0)
        offer_files(w, NULL);
    else if (strcmp(argument, "STEM") == 0 || strcmp(argument, "START") == 0)
        offer_files(w, "ktns");
    else if (strcmp(argument, "DIR") == 0)
        offer_files(w, "");
    else if (strcmp(argument, "MODE=FILE") == 0 && before) {
        w->head = (size_t)(before - w->text) + 1;
        offer_files(w, NULL);
    }
}

/* The option of this name or letter, if it takes the next word as its argument. */
static const struct cli_option *find_option(const struct command *command, const char *name,
                                            size_t length)
{
    for (const struct cli_section *s = command->sections; s->title; s++)
        for (const struct cli_option *o = s->options; o->name; o++) {
            const bool letter = length == 2 && name[0] == '-' && name[1] == o->letter;
            if (letter || (strlen(o->name) == length && begins_with(name, o->name)))
                return o->argument && !cli_after_sign(o) ? o : NULL;
        }
    return NULL;
}

/* `previous` is the word before the last one. */
static void offer_of_command(struct last_word *w, const struct command *command,
                             const char *previous)
{
    const char *sign = begins_with(w->text, "--") ? strchr(w->text, '=') : NULL;
    const char *name = sign ? w->text : previous;
    const struct cli_option *o =
        find_option(command, name, sign ? (size_t)(sign - name) : strlen(name));
    char help[CLI_HELP_ROOM];
    if (sign)
        w->head = (size_t)(sign - w->text) + 1;
    if (o)
        offer_argument(w, o);
    else if (w->text[0] == '-' && !sign)
        for (const struct cli_section *s = command->sections; s->title; s++)
            for (const struct cli_option *p = s->options; p->name; p++)
                offer(w, p->name, strlen(p->name), cli_help_text(p, help));
    else if (command->words)
        for (const struct word *word = command->words; word->text; word++)
            offer(w, word->text, strlen(word->text), NULL);
    else if (command->operands && !sign)
        offer_files(w, command->operands);
}

/* Prints what may stand in place of the last of words[0..count), which follow `blco` on a command
 * line: a text line for each, with a tab and what it means where there is such. File names are
 * offered as they are, folders with "/" at the end. A shell may pass --name=word in one word, or as
 * bash does in three; then only what follows the sign is printed. */
static void print_words(int count, char **words)
{
    struct last_word w = {.head = 0};
    int before = count > 0 ? count - 1 : 0; /* words before the last one */
    const char *name = NULL;
    /* Words with a sign "=" between them are one. */
    while (before > 0 && (strcmp(words[before], "=") == 0 || strcmp(words[before - 1], "=") == 0))
        before--;
    for (int i = before; i < count; i++) {
        const size_t used = strlen(w.text);
        if (i == count - 1 && i > before)
            w.hidden = used + (strcmp(words[i], "=") == 0);
        snprintf(w.text + used, ROOM - used, "%s", words[i]);
    }
    for (int i = 0; i < before && !name; i++)
        if (words[i][0] && words[i][0] != '-')
            name = words[i];
    if (!name || strcmp(name, "help") == 0)
        for (const struct command *const *c = command_table; *c; c++)
            offer(&w, (*c)->name, strlen((*c)->name), (*c)->summary);
    if (!name)
        offer(&w, "help", strlen("help"), "print the help of a command");
    if (!name && w.text[0] == '-') {
        offer(&w, "--help", strlen("--help"), "print the usage");
        offer(&w, "--version", strlen("--version"), "print the version");
    }
    for (const struct command *const *c = command_table; name && *c; c++)
        if (strcmp((*c)->name, name) == 0)
            offer_of_command(&w, *c, words[before - 1]);
}

/* --- the table of commands as JSON --- */

/* What the argument of an option is. */
static const char *kind_of(const struct cli_option *o)
{
    static const char *const kinds[CLI_IS_WORDS + 1] = {
        [CLI_IS_UNSIGNED] = "integer", [CLI_IS_INT] = "integer",       [CLI_IS_NUMBER] = "number",
        [CLI_IS_SIZE] = "size",        [CLI_IS_DURATION] = "duration", [CLI_IS_CHOICE] = "word",
        [CLI_IS_WORD] = "word",        [CLI_IS_WORDS] = "words"};
    return !o->argument ? "flag" : kinds[o->kind] ? kinds[o->kind] : "text";
}

static void put_option(struct json *j, const char *section, const struct cli_option *o)
{
    char help[CLI_HELP_ROOM], letter[] = {(char)o->letter, '\0'};
    json_put_object(j, NULL);
    json_put_string(j, "name", o->name + 2);
    json_put_string(j, "section", section);
    json_put_bool(j, "used_most", o->used_most);
    json_put_string(j, "letter", o->letter ? letter : NULL);
    json_put_string(j, "kind", kind_of(o));
    json_put_string(j, "argument", o->argument);
    json_put_string(j, "default", o->initial);
    if (o->words) {
        json_put_array(j, "words");
        for (const struct word *w = o->words; w->text; w++)
            json_put_string(j, NULL, w->text);
        json_end(j);
    }
    json_put_string(j, "help", cli_help_text(o, help));
    json_end(j);
}

/* Prints the commands and their options as JSON, as blco(1) describes. STATUS_MEMORY. */
static enum status print_json(struct error *error)
{
    struct json j;
    json_begin(&j, error);
    json_put_object(&j, NULL);
    json_put_string(&j, "version", version_number);
    json_put_array(&j, "commands");
    for (const struct command *const *c = command_table; *c; c++) {
        json_put_object(&j, NULL);
        json_put_string(&j, "name", (*c)->name);
        json_put_string(&j, "summary", (*c)->summary);
        json_put_array(&j, "options");
        for (const struct cli_section *s = (*c)->sections; s->title; s++)
            for (const struct cli_option *o = s->options; o->name; o++)
                put_option(&j, s->title, o);
        json_end(&j);
        json_end(&j);
    }
    json_end(&j);
    json_end(&j);
    return cmd_print_json(&j);
}

/* --- the command --- */

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

static enum status run(void *settings, const struct cli_line *line, struct error *error)
{
    int choice;
    (void)settings;
    if (line->argc > 1 && strcmp(line->argv[1], cmd_completion.verbatim) == 0) {
        print_words(line->argc - 2, line->argv + 2);
        return STATUS_OK;
    }
    TRY(cli_single_operand(line, "shell", error));
    TRY(cli_choice("shell", line->operand[0], shells, &choice, error));
    if (choice == JSON)
        return print_json(error);
    fputs(scripts[choice], stdout);
    return STATUS_OK;
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
    .settings = sizeof(struct cmd_common),
    .run = run,
    .verbatim = "words",
    .words = shells,
};
