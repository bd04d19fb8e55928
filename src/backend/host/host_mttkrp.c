#include "backend/host/host_mttkrp.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "backend/host/host_row_sums.h"
#include "backend/host/simd_width.h"
#include "base/least.h"
#include "base/clock.h"
#include "base/machine.h"
#include "base/memory.h"

/* Where runs are cut does not depend on the number of threads, so neither do their sums, nor the
 * order in which the runs' boundary rows are added. */
#define MAX_RUNS        1024
#define MIN_RUN_NNZ     2048
#define LIST_ROWS       128       /* of a list of rows, at most            */
#define LISTS           128       /* that are made or added at a time */
#define LIST_CLASSES    64        /* of rows: rows of one class are added by one thread */
#define DECODE_NNZ      LIST_ROWS /* nonzeros of alto that are decoded at a time */
#define WORDS_OF_A_LINE 8         /* of the cache */
#define NEAR_CACHES     8  /* of a core: as good as a shared cache that the system does not name */
#define AHEAD           16 /* nonzeros from a row's prefetch to its use, in the shared cache ... */
#define FAR_AHEAD       32 /* ... or in memory */
#define TRIALS          4  /* calls that find out whether prefetching pays */
#define BOUNDARIES      64 /* first and last rows of runs that a thread adds at a time */

/* Sums of rows of M that wait to be added to M: threads make lists of them at the same time, and
 * add them in the order of the lists, so that M does not depend on the number of threads. The sums
 * are rows of another array, LIST_ROWS of each list. */
struct host_row_list {
    uint32_t row[LIST_ROWS];         /* the row of M of each sum                          */
    uint8_t sorted[LIST_ROWS];       /* the numbers of the sums, by class and then number */
    uint8_t begin[LIST_CLASSES + 1]; /* where each class begins in `sorted`               */
};

_Static_assert(LIST_ROWS < 256, "numbers of sums are bytes");

/* The number of lists for the sums of nnz nonzeros. */
static uint64_t count_lists(uint64_t nnz)
{
    return (nnz + LIST_ROWS - 1) / LIST_ROWS;
}

uint64_t host_mttkrp_waiting_rows(uint64_t nnz)
{
    return LIST_ROWS * least_of(count_lists(nnz), 2 * LISTS);
}

/* Fills list->sorted and list->begin from the first `count` of list->row. */
static void sort_list(struct host_row_list *list, uint64_t count)
{
    uint8_t next[LIST_CLASSES];
    memset(list->begin, 0, sizeof list->begin);
    for (uint64_t i = 0; i < count; i++)
        list->begin[list->row[i] % LIST_CLASSES + 1]++;
    for (uint64_t c = 0; c < LIST_CLASSES; c++) {
        list->begin[c + 1] = (uint8_t)(list->begin[c + 1] + list->begin[c]);
        next[c] = list->begin[c];
    }
    for (uint64_t i = 0; i < count; i++)
        list->sorted[next[list->row[i] % LIST_CLASSES]++] = (uint8_t)i;
}

/* Adds the sums of one class in `lists` lists to M, whose rows are as long as `rows`. */
static void add_lists(const struct host_row_list *list, uint64_t lists, uint64_t class,
                      const struct host_rows *rows, const void *sums, void *m)
{
    const enum precision precision = rows->precision;
    const uint64_t rank = rows->rank;
    for (uint64_t k = 0; k < lists; k++)
        for (uint64_t e = list[k].begin[class]; e < list[k].begin[class + 1]; e++) {
            const uint64_t i = list[k].sorted[e];
            host_entries_add(host_entry(m, list[k].row[i] * rank, precision),
                             host_entry_of(sums, (k * LIST_ROWS + i) * rank, precision), rank,
                             precision);
        }
}

/* The arrays of a struct host_nonzeros, decoded. */
struct decoded {
    uint32_t coordinate[MAX_ORDER - 1][DECODE_NNZ], row[DECODE_NNZ];
    uint64_t end[DECODE_NNZ];
};

/* Sets p->ahead. Prefetching costs time where all rows are in a core's cache, and pays where they
 * fill more than half of the cache that cores share; in between, that depends on the processor and
 * the rank. Returns the trial that the call is part of, or NULL. */
static struct host_trial *choose_ahead(struct host_mttkrp *p, const struct host_rows *rows)
{
    struct host_trial *t = &p->trial[rows->precision];
    const uint64_t bytes = p->other_rows * rows->rank * precision_bytes(rows->precision);
    const bool on_trial = t->calls < TRIALS;
    p->ahead = 0;
    if (bytes <= p->near_bytes)
        return NULL;
    if (bytes > p->far_bytes)
        p->ahead = FAR_AHEAD;
    else if (on_trial ? t->calls % 2 == 1 : t->least[1] < t->least[0])
        p->ahead = AHEAD;
    return on_trial && bytes <= p->far_bytes ? t : NULL;
}

static void measure_rows(struct host_mttkrp *p)
{
    const uint64_t shared = machine_shared_cache();
    p->near_bytes = machine_core_cache();
    p->far_bytes = shared ? shared / 2 : NEAR_CACHES * machine_core_cache();
    for (int n = 0; n < p->shape.order; n++)
        p->other_rows += n == p->mode ? 0 : p->shape.dims[n];
}

/* Cuts p->nnz nonzeros into about `runs` runs, and fills the rest of *p. */
static enum status cut_runs(struct host_mttkrp *p, uint64_t runs, struct error *error)
{
    if (runs < 1)
        runs = 1;
    uint64_t length = (p->nnz + runs - 1) / runs;
    p->nruns = length > 0 ? (p->nnz + length - 1) / length : 0; /* no run is empty */
    p->run = memory_array(p->nruns, sizeof *p->run, error);
    if (!p->run) {
        host_mttkrp_free(p);
        return error->status;
    }
    for (uint64_t k = 0; k < p->nruns; k++)
        p->run[k] =
            (struct host_run){.first = k * length, .last = least_of(p->nnz, (k + 1) * length)};
    measure_rows(p);
    return STATUS_OK;
}

enum status host_mttkrp_prepare_ordered(struct host_mttkrp *p, const struct host_slices *slices,
                                        struct error *error)
{
    *p = (struct host_mttkrp){.slices = slices,
                              .shape = slices->shape,
                              .nnz = slices->nnz,
                              .mode = slices->mode,
                              .conflict = CONFLICT_ORDERED};
    TRY(cut_runs(p, least_of(p->nnz / MIN_RUN_NNZ, MAX_RUNS), error));
    for (uint64_t k = 0; k < p->nruns; k++) {
        struct host_run *run = &p->run[k];
        run->slice = host_slices_of(slices, run->first);
        run->low = slices->row[run->slice];
        run->high = slices->row[host_slices_of(slices, run->last - 1)];
        run->scratch = p->scratch_rows;
        p->scratch_rows += 2; /* the run's first and last row */
    }
    return STATUS_OK;
}

enum status host_mttkrp_prepare(struct host_mttkrp *p, const struct blco *x, int mode,
                                enum conflict conflict, uint64_t copies, struct error *error)
{
    const bool windows = conflict == CONFLICT_HIERARCHICAL;
    *p = (struct host_mttkrp){
        .x = x, .shape = x->shape, .nnz = x->nnz, .mode = mode, .conflict = conflict};
    if (conflict == CONFLICT_REGISTER) {
        measure_rows(p);
        p->scratch_rows = host_mttkrp_waiting_rows(p->nnz);
        p->list = memory_array(p->scratch_rows / LIST_ROWS, sizeof *p->list, error);
        if (!p->list)
            host_mttkrp_free(p);
        return error->status;
    }
    uint64_t runs = windows ? least_of(copies, x->nnz) : least_of(x->nnz / MIN_RUN_NNZ, MAX_RUNS);
    TRY(cut_runs(p, runs, error));
#pragma omp parallel for schedule(static) if (p->nruns > 1)
    for (uint64_t k = 0; k < p->nruns; k++) {
        struct host_run *run = &p->run[k];
        uint32_t row[DECODE_NNZ];
        blco_decode_mode(x, mode, run->first, 1, row);
        run->low = run->high = row[0];
        for (uint64_t i = run->first; windows && i < run->last; i += DECODE_NNZ) {
            const uint64_t count = least_of(DECODE_NNZ, run->last - i);
            blco_decode_mode(x, mode, i, count, row);
            for (uint64_t j = 0; j < count; j++) {
                run->low = row[j] < run->low ? row[j] : run->low;
                run->high = row[j] > run->high ? row[j] : run->high;
            }
        }
    }
    for (uint64_t k = 0; k < p->nruns; k++) {
        p->run[k].scratch = p->scratch_rows;
        if (windows)
            p->scratch_rows += p->run[k].high - p->run[k].low + 1;
    }
    return STATUS_OK;
}

void host_mttkrp_free(struct host_mttkrp *p)
{
    memory_free(p->run, p->list);
    memset(p, 0, sizeof *p);
}

/* Decodes nonzeros [first, first + count) of p->x. Neighbours of one row become a stretch, unless
 * each is to be added by itself. Prefetches the words of the next nonzeros, which the processor
 * does not do, because the kernel comes in between. Returns the number of stretches. */
static uint64_t decode(const struct host_mttkrp *p, uint64_t first, uint64_t count,
                       struct decoded *d)
{
    uint32_t row[DECODE_NNZ + 1];
    blco_decode_mode(p->x, p->mode, first, count, row);
    row[count] = ~row[count - 1];
    for (int w = 0; w < p->x->ordering.words; w++)
        for (uint64_t i = 0; i < DECODE_NNZ; i += WORDS_OF_A_LINE)
            __builtin_prefetch(p->x->index[w] + first + DECODE_NNZ + i);
    const bool each = conflict_traits[p->conflict].each;
    uint64_t stretch = 0;
    for (uint64_t i = 0; i < count; i++) { /* without branches: stretches are short */
        d->row[stretch] = row[i];
        d->end[stretch] = i + 1;
        stretch += each | (row[i + 1] != row[i]);
    }
    for (int n = 0, k = 0; n < p->shape.order; n++)
        if (n != p->mode)
            blco_decode_mode(p->x, n, first, count, d->coordinate[k++]);
    return stretch;
}

/* Decoded nonzeros in the form that the kernel reads. */
static struct host_nonzeros nonzeros_of(const struct decoded *d, const double *value, int others)
{
    struct host_nonzeros x = {.value = value, .row = d->row, .end = d->end};
    for (int k = 0; k < others; k++)
        x.coordinate[k] = d->coordinate[k];
    return x;
}

/* --- Tiles of columns, by the kernels of host_row_sums_simd.c. --- */

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

/* Adds nonzeros [first, last), the first of which is in stretch number `stretch`. */
static void add_nonzeros(struct host_row_sums *s, const struct host_nonzeros *x, uint64_t stretch,
                         uint64_t first, uint64_t last)
{
    int order = s->others >= 2 && s->others <= 4 ? s->others - 2 : 3;
    uint64_t simd = simd_width(s->width, s->precision), vectors = (s->width + simd - 1) / simd;
    const struct host_row_sums_kernels *const *kernels_of_entry =
        s->precision == PRECISION_SINGLE ? single_kernels : kernels;
    host_row_sums_kernel *kernel = kernels_of_entry[__builtin_ctzll(simd)]
                                       ->kernel[x->narrow][s->ahead > 0][order][vectors - 1];
    kernel(s, x, stretch, first, last);
}

/* A kernel stores or adds a row when the next row begins; the last row is left. */
static void end_tile(struct host_row_sums *s)
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

static void begin_tiles(struct host_row_sums *s, const struct host_mttkrp *p,
                        const struct host_rows *rows)
{
    s->others = p->shape.order - 1;
    s->rank = rows->rank;
    s->precision = rows->precision;
    s->ahead = p->ahead;
    s->column = s->width = 0;
}

/* Goes to the next tile of columns; false after the last. `row` is the first row that is summed. */
static bool next_tile(struct host_row_sums *s, const struct host_mttkrp *p,
                      const struct host_rows *rows, uint64_t row)
{
    s->column += s->width;
    if (s->column >= s->rank)
        return false;
    s->width = simd_tile_width(s->rank - s->column, s->precision);
    for (int n = 0, k = 0; n < p->shape.order; n++)
        if (n != p->mode)
            s->rows[k++] = host_entry_of(rows->of[n], s->column, s->precision);
    s->row = row;
    memset(s->sum, 0, sizeof s->sum);
    if (s->sink == HOST_ROW_STORE)
        host_row_sums_zero(s, s->zero_from, row);
    return true;
}

/* All tiles of columns of a run; *s says where the run's rows go. */
static void sum_run(struct host_row_sums *s, const struct host_mttkrp *p,
                    const struct host_run *run, const struct host_rows *rows)
{
    const struct host_slices *slices = p->slices;
    struct host_nonzeros sliced = {0};
    if (slices) {
        sliced = (struct host_nonzeros){.narrow = slices->narrow,
                                        .value = slices->narrow ? (const void *)slices->narrow_value
                                                                : slices->value,
                                        .row = slices->row,
                                        .end = slices->end};
        for (int n = 0, k = 0; n < p->shape.order; n++)
            if (n != p->mode)
                sliced.coordinate[k++] = slices->narrow ? (const void *)slices->narrow_coordinate[n]
                                                        : slices->coordinate[n];
    }
    begin_tiles(s, p, rows);
    while (next_tile(s, p, rows, run->low)) {
        if (slices)
            add_nonzeros(s, &sliced, run->slice, run->first, run->last);
        for (uint64_t i = run->first; !slices && i < run->last; i += DECODE_NNZ) {
            struct decoded d;
            const uint64_t count = least_of(DECODE_NNZ, run->last - i);
            decode(p, i, count, &d);
            const struct host_nonzeros x = nonzeros_of(&d, p->x->value + i, s->others);
            add_nonzeros(s, &x, 0, 0, count);
        }
        end_tile(s);
    }
}

static void zero_rows(void *m, uint64_t count, const struct host_rows *rows)
{
    const uint64_t rank = rows->rank;
#pragma omp parallel for schedule(static) if (count * rank > 65536)
    for (uint64_t i = 0; i < count; i++)
        host_entries_zero(host_entry(m, i * rank, rows->precision), rank, rows->precision);
}

/* The row of boundary e: of run e / 2 the first row, or the last. */
static uint64_t boundary_row(const struct host_mttkrp *p, uint64_t e)
{
    return e % 2 == 0 ? p->run[e / 2].low : p->run[e / 2].high;
}

/* A run stores the rows between its first and its last, which no other run has, and zeroes the rows
 * without nonzeros up to the next run's first row. Its own first and last row go to scratch, and
 * are added to M in the order of the runs. */
static void mttkrp_ordered(const struct host_mttkrp *p, const struct host_rows *rows, void *m,
                           void *scratch)
{
    const enum precision precision = rows->precision;
    const uint64_t length = p->shape.dims[p->mode], rank = rows->rank;
#pragma omp parallel for schedule(dynamic) if (p->nruns > 1)
    for (uint64_t k = 0; k < p->nruns; k++) {
        const struct host_run *run = &p->run[k];
        uint64_t boundary = run->scratch * rank;
        struct host_row_sums s = {.sink = HOST_ROW_STORE,
                                  .m = m,
                                  .low = run->low,
                                  .high = run->high,
                                  .low_row = host_entry(scratch, boundary, precision),
                                  .high_row = host_entry(scratch, boundary + rank, precision),
                                  .zero_from = k == 0 ? 0 : run->low,
                                  .zero_to = k + 1 < p->nruns ? p->run[k + 1].low : length};
        sum_run(&s, p, run, rows);
    }
#pragma omp parallel for schedule(static, BOUNDARIES) if (p->nruns > BOUNDARIES)
    for (uint64_t first = 0; first < 2 * p->nruns; first++) {
        const uint64_t row = boundary_row(p, first);
        if (first > 0 && boundary_row(p, first - 1) == row)
            continue;
        void *to = host_entry(m, row * rank, precision);
        host_entries_zero(to, rank, precision);
        for (uint64_t e = first; e < 2 * p->nruns && boundary_row(p, e) == row; e++) {
            const struct host_run *run = &p->run[e / 2];
            const uint64_t from = (run->scratch + e % 2) * rank;
            if (e % 2 == 0 || run->high != run->low)
                host_entries_add(to, host_entry_of(scratch, from, precision), rank, precision);
        }
    }
}

/* Every run adds into a private window, and the windows are summed row by row. */
static void mttkrp_windows(const struct host_mttkrp *p, const struct host_rows *rows, void *m,
                           void *scratch)
{
    const enum precision precision = rows->precision;
    const uint64_t length = p->shape.dims[p->mode], rank = rows->rank;
    zero_rows(scratch, p->scratch_rows, rows);
#pragma omp parallel for schedule(dynamic) if (p->nruns > 1)
    for (uint64_t k = 0; k < p->nruns; k++) {
        const struct host_run *run = &p->run[k];
        struct host_row_sums s = {.sink = HOST_ROW_ADD,
                                  .m = host_entry(scratch, run->scratch * rank, precision),
                                  .low = run->low};
        sum_run(&s, p, run, rows);
    }
#pragma omp parallel for schedule(static) if (p->nruns > 1)
    for (uint64_t i = 0; i < length; i++) {
        void *to = host_entry(m, i * rank, precision);
        host_entries_zero(to, rank, precision);
        for (uint64_t k = 0; k < p->nruns; k++) {
            const struct host_run *run = &p->run[k];
            const uint64_t from = (run->scratch + i - run->low) * rank;
            if (i >= run->low && i <= run->high)
                host_entries_add(to, host_entry_of(scratch, from, precision), rank, precision);
        }
    }
}

/* Sums the nonzeros from `first` on, each stretch to a row of `sums` (LIST_ROWS x R). */
static void sum_list(const struct host_mttkrp *p, const struct host_rows *rows, uint64_t first,
                     struct host_row_list *list, void *sums)
{
    const uint64_t count = least_of(LIST_ROWS, p->nnz - first);
    struct decoded d;
    struct host_row_sums s = {.m = sums, .low = UINT64_MAX, .high = UINT64_MAX};
    const uint64_t stretches = decode(p, first, count, &d);
    memcpy(list->row, d.row, stretches * sizeof *d.row);
    sort_list(list, stretches);
    for (uint32_t i = 0; i < stretches; i++)
        d.row[i] = i;
    const struct host_nonzeros x = nonzeros_of(&d, p->x->value + first, p->shape.order - 1);
    begin_tiles(&s, p, rows);
    while (next_tile(&s, p, rows, 0)) {
        add_nonzeros(&s, &x, 0, 0, count);
        end_tile(&s);
    }
}

/* Neighbouring nonzeros of a row are summed in registers; the sums are added in their order. Each
 * round makes lists in one half of the arrays, and adds those of the round before, in the other. */
static void mttkrp_register(const struct host_mttkrp *p, const struct host_rows *rows, void *m,
                            void *scratch)
{
    const enum precision precision = rows->precision;
    const uint64_t rank = rows->rank, all = count_lists(p->nnz);
    zero_rows(m, p->shape.dims[p->mode], rows);
#pragma omp parallel if (all > 1)
    for (uint64_t first = 0; first < all + LISTS; first += LISTS) {
        const uint64_t made = first < all ? least_of(LISTS, all - first) : 0;
        const uint64_t added = first > 0 ? least_of(LISTS, all + LISTS - first) : 0;
        const uint64_t half = first % (2 * LISTS), other = LISTS - half;
        const uint64_t classes = added > 0 ? LIST_CLASSES : 0;
#pragma omp for schedule(dynamic)
        for (uint64_t i = 0; i < classes + made; i++) {
            const uint64_t k = i - classes + half;
            if (i < classes)
                add_lists(p->list + other, added, i, rows,
                          host_entry(scratch, other * LIST_ROWS * rank, precision), m);
            else
                sum_list(p, rows, (first + i - classes) * LIST_ROWS, &p->list[k],
                         host_entry(scratch, k * LIST_ROWS * rank, precision));
        }
    }
}

/* The baseline adds each nonzero by itself. */
static void mttkrp_atomic(const struct host_mttkrp *p, const struct host_rows *rows, void *m)
{
    zero_rows(m, p->shape.dims[p->mode], rows);
#pragma omp parallel for schedule(dynamic) if (p->nruns > 1)
    for (uint64_t k = 0; k < p->nruns; k++) {
        struct host_row_sums s = {.sink = HOST_ROW_ATOMIC_EACH, .m = m};
        sum_run(&s, p, &p->run[k], rows);
    }
}

void host_mttkrp(struct host_mttkrp *p, const struct host_rows *rows, void *m, void *scratch)
{
    struct host_trial *trial = choose_ahead(p, rows);
    const double start = clock_now();
    if (p->nnz == 0)
        zero_rows(m, p->shape.dims[p->mode], rows);
    else if (p->conflict == CONFLICT_ORDERED)
        mttkrp_ordered(p, rows, m, scratch);
    else if (p->conflict == CONFLICT_HIERARCHICAL)
        mttkrp_windows(p, rows, m, scratch);
    else if (p->conflict == CONFLICT_REGISTER)
        mttkrp_register(p, rows, m, scratch);
    else
        mttkrp_atomic(p, rows, m);
    if (trial) {
        const double seconds = clock_now() - start;
        double *least = &trial->least[trial->calls % 2];
        if (trial->calls < 2 || seconds < *least)
            *least = seconds;
        trial->calls++;
    }
}
