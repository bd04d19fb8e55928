/* Words of command lines that a user may copy from a message or a page into a shell. */
#pragma once

#include <stddef.h>

/* The most bytes that shell_word() writes for a text of so many bytes. */
#define SHELL_WORD_ROOM(bytes) (4 * (bytes) + 4)

/* word[0..size) = the text as one word of a command line, terminated: as it is where it has
 * letters, digits and a few marks only, else in single quotes, or as $'...' where a character
 * cannot be shown (utf8.h). "..." where the word has no room. Returns word. */
const char *shell_word(const char *text, char *word, size_t size);
