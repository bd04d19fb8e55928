#include "backend/host/host_row_sums.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "backend/host/host_mttkrp_simd.h"
#include "backend/host/simd_width.h"

void walk_zero_rows(const struct walk *w, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++)
        memset(w->m + i * w->rank + w->column, 0, w->width * sizeof *w->m);
}

#define LOCKS 4096
static atomic_bool lock[LOCKS];

void walk_lock_row(uint64_t row)
{
    while (atomic_exchange_explicit(&lock[row % LOCKS], 1, memory_order_acquire))
        sched_yield();
}

void walk_unlock_row(uint64_t row)
{
    atomic_store_explicit(&lock[row % LOCKS], 0, memory_order_release);
}

static const struct walk_kernels *kernels_of(uint64_t lanes)
{
#if LANES_X86
    if (lanes == 8)
        return &mttkrp_lanes8;
    if (lanes == 4)
        return &mttkrp_lanes4;
#endif
    return lanes == 2 ? &mttkrp_lanes2 : &mttkrp_lanes1;
}

void walk_nonzeros(struct walk *w, uint64_t first, uint64_t last)
{
    int order = w->others >= 2 && w->others <= 4 ? w->others - 2 : 3;
    uint64_t lanes = lanes_of(w->width), vectors = (w->width + lanes - 1) / lanes;
    kernels_of(lanes)->kernel[w->distant][order][w->width % lanes != 0][vectors - 1](w, first,
                                                                                     last);
}

void walk_begin(struct walk *w, uint64_t row)
{
    w->row = row;
    memset(w->sum, 0, sizeof w->sum);
    if (w->sink == WALK_STORE)
        walk_zero_rows(w, w->zero_from, row);
}

/* The kernel that adds a row hands it on when the next one begins; the last one is left. */
void walk_end(struct walk *w)
{
    if (w->sink == WALK_STORE) {
        memcpy(walk_store_row(w, w->row), w->sum, w->width * sizeof *w->sum);
        walk_zero_rows(w, w->row + 1, w->zero_to);
        return;
    }
    double *to = w->m + (w->row - w->low) * w->rank + w->column;
    if (w->sink != WALK_ADD)
        walk_lock_row(w->row);
    for (uint64_t r = 0; r < w->width; r++)
        to[r] += w->sum[r];
    if (w->sink != WALK_ADD)
        walk_unlock_row(w->row);
}
