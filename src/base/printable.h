/* Text for a terminal: names of files may have any byte, and some bytes command a terminal. */
#ifndef BLCO_PRINTABLE_H
#define BLCO_PRINTABLE_H

#include <stddef.h>

/* What printable() needs at most for a text of so many bytes. */
#define PRINTABLE_ROOM(bytes) (4 * (bytes) + 1)

/* Copies the text to out[0..size), terminated, with each byte of a control character, and each byte
 * that is no part of valid UTF-8, as \x1b; all other characters stay. The copy ends before the
 * first character that has no room. Returns out. */
const char *printable(const char *text, char *out, size_t size);

/* The bytes of the longest beginning of `text` that ends with a whole character and has no more
 * than `most` characters. `text` is a copy made by printable(). */
size_t printable_cut(const char *text, size_t most);

#endif
