#include "backend/host/host_mttkrp.h"

#include <string.h>

#include "backend/host/host_row_sums.h"
#include "backend/host/simd_width.h"
#include "base/machine.h"
#include "base/memory.h"

/* Where runs are cut does not depend on the number of threads, so neither do their sums, nor the
 * order in which the runs' boundary rows are added. */
#define MAX_RUNS         1024
#define MIN_RUN_NNZ      2048
#define NEAR_CACHES      8  /* of a core: as good as a shared cache that the system does not name */
#define BOUNDARY_COLUMNS 64 /* columns of the boundary rows that one thread adds */

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* How a block's coordinates of `mode` are read off the index words. */
static struct host_row_operand operand_of(const struct blco *x, int mode, uint64_t block)
{
    const struct field *f = &x->ordering.field[mode];
    return (struct host_row_operand){.word = x->index[f->word],
                                     .mask = f->mask,
                                     .base = x->block[block].base[mode],
                                     .shift = f->shift};
}

static uint64_t row_of(const struct blco *x, int mode, uint64_t i)
{
    struct host_row_operand o = operand_of(x, mode, blco_block_of(x, i));
    return host_row_coordinate(&o, i);
}

/* The window of rows that a run touches, in any ordering. */
static void find_window(const struct blco *x, int mode, struct host_run *run)
{
    run->low = UINT64_MAX;
    run->high = 0;
    uint64_t i = run->first;
    for (uint64_t b = blco_block_of(x, i); i < run->last; b++) {
        struct host_row_operand o = operand_of(x, mode, b);
        uint64_t end = least_of(run->last, x->block[b].first + x->block[b].count);
        for (; i < end; i++) {
            uint64_t row = host_row_coordinate(&o, i);
            run->low = row < run->low ? row : run->low;
            run->high = row > run->high ? row : run->high;
        }
    }
}

/* Prefetching pays where rows fill more than half of the cache that cores share, and costs time
 * where they fill less. */
static uint64_t near_bytes(void)
{
    const uint64_t shared = machine_shared_cache();
    return shared ? shared / 2 : NEAR_CACHES * machine_core_cache();
}

enum status host_mttkrp_prepare(struct host_mttkrp *p, const struct blco *x, int mode,
                                enum conflict conflict, uint64_t copies, struct error *error)
{
    memset(p, 0, sizeof *p);
    bool windows = conflict == CONFLICT_HIERARCHICAL;
    uint64_t runs = windows ? least_of(copies, x->nnz) : least_of(x->nnz / MIN_RUN_NNZ, MAX_RUNS);
    if (runs < 1)
        runs = 1;
    uint64_t length = (x->nnz + runs - 1) / runs;
    if (length > 0)
        runs = (x->nnz + length - 1) / length; /* no run is empty */
    else
        runs = 0;
    p->run = memory_array(runs, sizeof *p->run, error);
    if (!p->run)
        return error->status;
    p->x = x;
    p->mode = mode;
    p->conflict = conflict;
    p->near_bytes = near_bytes();
    for (int n = 0; n < x->shape.order; n++)
        p->other_rows += n == mode ? 0 : x->shape.dims[n];
    p->nruns = runs;

#pragma omp parallel for schedule(static) if (runs > 1)
    for (uint64_t k = 0; k < runs; k++) {
        struct host_run *run = &p->run[k];
        run->first = k * length;
        run->last = least_of(x->nnz, run->first + length);
        run->low = row_of(x, mode, run->first);
        run->high = row_of(x, mode, run->last - 1);
        if (windows)
            find_window(x, mode, run);
    }
    for (uint64_t k = 0; k < runs; k++) {
        p->run[k].scratch = p->scratch_rows;
        if (windows)
            p->scratch_rows += p->run[k].high - p->run[k].low + 1;
        else if (conflict == CONFLICT_ORDERED)
            p->scratch_rows += 2; /* the run's first and last row */
    }
    return STATUS_OK;
}

void host_mttkrp_free(struct host_mttkrp *p)
{
    memory_free(p->run);
    memset(p, 0, sizeof *p);
}

/* One run for one tile of columns, block by block. */
static void sum_run_tile(struct host_row_sums *s, const struct blco *x, int mode,
                         const struct host_run *run)
{
    host_row_sums_begin(s, run->low);
    uint64_t i = run->first;
    for (uint64_t b = blco_block_of(x, i); i < run->last; b++) {
        uint64_t end = least_of(run->last, x->block[b].first + x->block[b].count);
        s->target = operand_of(x, mode, b);
        for (int n = 0, k = 0; n < x->shape.order; n++) {
            if (n == mode)
                continue;
            const void *rows = s->other[k].rows;
            s->other[k] = operand_of(x, n, b);
            s->other[k++].rows = rows;
        }
        host_row_sums_add(s, i, end);
        i = end;
    }
    host_row_sums_end(s);
}

/* All tiles of columns of a run; *s says where the run's rows go. */
static void sum_run_tiles(struct host_row_sums *s, const struct host_mttkrp *p,
                          const struct host_run *run, const struct host_rows *rows)
{
    s->others = p->x->shape.order - 1;
    s->value = p->x->value;
    s->rank = rows->rank;
    s->precision = rows->precision;
    s->distant = p->other_rows * s->rank * precision_bytes(s->precision) > p->near_bytes;
    for (s->column = 0; s->column < s->rank; s->column += s->width) {
        s->width = simd_tile_width(s->rank - s->column, s->precision);
        for (int n = 0, k = 0; n < p->x->shape.order; n++)
            if (n != p->mode)
                s->other[k++].rows = host_entry_of(rows->of[n], s->column, s->precision);
        sum_run_tile(s, p->x, p->mode, run);
    }
}

static void zero_rows(void *m, uint64_t count, const struct host_rows *rows)
{
    const uint64_t rank = rows->rank;
#pragma omp parallel for schedule(static) if (count * rank > 65536)
    for (uint64_t i = 0; i < count; i++)
        host_entries_zero(host_entry(m, i * rank, rows->precision), rank, rows->precision);
}

/* Adds the runs' first and last rows to M, in the order of the runs. */
static void add_boundaries(const struct host_mttkrp *p, const struct host_rows *rows, void *m,
                           const void *scratch)
{
    const enum precision precision = rows->precision;
    const uint64_t rank = rows->rank, parts = (rank + BOUNDARY_COLUMNS - 1) / BOUNDARY_COLUMNS;
#pragma omp parallel for schedule(static) if (parts > 1)
    for (uint64_t k = 0; k < parts; k++) {
        uint64_t column = k * BOUNDARY_COLUMNS, width = least_of(rank - column, BOUNDARY_COLUMNS);
        uint64_t fresh = 0; /* rows from here on have not been written */
        for (uint64_t e = 0; e < 2 * p->nruns; e++) {
            const struct host_run *run = &p->run[e / 2];
            if (e % 2 == 1 && run->high == run->low)
                continue;
            uint64_t row = e % 2 == 0 ? run->low : run->high;
            uint64_t from = (run->scratch + e % 2) * rank + column;
            void *to = host_entry(m, row * rank + column, precision);
            if (row >= fresh)
                host_entries_zero(to, width, precision);
            fresh = row + 1;
            host_entries_add(to, host_entry_of(scratch, from, precision), width, precision);
        }
    }
}

/* A run stores the rows between its first and its last, which no other run has, and zeroes the rows
 * without nonzeros up to the next run's first row; its own first and last row go to scratch. */
static void mttkrp_ordered(const struct host_mttkrp *p, const struct host_rows *rows, void *m,
                           void *scratch)
{
    const uint64_t length = p->x->shape.dims[p->mode], rank = rows->rank;
#pragma omp parallel for schedule(dynamic) if (p->nruns > 1)
    for (uint64_t k = 0; k < p->nruns; k++) {
        const struct host_run *run = &p->run[k];
        uint64_t boundary = run->scratch * rank;
        struct host_row_sums s = {.sink = HOST_ROW_STORE,
                                  .m = m,
                                  .low = run->low,
                                  .high = run->high,
                                  .low_row = host_entry(scratch, boundary, rows->precision),
                                  .high_row = host_entry(scratch, boundary + rank, rows->precision),
                                  .zero_from = k == 0 ? 0 : run->low,
                                  .zero_to = k + 1 < p->nruns ? p->run[k + 1].low : length};
        sum_run_tiles(&s, p, run, rows);
    }
    add_boundaries(p, rows, m, scratch);
}

/* M = the sum of the runs' private windows. */
static void merge_windows(const struct host_mttkrp *p, const struct host_rows *rows, void *m,
                          const void *scratch)
{
    const enum precision precision = rows->precision;
    const uint64_t length = p->x->shape.dims[p->mode], rank = rows->rank;
#pragma omp parallel for schedule(static) if (p->nruns > 1)
    for (uint64_t i = 0; i < length; i++) {
        void *to = host_entry(m, i * rank, precision);
        host_entries_zero(to, rank, precision);
        for (uint64_t k = 0; k < p->nruns; k++) {
            const struct host_run *run = &p->run[k];
            uint64_t from = (run->scratch + i - run->low) * rank;
            if (i >= run->low && i <= run->high)
                host_entries_add(to, host_entry_of(scratch, from, precision), rank, precision);
        }
    }
}

/* Every run adds into a private window, and the windows are summed row by row. */
static void mttkrp_windows(const struct host_mttkrp *p, const struct host_rows *rows, void *m,
                           void *scratch)
{
    zero_rows(scratch, p->scratch_rows, rows);
#pragma omp parallel for schedule(dynamic) if (p->nruns > 1)
    for (uint64_t k = 0; k < p->nruns; k++) {
        const struct host_run *run = &p->run[k];
        struct host_row_sums s = {
            .sink = HOST_ROW_ADD,
            .m = host_entry(scratch, run->scratch * rows->rank, rows->precision),
            .low = run->low};
        sum_run_tiles(&s, p, run, rows);
    }
    merge_windows(p, rows, m, scratch);
}

/* Neighbouring nonzeros of a row are summed and added as one; the baseline adds each by itself. */
static void mttkrp_atomic(const struct host_mttkrp *p, const struct host_rows *rows, void *m)
{
    zero_rows(m, p->x->shape.dims[p->mode], rows);
#pragma omp parallel for schedule(dynamic) if (p->nruns > 1)
    for (uint64_t k = 0; k < p->nruns; k++) {
        struct host_row_sums s = {.sink = p->conflict == CONFLICT_ATOMIC ? HOST_ROW_ATOMIC_EACH
                                                                         : HOST_ROW_ATOMIC,
                                  .m = m};
        sum_run_tiles(&s, p, &p->run[k], rows);
    }
}

void host_mttkrp(const struct host_mttkrp *p, const struct host_rows *rows, void *m, void *scratch)
{
    if (p->nruns == 0)
        zero_rows(m, p->x->shape.dims[p->mode], rows);
    else if (p->conflict == CONFLICT_ORDERED)
        mttkrp_ordered(p, rows, m, scratch);
    else if (p->conflict == CONFLICT_HIERARCHICAL)
        mttkrp_windows(p, rows, m, scratch);
    else
        mttkrp_atomic(p, rows, m);
}
