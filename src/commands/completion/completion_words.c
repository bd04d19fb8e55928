#include <ctype.h>
#include <string.h>

#include "commands/completion/completion.h"
#include "generate/generate.h"

/* The words that the arguments of these options may be. */
static const struct {
    const char *option, *words;
    bool list;
} known[] = {
    {"accelerate", "auto off momentum", false},
    {"backend", "auto cuda host", false},
    {"conflict", "auto ordered hierarchical register atomic", false},
    {"precision", "double single auto", false},
    {"sharing", "auto off", false},
    {"on", "gpus processors", false},
    {"header", "none dims sptensor", false},
    {"init", "random normal nvecs", false},
    {"format", "text npy ktns", true},
};

static void add_word(struct completion *c, const char *word, size_t length)
{
    const size_t used = strlen(c->words);
    if (used + length + 2 <= sizeof c->words)
        snprintf(c->words + used, sizeof c->words - used, "%s%.*s", used ? " " : "", (int)length,
                 word);
}

/* Of an argument such as N|all|LIST, the words that are no names in capitals. */
static void add_alternatives(struct completion *c, const char *argument)
{
    for (const char *word = argument; strchr(argument, '|') && *word;) {
        const size_t length = strcspn(word, "|");
        if (!isupper((unsigned char)*word))
            add_word(c, word, length);
        word += length + (word[length] == '|');
    }
}

bool completion_of(struct completion *c, const struct cli_option *option)
{
    if (!option->argument || cli_after_sign(option))
        return false;
    *c = (struct completion){.files = strcmp(option->argument, "FILE") == 0,
                             .mode_files = strcmp(option->argument, "MODE=FILE") == 0,
                             .models = strcmp(option->argument, "STEM") == 0 ||
                                       strcmp(option->argument, "START") == 0,
                             .folders = strcmp(option->argument, "DIR") == 0};
    add_alternatives(c, option->argument);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(option->name, known[i].option) == 0) {
            add_word(c, known[i].words, strlen(known[i].words));
            c->list = known[i].list;
        }
    if (strcmp(option->name, "preset") == 0)
        for (const struct generate_preset *p = generate_presets; p->name; p++)
            add_word(c, p->name, strlen(p->name));
    return true;
}
