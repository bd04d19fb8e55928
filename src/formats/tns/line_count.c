#include "formats/tns/line_count.h"

/* Counts in counters of a byte, which compilers update many at a time and which are summed before
 * one overflows. */
uint64_t line_count(const char *p, const char *end)
{
    enum { WIDTH = 64, ROUNDS = 255 };
    uint64_t count = 0;
    while (end - p >= WIDTH) {
        uint8_t own[WIDTH] = {0};
        for (int round = 0; round < ROUNDS && end - p >= WIDTH; round++, p += WIDTH)
            for (int i = 0; i < WIDTH; i++)
                own[i] = (uint8_t)(own[i] + (p[i] == '\n'));
        for (int i = 0; i < WIDTH; i++)
            count += own[i];
    }
    for (; p < end; p++)
        count += *p == '\n';
    return count;
}
