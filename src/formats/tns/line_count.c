#include "formats/tns/line_count.h"

#include <stddef.h>

#define SHARE ((ptrdiff_t)1 << 20) /* bytes that a thread counts at a time */

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

uint64_t line_count_shared(const char *begin, const char *end)
{
    uint64_t count = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : count)
    for (ptrdiff_t at = 0; at < end - begin; at += SHARE)
        count += line_count(begin + at, end - begin - at < SHARE ? end : begin + at + SHARE);
    return count;
}
