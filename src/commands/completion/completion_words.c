#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "commands/command_table.h"
#include "commands/completion/completion.h"

#define ROOM 8192 /* of a word */

/* The word at the end of the line: text[0..head) stays, what is offered begins with the rest. */
struct last_word {
    FILE *stream;
    char text[ROOM];
    size_t head;
    size_t hidden; /* text[0..hidden) is not printed: to the shell these are other words */
};

static bool begins_with(const char *text, const char *beginning)
{
    return strncmp(text, beginning, strlen(beginning)) == 0;
}

static bool ends_with(const char *text, size_t length, const char *ending)
{
    const size_t size = strlen(ending);
    return length > size && memcmp(text + length - size, ending, size) == 0;
}

/* Offers text[0..length) if it begins as the word does. Of the help, line ends become spaces. */
static void offer(const struct last_word *w, const char *text, size_t length, const char *help)
{
    const char *tail = w->text + w->head;
    const size_t hidden = w->hidden > w->head ? w->hidden - w->head : 0; /* of the text */
    if (length < strlen(tail) || !begins_with(text, tail))
        return;
    if (w->hidden < w->head)
        fprintf(w->stream, "%.*s", (int)(w->head - w->hidden), w->text + w->hidden);
    fprintf(w->stream, "%.*s%s", (int)(length - hidden), text + hidden, help ? "\t" : "");
    for (; help && *help; help++)
        fputc(*help == '\n' ? ' ' : *help, w->stream);
    fputc('\n', w->stream);
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
        if (ends_with(name, strlen(name), ending))
            return true;
    }
    return false;
}

/* Offers one file: a folder, one that has one of the endings (NULL: any), with ktns also the stem
 * of a model. */
static void offer_file(const struct last_word *w, int folder, size_t folder_length,
                       const char *name, const char *endings)
{
    static const char *const models[] = {".mode1.mat", ".mode1.npy", ".mode1.csv"};
    char path[ROOM + NAME_MAX + 2];
    struct stat found;
    const int length =
        snprintf(path, sizeof path, "%.*s%s", (int)folder_length, w->text + w->head, name);
    if (fstatat(folder, name, &found, 0) == 0 && S_ISDIR(found.st_mode)) {
        strcat(path, "/");
        offer(w, path, (size_t)length + 1, NULL);
    } else if (!endings || has_ending(name, endings)) {
        offer(w, path, (size_t)length, NULL);
    }
    for (size_t i = 0; endings && has_ending("x.ktns", endings) && i < 3; i++)
        if (ends_with(path, (size_t)length, models[i]))
            offer(w, path, (size_t)length - strlen(models[i]), NULL);
}

/* Offers files by offer_file, hidden ones only after a point. "~/" is the folder HOME. */
static void offer_files(const struct last_word *w, const char *endings)
{
    const char *tail = w->text + w->head, *slash = strrchr(tail, '/'), *home = getenv("HOME");
    const size_t length = slash ? (size_t)(slash - tail) + 1 : 0;
    const bool at_home = home && begins_with(tail, "~/");
    char path[ROOM];
    snprintf(path, sizeof path, "%s%.*s",
             !length   ? "."
             : at_home ? home
                       : "",
             (int)(length - at_home), tail + at_home);
    DIR *folder = opendir(path);
    for (const struct dirent *e; folder && (e = readdir(folder));) {
        const bool hidden = e->d_name[0] == '.' && tail[length] != '.';
        if (!hidden && strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
            !strpbrk(e->d_name, "\n\t"))
            offer_file(w, dirfd(folder), length, e->d_name, endings);
    }
    if (folder)
        closedir(folder);
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

static void offer_options(const struct last_word *w, const struct command *command)
{
    char help[CLI_HELP_ROOM];
    for (const struct cli_section *s = command->sections; s->title; s++)
        for (const struct cli_option *o = s->options; o->name; o++)
            offer(w, o->name, strlen(o->name), cli_help_text(o, help));
}

static void offer_commands(const struct last_word *w)
{
    for (const struct command *const *c = command_table; *c; c++)
        offer(w, (*c)->name, strlen((*c)->name), (*c)->summary);
}

/* `previous` is the word before the last one. */
static void offer_of_command(struct last_word *w, const struct command *command,
                             const char *previous)
{
    const char *sign = begins_with(w->text, "--") ? strchr(w->text, '=') : NULL;
    const char *name = sign ? w->text : previous;
    const struct cli_option *o =
        find_option(command, name, sign ? (size_t)(sign - name) : strlen(name));
    if (sign)
        w->head = (size_t)(sign - w->text) + 1;
    if (o)
        offer_argument(w, o);
    else if (w->text[0] == '-' && !sign)
        offer_options(w, command);
    else if (command->words)
        for (const struct word *word = command->words; word->text; word++)
            offer(w, word->text, strlen(word->text), NULL);
    else if (command->operands && !sign)
        offer_files(w, command->operands);
}

/* *w = the last word, joined with those before it where a sign "=" stands between them. Returns how
 * many words are before it. */
static int join_last(struct last_word *w, int count, char **words)
{
    int first = count - 1;
    while (first > 0 && (strcmp(words[first], "=") == 0 || strcmp(words[first - 1], "=") == 0))
        first--;
    for (int i = first; i < count; i++) {
        const size_t used = strlen(w->text);
        if (i == count - 1)
            w->hidden = used + (strcmp(words[i], "=") == 0);
        snprintf(w->text + used, ROOM - used, "%s", words[i]);
    }
    if (first == count - 1)
        w->hidden = 0;
    return first;
}

void completion_words(FILE *stream, int count, char **words)
{
    struct last_word w = {.stream = stream};
    const int before = count > 0 ? join_last(&w, count, words) : 0;
    const char *name = NULL;
    for (int i = 0; i < before && !name; i++)
        if (words[i][0] && words[i][0] != '-')
            name = words[i];
    if (!name || strcmp(name, "help") == 0)
        offer_commands(&w);
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
