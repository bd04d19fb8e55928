#include "base/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *word_of(const struct word *words, int value)
{
    while (words->text && words->value != value)
        words++;
    return words->text;
}

bool word_find(const struct word *words, const char *text, size_t length, int *value)
{
    for (; words->text; words++)
        if (strlen(words->text) == length && memcmp(text, words->text, length) == 0) {
            *value = words->value;
            return true;
        }
    return false;
}

void words_append(char *list, size_t size, const char *format, ...)
{
    const size_t used = strlen(list);
    va_list args;
    va_start(args, format);
    vsnprintf(list + used, size - used, format, args);
    va_end(args);
}

void words_list(char *list, size_t size, const struct word *words, const char *between,
                const char *last)
{
    for (int i = 0; words[i].text; i++)
        words_append(list, size, "%s%s",
                     i == 0              ? ""
                     : words[i + 1].text ? between
                                         : last,
                     words[i].text);
}
