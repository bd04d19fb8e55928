#include "tensor/norm_sum.h"

#include <string.h>

#include "numerics/known_value.h"

#define WIDTH         8 /* interleaved sums of a part */
#define PARTS_AT_ONCE 256

void norm_sum_begin(struct norm_sum *s)
{
    s->sum = 0;
    s->filled = 0;
}

static double square(double value)
{
    double known = known_value(value);
    return known * known;
}

/* Adds value i to sum i mod WIDTH, then adds these sums: an order that SIMD instructions follow. */
static double part_sum(const double *value, uint64_t count)
{
    double partial[WIDTH] = {0}, sum = 0;
    uint64_t i = 0;
    for (; i + WIDTH <= count; i += WIDTH)
        for (int w = 0; w < WIDTH; w++)
            partial[w] += square(value[i + (uint64_t)w]);
    for (int w = 0; i < count; i++, w++)
        partial[w] += square(value[i]);
    for (int w = 0; w < WIDTH; w++)
        sum += partial[w];
    return sum;
}

static void add_parts(struct norm_sum *s, const double *value, uint64_t parts)
{
    double partial[PARTS_AT_ONCE];
    for (uint64_t first = 0; first < parts; first += PARTS_AT_ONCE) {
        uint64_t count = parts - first < PARTS_AT_ONCE ? parts - first : PARTS_AT_ONCE;
#pragma omp parallel for schedule(static)
        for (uint64_t p = 0; p < count; p++)
            partial[p] = part_sum(value + (first + p) * NORM_PART, NORM_PART);
        for (uint64_t p = 0; p < count; p++)
            s->sum += partial[p];
    }
}

void norm_sum_add(struct norm_sum *s, const double *value, uint64_t count)
{
    if (s->filled > 0) {
        uint64_t room = NORM_PART - s->filled, taken = count < room ? count : room;
        memcpy(s->waiting + s->filled, value, taken * sizeof *value);
        s->filled += taken;
        value += taken;
        count -= taken;
        if (s->filled < NORM_PART)
            return;
        add_parts(s, s->waiting, 1);
    }
    add_parts(s, value, count / NORM_PART);
    s->filled = count % NORM_PART;
    if (s->filled > 0)
        memcpy(s->waiting, value + count - s->filled, s->filled * sizeof *value);
}

double norm_sum_total(const struct norm_sum *s)
{
    return s->sum + part_sum(s->waiting, s->filled);
}
