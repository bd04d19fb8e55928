#include "base/shell_word.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

#define PLAIN "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./:@%+-,="

/* The bytes of the character at `text` if it can be shown as it is, else 0. */
static size_t shown_length(const char *text)
{
    const size_t length = utf8_length(text);
    return length > 0 && printable_as_it_is(text, length) ? length : 0;
}

/* Bytes that cannot be shown are octal numbers. */
static char *put_escaped(const char *text, char *to)
{
    to = stpcpy(to, "$'");
    while (*text) {
        const size_t length = shown_length(text);
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

const char *shell_word(const char *text, char *out, size_t size)
{
    const char *shown = text;
    if (SHELL_WORD_ROOM(strlen(text)) > size) {
        snprintf(out, size, "...");
        return out;
    }
    if (*text && *text != '=' && text[strspn(text, PLAIN)] == '\0') /* zsh expands =ls */
        return strcpy(out, text);
    for (size_t length; *shown && (length = shown_length(shown)) > 0; shown += length) {
    }
    if (*shown) {
        put_escaped(text, out);
        return out;
    }
    char *to = stpcpy(out, "'");
    for (; *text; text++)
        if (*text == '\'')
            to = stpcpy(to, "'\\''");
        else
            *to++ = *text;
    strcpy(to, "'");
    return out;
}
