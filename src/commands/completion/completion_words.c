#include <ctype.h>
#include <string.h>

#include "commands/completion/completion.h"

static void add_word(struct completion *c, const char *word, size_t length)
{
    const size_t used = strlen(c->words);
    if (used + length + 2 <= sizeof c->words)
        snprintf(c->words + used, sizeof c->words - used, "%s%.*s", used ? " " : "", (int)length,
                 word);
}

/* Adds the words of an argument such as N|all|LIST that are not names in capitals. */
static void add_alternatives(struct completion *c, const char *argument)
{
    for (const char *word = argument; strchr(argument, '|') && *word;) {
        const size_t length = strcspn(word, "|");
        if (!isupper((unsigned char)*word))
            add_word(c, word, length);
        word += length + (word[length] == '|');
    }
}

const char *completion_words(char list[COMPLETION_ROOM], const struct word *words)
{
    list[0] = '\0';
    words_list(list, COMPLETION_ROOM, words, " ", " ");
    return list;
}

bool completion_of(struct completion *c, const struct cli_option *option)
{
    if (!option->argument || cli_after_sign(option))
        return false;
    *c = (struct completion){.files = strcmp(option->argument, "FILE") == 0,
                             .mode_files = strcmp(option->argument, "MODE=FILE") == 0,
                             .models = strcmp(option->argument, "STEM") == 0 ||
                                       strcmp(option->argument, "START") == 0,
                             .folders = strcmp(option->argument, "DIR") == 0,
                             .list = option->words && strcmp(option->argument, "LIST") == 0};
    add_alternatives(c, option->argument);
    if (option->words)
        completion_words(c->words, option->words);
    for (int i = 0; option->name_at && option->name_at(i); i++)
        add_word(c, option->name_at(i), strlen(option->name_at(i)));
    return true;
}

bool completion_models(const char *endings)
{
    return strncmp(endings, "ktns", strlen("ktns")) == 0;
}
