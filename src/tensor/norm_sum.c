#include "tensor/norm_sum.h"

#include <string.h>

#define LANES 8
#define BATCH 256 /* chunks that are shared out to threads at a time */

void norm_sum_begin(struct norm_sum *s)
{
    s->sum = 0;
    s->filled = 0;
}

/* Value i to lane i mod LANES, then the lanes: an order that vectors follow. */
static double chunk_sum(const double *value, uint64_t count)
{
    double lane[LANES] = {0}, sum = 0;
    uint64_t i = 0;
    for (; i + LANES <= count; i += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] += value[i + (uint64_t)l] * value[i + (uint64_t)l];
    for (int l = 0; i < count; i++, l++)
        lane[l] += value[i] * value[i];
    for (int l = 0; l < LANES; l++)
        sum += lane[l];
    return sum;
}

static void add_chunks(struct norm_sum *s, const double *value, uint64_t chunks)
{
    double partial[BATCH];
    for (uint64_t first = 0; first < chunks; first += BATCH) {
        uint64_t count = chunks - first < BATCH ? chunks - first : BATCH;
#pragma omp parallel for schedule(static)
        for (uint64_t c = 0; c < count; c++)
            partial[c] = chunk_sum(value + (first + c) * NORM_CHUNK, NORM_CHUNK);
        for (uint64_t c = 0; c < count; c++)
            s->sum += partial[c];
    }
}

void norm_sum_add(struct norm_sum *s, const double *value, uint64_t count)
{
    if (s->filled > 0) {
        uint64_t room = NORM_CHUNK - s->filled, taken = count < room ? count : room;
        memcpy(s->waiting + s->filled, value, taken * sizeof *value);
        s->filled += taken;
        value += taken;
        count -= taken;
        if (s->filled < NORM_CHUNK)
            return;
        add_chunks(s, s->waiting, 1);
    }
    add_chunks(s, value, count / NORM_CHUNK);
    s->filled = count % NORM_CHUNK;
    if (s->filled > 0)
        memcpy(s->waiting, value + count - s->filled, s->filled * sizeof *value);
}

double norm_sum_total(const struct norm_sum *s)
{
    return s->sum + chunk_sum(s->waiting, s->filled);
}
