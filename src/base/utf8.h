/* Characters in UTF-8 (RFC 3629). */
#ifndef BLCO_UTF8_H
#define BLCO_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of the character at `text`, a terminated string; 0 where there is no such character.
 * Overlong forms, surrogates and characters above U+10FFFF do not count. */
size_t utf8_length(const char *text);

/* The code point of the character at `text`, which has `length` bytes, 1 to 4. */
uint32_t utf8_code_point(const char *text, size_t length);

/* The columns that the text takes on a terminal: two for a wide character as in Chinese, none for
 * one that is put on another, such as an accent of its own. Control characters, and bytes that are
 * no part of UTF-8, count one each. */
size_t utf8_width(const char *text);

/* The bytes of the longest beginning of the text that takes no more than `width` columns. */
size_t utf8_fit(const char *text, size_t width);

#endif
