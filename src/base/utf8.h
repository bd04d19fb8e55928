/* Characters in UTF-8 (RFC 3629). */
#ifndef BLCO_UTF8_H
#define BLCO_UTF8_H

#include <stddef.h>

/* Bytes of the character at `text`, a terminated string; 0 where there is no such character.
 * Overlong forms, surrogates and characters above U+10FFFF do not count. */
size_t utf8_length(const char *text);

#endif
