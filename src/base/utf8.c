#include "base/utf8.h"

/* A form gives the range of the first byte, first to last, and of the second byte, least to most.
 */
size_t utf8_length(const char *text)
{
    const unsigned char *u = (const unsigned char *)text;
    static const struct {
        unsigned char first, last, least, most;
        size_t length;
    } forms[] = {
        {0x01, 0x7f, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
        if (u[0] < forms[f].first || u[0] > forms[f].last)
            continue;
        if (forms[f].length > 1 && (u[1] < forms[f].least || u[1] > forms[f].most))
            return 0;
        for (size_t i = 2; i < forms[f].length; i++)
            if ((u[i] & 0xc0) != 0x80)
                return 0;
        return forms[f].length;
    }
    return 0;
}
