#include "base/shell_word.h"

#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@%+-,="

/* Bytes that cannot be shown are octal numbers. */
static char *put_escaped(const char *text, char *to)
{
    to = stpcpy(to, "$'");
    while (*text) {
        const size_t length = printable_length(text);
        if (length == 0) {
            to += sprintf(to, "\\%03o", (unsigned char)*text++);
            continue;
        }
        if (*text == '\'' || *text == '\\')
            *to++ = '\\';
        to = mempcpy(to, text, length);
        text += length;
    }
    return stpcpy(to, "'");
}

const char *shell_word(const char *text, char *word, size_t size)
{
    const char *shown = text;
    if (SHELL_WORD_ROOM(strlen(text)) > size) {
        snprintf(word, size, "...");
        return word;
    }
    if (*text && *text != '=' && text[strspn(text, PLAIN)] == '\0') /* zsh expands =ls */
        return strcpy(word, text);
    for (size_t length; *shown && (length = printable_length(shown)) > 0; shown += length) {
    }
    if (*shown) {
        put_escaped(text, word);
        return word;
    }
    char *to = stpcpy(word, "'");
    for (; *text; text++)
        if (*text == '\'')
            to = stpcpy(to, "'\\''");
        else
            *to++ = *text;
    strcpy(to, "'");
    return word;
}
