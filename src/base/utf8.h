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

/* The columns that the text takes on a terminal: two for a wide character as in Chinese, none for a
 * combining one such as an accent, one for a control character or a byte that is not UTF-8. */
size_t utf8_width(const char *text);

/* The bytes of the longest beginning of the text that takes no more than `width` columns. */
size_t utf8_fit(const char *text, size_t width);

#endif
