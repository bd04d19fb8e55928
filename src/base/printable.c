#include "base/printable.h"

#include <stdint.h>
#include <string.h>

#include "base/utf8.h"

bool printable_as_it_is(const char *text, size_t length)
{
    static const struct {
        uint32_t first, last;
    } escaped[] = {
        {0x0000, 0x001f}, {0x007f, 0x009f}, /* control characters                       */
        {0x061c, 0x061c}, {0x200e, 0x200f}, /* marks of direction                       */
        {0x2028, 0x2029},                   /* separators of lines, paragraphs          */
        {0x202a, 0x202e}, {0x2066, 0x2069}, /* embeddings, overrides, isolates          */
        {0xfdd0, 0xfdef},                   /* noncharacters                            */
    };
    uint32_t code = utf8_code_point(text, length);
    for (size_t i = 0; i < sizeof escaped / sizeof *escaped; i++)
        if (code >= escaped[i].first && code <= escaped[i].last)
            return false;
    return (code & 0xfffe) != 0xfffe; /* the last two of each plane */
}

const char *printable(const char *text, char *out, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    char *to = out, *end = out + size - 1;
    while (*text) {
        size_t length = utf8_length(text), room = (size_t)(end - to);
        if (length > 0 && printable_as_it_is(text, length)) {
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
