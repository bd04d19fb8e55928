#include "backend/host/host_row_sums.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "backend/host/simd_width.h"

void host_row_sums_zero(const struct host_row_sums *s, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        memset(s->m + i * s->rank + s->column, 0, s->width * sizeof *s->m);
}

#define LOCKS 4096
static atomic_bool lock[LOCKS];

void host_row_lock(uint64_t row)
{
    while (atomic_exchange_explicit(&lock[row % LOCKS], 1, memory_order_acquire))
        sched_yield();
}

void host_row_unlock(uint64_t row)
{
    atomic_store_explicit(&lock[row % LOCKS], 0, memory_order_release);
}

/* By the logarithm of the SIMD width. */
static const struct host_row_sums_kernels *const kernels[] = {
    &host_row_sums_simd1,
    &host_row_sums_simd2,
#if SIMD_X86
    &host_row_sums_simd4,
    &host_row_sums_simd8,
#endif
};

void host_row_sums_add(struct host_row_sums *s, uint64_t first, uint64_t last)
{
    int order = s->others >= 2 && s->others <= 4 ? s->others - 2 : 3;
    uint64_t simd = simd_width(s->width), vectors = (s->width + simd - 1) / simd;
    bool overlap = s->width % simd != 0;
    kernels[__builtin_ctzll(simd)]->kernel[s->distant][order][overlap][vectors - 1](s, first, last);
}

void host_row_sums_begin(struct host_row_sums *s, uint64_t row)
{
    s->row = row;
    memset(s->sum, 0, sizeof s->sum);
    if (s->sink == HOST_ROW_STORE)
        host_row_sums_zero(s, s->zero_from, row);
}

/* A kernel stores or adds a row when the next row begins; the last row is left. */
void host_row_sums_end(struct host_row_sums *s)
{
    if (s->sink == HOST_ROW_STORE) {
        memcpy(host_row_store(s, s->row), s->sum, s->width * sizeof *s->sum);
        host_row_sums_zero(s, s->row + 1, s->zero_to);
        return;
    }
    double *to = s->m + (s->row - s->low) * s->rank + s->column;
    if (s->sink != HOST_ROW_ADD)
        host_row_lock(s->row);
    for (uint64_t r = 0; r < s->width; r++)
        to[r] += s->sum[r];
    if (s->sink != HOST_ROW_ADD)
        host_row_unlock(s->row);
}
