#include "backend/host/host_row_sums.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "backend/host/simd_width.h"

void row_sums_zero(const struct row_sums *w, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        memset(w->m + i * w->rank + w->column, 0, w->width * sizeof *w->m);
}

#define LOCKS 4096
static atomic_bool lock[LOCKS];

void row_lock(uint64_t row)
{
    while (atomic_exchange_explicit(&lock[row % LOCKS], 1, memory_order_acquire))
        sched_yield();
}

void row_unlock(uint64_t row)
{
    atomic_store_explicit(&lock[row % LOCKS], 0, memory_order_release);
}

static const struct row_sum_kernels *kernels_of(uint64_t simd)
{
#if SIMD_X86
    if (simd == 8)
        return &host_row_sums_simd8;
    if (simd == 4)
        return &host_row_sums_simd4;
#endif
    return simd == 2 ? &host_row_sums_simd2 : &host_row_sums_simd1;
}

void row_sums_add(struct row_sums *w, uint64_t first, uint64_t last)
{
    int order = w->others >= 2 && w->others <= 4 ? w->others - 2 : 3;
    uint64_t simd = simd_width(w->width), vectors = (w->width + simd - 1) / simd;
    kernels_of(simd)->kernel[w->distant][order][w->width % simd != 0][vectors - 1](w, first, last);
}

void row_sums_begin(struct row_sums *w, uint64_t row)
{
    w->row = row;
    memset(w->sum, 0, sizeof w->sum);
    if (w->sink == ROW_STORE)
        row_sums_zero(w, w->zero_from, row);
}

/* The kernel that adds a row hands it on when the next one begins; the last one is left. */
void row_sums_end(struct row_sums *w)
{
    if (w->sink == ROW_STORE) {
        memcpy(row_store(w, w->row), w->sum, w->width * sizeof *w->sum);
        row_sums_zero(w, w->row + 1, w->zero_to);
        return;
    }
    double *to = w->m + (w->row - w->low) * w->rank + w->column;
    if (w->sink != ROW_ADD)
        row_lock(w->row);
    for (uint64_t r = 0; r < w->width; r++)
        to[r] += w->sum[r];
    if (w->sink != ROW_ADD)
        row_unlock(w->row);
}
