#include "base/utf8.h"

#include <locale.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <wchar.h>

uint32_t utf8_code_point(const char *text, size_t length)
{
    static const unsigned char first_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    const unsigned char *u = (const unsigned char *)text;
    uint32_t code = u[0] & first_bits[length];
    for (size_t i = 1; i < length; i++)
        code = code << 6 | (u[i] & 0x3f);
    return code;
}

size_t utf8_length(const char *text)
{
    static const uint32_t least[] = {0, 1, 0x80, 0x800, 0x10000}; /* code points of so many bytes */
    const unsigned char *u = (const unsigned char *)text;
    const size_t length = u[0] < 0x80 ? 1 : u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : 4;
    if ((u[0] >= 0x80 && u[0] < 0xc0) || u[0] >= 0xf8)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((u[i] & 0xc0) != 0x80)
            return 0;
    const uint32_t code = utf8_code_point(text, length);
    const bool surrogate = code >= 0xd800 && code <= 0xdfff;
    return code >= least[length] && code <= 0x10ffff && !surrogate ? length : 0;
}

/* The C library knows widths of characters only in a locale that has these characters; to load one
 * takes longer than to measure a text. */
static locale_t characters; /* 0 where there is none; kept to the end of the program */
static pthread_once_t characters_once = PTHREAD_ONCE_INIT;

static void load_characters(void)
{
    characters = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
}

/* The columns of the character at `text`, which has `length` bytes, or of a byte alone (length 0).
 */
static size_t character_width(const char *text, size_t length)
{
    if (length <= 1)
        return 1;
    pthread_once(&characters_once, load_characters);
    locale_t before = characters ? uselocale(characters) : (locale_t)0;
    int width = wcwidth((wchar_t)utf8_code_point(text, length));
    if (characters)
        uselocale(before);
    return width < 0 ? 1 : (size_t)width;
}

/* The bytes of the text up to the first character after `most` columns; *width = what these bytes
 * take. */
static size_t measure(const char *text, size_t most, size_t *width)
{
    const char *at = text;
    *width = 0;
    while (*at) {
        size_t length = utf8_length(at), added = character_width(at, length);
        if (*width + added > most)
            break;
        *width += added;
        at += length > 0 ? length : 1;
    }
    return (size_t)(at - text);
}

size_t utf8_width(const char *text)
{
    size_t width;
    measure(text, SIZE_MAX, &width);
    return width;
}

size_t utf8_fit(const char *text, size_t width)
{
    size_t used;
    return measure(text, width, &used);
}

size_t printable_length(const char *text)
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
    const size_t length = utf8_length(text);
    const uint32_t code = utf8_code_point(text, length);
    for (size_t i = 0; i < sizeof escaped / sizeof *escaped; i++)
        if (code >= escaped[i].first && code <= escaped[i].last)
            return 0;
    return (code & 0xfffe) != 0xfffe ? length : 0; /* not the last two of each plane */
}

const char *printable(const char *text, char *copy, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    char *to = copy, *end = copy + size - 1;
    while (*text) {
        const size_t length = printable_length(text);
        const unsigned char byte = (unsigned char)*text;
        const char escaped[4] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
        if ((length ? length : sizeof escaped) > (size_t)(end - to))
            break;
        to = length ? mempcpy(to, text, length) : mempcpy(to, escaped, sizeof escaped);
        text += length ? length : 1;
    }
    *to = '\0';
    return copy;
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
