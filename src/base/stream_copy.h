/* Copies past the caches. Rows that are written in places far from each other would each be read
 * first, to fill the rest of a cache line; of two GPUs' rows, which lie between each other, that
 * takes a third longer. */
#pragma once

#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* to (count) = from (count), doubles. Other threads see them after stream_copy_end. */
static inline void stream_copy(double *to, const double *from, uint64_t count)
{
#ifdef __SSE2__
    const uint64_t before = (uintptr_t)to % sizeof(__m128d) / sizeof *to;
    uint64_t i = before < count ? before : count;
    memcpy(to, from, i * sizeof *to);
    for (; i + 2 <= count; i += 2)
        _mm_stream_pd(to + i, _mm_loadu_pd(from + i));
    memcpy(to + i, from + i, (count - i) * sizeof *to);
#else
    memcpy(to, from, count * sizeof *to);
#endif
}

static inline void stream_copy_end(void)
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}
