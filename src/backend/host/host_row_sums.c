#include "backend/host/host_row_sums.h"

#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "backend/host/simd_width.h"

void host_row_sums_zero(const struct host_row_sums *s, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        host_entries_zero(host_entry(s->m, i * s->rank + s->column, s->precision), s->width,
                          s->precision);
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
    &host_row_sums_double1,
    &host_row_sums_double2,
#if SIMD_X86
    &host_row_sums_double4,
    &host_row_sums_double8,
#endif
};
static const struct host_row_sums_kernels *const single_kernels[] = {
    &host_row_sums_float1, NULL, /* two floats are no vector of their own */
    &host_row_sums_float4,
#if SIMD_X86
    &host_row_sums_float8, &host_row_sums_float16,
#endif
};

void host_row_sums_add(struct host_row_sums *s, const struct host_nonzeros *x, uint64_t stretch,
                       uint64_t first, uint64_t last)
{
    int order = s->others >= 2 && s->others <= 4 ? s->others - 2 : 3;
    uint64_t simd = simd_width(s->width, s->precision), vectors = (s->width + simd - 1) / simd;
    bool overlap = s->width % simd != 0;
    const struct host_row_sums_kernels *const *kernels_of_entry =
        s->precision == PRECISION_SINGLE ? single_kernels : kernels;
    host_row_sums_kernel *kernel =
        kernels_of_entry[__builtin_ctzll(simd)]
            ->kernel[x->narrow][s->ahead > 0][order][overlap][vectors - 1];
    kernel(s, x, stretch, first, last);
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
        host_entries_write(host_row_store(s, s->row), s->sum, s->width, s->precision);
        host_row_sums_zero(s, s->row + 1, s->zero_to);
        return;
    }
    void *to = host_row_added(s, s->row);
    if (s->sink != HOST_ROW_ADD)
        host_row_lock(s->row);
    if (s->precision == PRECISION_SINGLE)
        for (uint64_t r = 0; r < s->width; r++)
            ((float *)to)[r] += (float)s->sum[r];
    else
        host_entries_add(to, s->sum, s->width, PRECISION_DOUBLE);
    if (s->sink != HOST_ROW_ADD)
        host_row_unlock(s->row);
}
