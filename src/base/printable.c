#include "base/printable.h"

#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"

/* U+0000 to U+001F, U+007F to U+009F. */
static bool is_control(const char *text, size_t length)
{
    const unsigned char *u = (const unsigned char *)text;
    if (length == 1)
        return u[0] < 0x20 || u[0] == 0x7f;
    return length == 2 && u[0] == 0xc2 && u[1] < 0xa0;
}

const char *printable(const char *text, char *out, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    char *to = out, *end = out + size - 1;
    while (*text) {
        size_t length = utf8_length(text), room = (size_t)(end - to);
        if (length > 0 && !is_control(text, length)) {
            if (length > room)
                break;
            memcpy(to, text, length);
            to += length;
            text += length;
        } else {
            if (room < 4)
                break;
            unsigned char byte = (unsigned char)*text++;
            const char escaped[4] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
            memcpy(to, escaped, 4);
            to += 4;
        }
    }
    *to = '\0';
    return out;
}

size_t printable_cut(const char *text, size_t most)
{
    size_t bytes = 0;
    while (most > 0 && text[bytes]) {
        bytes += utf8_length(text + bytes);
        most--;
    }
    return bytes;
}
