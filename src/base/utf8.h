/* Characters in UTF-8 (RFC 3629), and which of them can be shown. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Bytes of the character at `text`, a terminated string; 0 where there is no such character.
 * Overlong forms, surrogates and characters above U+10FFFF do not count. */
size_t utf8_length(const char *text);

/* The code point of the character at `text`, which has `length` bytes, 1 to 4. */
uint32_t utf8_code_point(const char *text, size_t length);

/* The columns that the text takes on a terminal: two for a wide character as in Chinese, none for a
 * combining one such as an accent, one for a control character or a byte that is not UTF-8. */
size_t utf8_width(const char *text);

/* The bytes of the longest beginning of the text that takes no more than `width` columns. */
size_t utf8_fit(const char *text, size_t width);

/* --- Text for a terminal or a page: names of files and labels may have any byte, and some
 * characters control a terminal or change the direction of the text beside them. --- */

/* The most bytes that printable() writes for a text of so many bytes. */
#define PRINTABLE_ROOM(bytes) (4 * (bytes) + 1)

/* Bytes of the character at `text`, a terminated string, if it is UTF-8 and can be shown as it is,
 * else 0: a control character, one that separates lines or paragraphs or sets the direction of text
 * (Unicode's property Bidi_Control), and a noncharacter, which HTML and XML do not allow, cannot.
 */
size_t printable_length(const char *text);

/* Copies the text to copy[0..size), terminated, with each byte of a character that cannot be shown
 * as it is, and each byte that is not UTF-8, as \x1b; all other characters stay. The
 * copy ends before the first character that has no room. Returns copy. */
const char *printable(const char *text, char *copy, size_t size);

/* The bytes of the longest beginning of `text` that ends with a whole character and has no more
 * than `most` characters. `text` is a copy made by printable(). */
size_t printable_cut(const char *text, size_t most);
