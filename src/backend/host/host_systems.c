#include "backend/host/host_systems.h"

#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <string.h>

#include "backend/host/host_systems_simd.h"
#include "backend/host/simd_width.h"
#include "base/least.h"
#include "base/machine.h"
#include "base/memory.h"

/* Where runs are cut does not depend on the number of threads. */
#define MAX_RUNS  1024
#define MIN_RUNS  16
#define RUN_NNZ   1024                 /* nonzeros of a run, at least       */
#define AHEAD     16                   /* nonzeros from a row's prefetch to its use */
#define ENDS_ROOM (UINT64_C(64) << 20) /* bytes of the runs' ends, at most */

static const struct host_systems_kernels *kernels(void)
{
#if SIMD_X86
    const uint64_t simd = simd_width(8, PRECISION_DOUBLE);
    if (simd >= 4)
        return simd == 8 ? &host_systems_double8 : &host_systems_double4;
#endif
    return &host_systems_double2;
}

uint64_t host_system_ld(uint64_t rank)
{
    return (rank + HOST_SYSTEM_PAD - 1) / HOST_SYSTEM_PAD * HOST_SYSTEM_PAD;
}

_Static_assert(SYSTEM_NUMBERS <= HOST_SYSTEM_PAD, "the numbers have room before b");

uint64_t host_system_length(uint64_t rank, bool matrix)
{
    const uint64_t ld = host_system_ld(rank);
    return HOST_SYSTEM_PAD + 2 * ld + (matrix ? ld * ld : 0);
}

struct host_system host_system_at(double *at, uint64_t rank)
{
    const uint64_t ld = host_system_ld(rank);
    double *b = at + HOST_SYSTEM_PAD;
    return (struct host_system){.number = at, .b = b, .q = b + ld, .g = b + 2 * ld};
}

void host_system_join(double *to, const double *from, uint64_t length)
{
    const double least = host_system_least(to[SYSTEM_LEAST], from[SYSTEM_LEAST]);
    for (uint64_t i = 0; i < length; i++)
        to[i] += from[i];
    to[SYSTEM_LEAST] = least;
}

void host_row_totals_add(struct host_row_totals *to, const struct host_row_totals *from)
{
    to->misfit += from->misfit;
    to->size += from->size;
    to->penalty += from->penalty;
    to->violation = fmax(to->violation, from->violation);
}

/* Consecutive nonzeros that one thread takes. The rows that it has only a part of are its ends,
 * which are added to those of its neighbours. */
struct run {
    uint64_t first, last; /* nonzeros [first, last)          */
    uint64_t slice;       /* of the first                    */
    bool head, tail;      /* the first row begins before the run; the last begins here and ends
                           * after it */
    struct host_row_totals totals;
    struct host_value_sums values;
};

/* One thread's room. */
struct work {
    struct host_system_rows rows; /* whose systems are whole; the next ones have room, too */
    double *a;                    /* (ld): the row that is summed */
    double *scratch;
    double *z, *wz; /* (HOST_SYSTEM_BLOCK x ld) */
    struct host_terms t;
};

struct pass {
    const struct host_systems *s;
    const struct host_systems_kernels *kernel;
    struct host_products products;
    uint64_t rank, ld, length;
    uint64_t runs;
    struct run *run; /* (runs); owned                           */
    double *ends;    /* (runs x 2 x length): heads and tails; owned */
    double *rooms;   /* (threads x room); owned                 */
    uint64_t room;
};

static double *end_of(const struct pass *p, uint64_t run, int tail)
{
    return p->ends + (2 * run + (uint64_t)tail) * p->length;
}

static struct work work_of(const struct pass *p, int thread)
{
    double *room = p->rooms + (uint64_t)thread * p->room;
    struct work w = {.z = room};
    w.wz = w.z + HOST_SYSTEM_BLOCK * p->ld;
    room = w.wz + HOST_SYSTEM_BLOCK * p->ld;
    for (uint64_t l = 0; l < p->s->rows; l++) {
        w.rows.system[l] = host_system_at(room, p->rank);
        w.rows.a[l] = room + p->length;
        room += p->length + p->ld;
    }
    w.a = w.rows.a[0];
    w.scratch = room;
    return w;
}

/* About as many runs as threads can share evenly, as few as their ends have room for. */
static uint64_t count_runs(const struct pass *p, uint64_t nnz)
{
    uint64_t most = ENDS_ROOM / (2 * p->length * sizeof(double));
    most = least_of(MAX_RUNS, most > MIN_RUNS ? most : MIN_RUNS);
    const uint64_t wanted = least_of(most, nnz / RUN_NNZ + 1);
    return least_of(wanted, nnz);
}

static void cut_runs(struct pass *p, uint64_t first, uint64_t nnz)
{
    const struct host_slices *x = p->s->slices;
    for (uint64_t k = 0; k < p->runs; k++) {
        struct run *run = &p->run[k];
        *run = (struct run){.first = first + nnz * k / p->runs,
                            .last = first + nnz * (k + 1) / p->runs};
        run->slice = host_slices_of(x, run->first);
        const uint64_t last = host_slices_of(x, run->last - 1);
        run->head = run->slice > 0 ? x->end[run->slice - 1] < run->first : run->first > 0;
        run->tail = x->end[last] > run->last && !(run->head && last == run->slice);
    }
}

static enum status begin_pass(struct pass *p, const struct host_systems *s, uint64_t first,
                              uint64_t nnz, struct error *error)
{
    const uint64_t rank = s->factors->rank, ld = host_system_ld(rank);
    *p = (struct pass){.s = s,
                       .kernel = kernels(),
                       .rank = rank,
                       .ld = ld,
                       .length = host_system_length(rank, s->matrix),
                       .products = {.others = s->slices->shape.order - 1,
                                    .rank = rank,
                                    .ld = ld,
                                    .nnz = s->slices->nnz,
                                    .precision = s->factors->precision}};
    uint64_t bytes = 0; /* of the other modes' rows */
    for (int n = 0, k = 0; n < s->slices->shape.order; n++) {
        if (n == s->slices->mode)
            continue;
        bytes += s->slices->shape.dims[n] * rank * precision_bytes(s->factors->precision);
        p->products.rows[k] = s->factors->of[n];
        p->products.coordinate[k++] = s->slices->coordinate[n];
    }
    p->products.ahead = bytes > machine_core_cache() ? AHEAD : 0;
    p->runs = count_runs(p, nnz);
    p->room = 2 * HOST_SYSTEM_BLOCK * ld + s->rows * (p->length + ld) + host_system_ld(s->scratch);
    p->run = memory_array(p->runs, sizeof *p->run, error);
    p->ends = memory_zeros(p->runs, 2 * p->length * sizeof *p->ends, error);
    p->rooms = memory_zeros((size_t)omp_get_max_threads(), p->room * sizeof *p->rooms, error);
    if (error->status == STATUS_OK)
        cut_runs(p, first, nnz);
    return error->status;
}

static void end_pass(struct pass *p)
{
    memory_free(p->run);
    memory_free(p->ends);
    memory_free(p->rooms);
}

/* a (ld) = row `row` as it is, with its weights. */
static void read_row(const struct pass *p, uint64_t row, double *a)
{
    const struct host_rows *f = p->s->factors;
    const void *from = host_entry_of(f->of[p->s->slices->mode], row * p->rank, f->precision);
    host_entries_read(a, from, p->rank, f->precision);
    for (uint64_t r = 0; r < p->rank; r++)
        a[r] *= p->s->now[r];
    memset(a + p->rank, 0, (p->ld - p->rank) * sizeof *a);
}

/* z and m of nonzeros [first, first + count). */
static void read_block(const struct pass *p, struct work *w, uint64_t first, uint64_t count)
{
    p->kernel->products(&p->products, first, count, w->a, w->z, w->t.m);
}

/* The system of nonzeros [first, last), all of one row, which is in w->a; with Y, where it says how
 * many there are. */
static void sum_row(const struct pass *p, struct work *w, uint64_t first, uint64_t last,
                    const struct host_system *system)
{
    const struct host_system to = *system;
    const bool counts = p->s->loss == LOSS_POISSON;
    struct host_terms *t = &w->t;
    memset(to.number, 0, (HOST_SYSTEM_PAD + 2 * p->ld) * sizeof *to.number);
    for (uint64_t i = first; i < last; i += HOST_SYSTEM_BLOCK) {
        const uint64_t count = least_of(HOST_SYSTEM_BLOCK, last - i);
        const double *value = p->s->slices->value + i;
        read_block(p, w, i, count);
        if (counts)
            host_terms_counts(t, value, count, p->s->unlisted, to.number);
        else
            host_terms_squares(t, value, count, p->s->unlisted, to.number);
        p->kernel->add_vector(w->z, count, p->ld, t->c, to.b);
        if (to.factor > 0)
            p->kernel->factor(w->z, count, p->ld, t->w, to.g);
        else if (p->s->matrix)
            p->kernel->add(w->z, count, p->ld, t->w, w->wz, i == first, to.g);
        if (counts && p->s->weighed)
            p->kernel->add_vector(w->z, count, p->ld, t->q, to.q);
    }
}

/* Gives the sink the rows whose systems are whole. */
static void hand_over(const struct pass *p, struct work *w, struct host_row_totals *totals)
{
    if (w->rows.count > 0)
        p->s->sink(p->s->context, &w->rows, w->scratch, totals);
    w->rows.count = 0;
    w->a = w->rows.a[0];
}

/* Gives the sink one row with Y, before those that wait for others. */
static void hand_over_one(const struct pass *p, uint64_t row, const struct host_system *system,
                          struct work *w, struct host_row_totals *totals)
{
    const struct host_system_rows one = {
        .count = 1, .row = {row}, .system = {*system}, .a = {w->a}};
    p->s->sink(p->s->context, &one, w->scratch, totals);
}

/* The system of `row`, which is in w->a, is whole. */
static void end_row(const struct pass *p, uint64_t row, struct work *w,
                    struct host_row_totals *totals)
{
    w->rows.row[w->rows.count++] = row;
    if (w->rows.count == p->s->rows)
        hand_over(p, w, totals);
    w->a = w->rows.a[w->rows.count];
}

static void sum_run(const struct pass *p, uint64_t k, struct work *w)
{
    struct run *run = &p->run[k];
    const struct host_slices *x = p->s->slices;
    uint64_t i = run->first;
    for (uint64_t slice = run->slice; i < run->last; slice++) {
        const uint64_t end = least_of(x->end[slice], run->last), row = x->row[slice];
        const bool head = run->head && slice == run->slice, tail = x->end[slice] > end;
        struct host_system system = w->rows.system[w->rows.count];
        if (head || tail)
            system = host_system_at(end_of(p, k, !head), p->rank);
        else if (end - i <= p->s->factor)
            system.factor = end - i;
        read_row(p, row, w->a);
        sum_row(p, w, i, end, &system);
        if (system.factor > 0)
            hand_over_one(p, row, &system, w, &run->totals);
        else if (!head && !tail)
            end_row(p, row, w, &run->totals);
        i = end;
    }
    hand_over(p, w, &run->totals);
}

/* Adds the ends of runs that belong to one row, in the order of the runs. */
static void join_ends(const struct pass *p, struct host_row_totals *totals)
{
    const struct host_slices *x = p->s->slices;
    struct work w = work_of(p, 0);
    double *open = NULL; /* the sum of a row that began in a run before */
    for (uint64_t k = 0; k < p->runs; k++) {
        const struct run *run = &p->run[k];
        if (run->head) {
            host_system_join(open, end_of(p, k, 0), p->length);
            if (x->end[run->slice] <= run->last) {
                read_row(p, x->row[run->slice], w.a);
                w.rows.system[w.rows.count] = host_system_at(open, p->rank);
                end_row(p, x->row[run->slice], &w, totals);
            }
        }
        open = run->tail ? end_of(p, k, 1) : open;
    }
    hand_over(p, &w, totals);
}

enum status host_systems_sum(const struct host_systems *s, uint64_t first, uint64_t last,
                             struct host_row_totals *totals, struct error *error)
{
    struct pass p;
    const struct host_slices *x = s->slices;
    if (first == last)
        return STATUS_OK;
    const uint64_t begin = first > 0 ? x->end[first - 1] : 0;
    if (begin_pass(&p, s, begin, x->end[last - 1] - begin, error) != STATUS_OK)
        goto done;
#pragma omp parallel if (p.runs > 1)
    {
        struct work w = work_of(&p, omp_get_thread_num());
#pragma omp for schedule(dynamic)
        for (uint64_t k = 0; k < p.runs; k++)
            sum_run(&p, k, &w);
    }
    for (uint64_t k = 0; k < p.runs; k++)
        host_row_totals_add(totals, &p.run[k].totals);
    join_ends(&p, totals);
done:
    end_pass(&p);
    return error->status;
}

/* The sums over a run. */
static struct host_value_sums run_values(const struct pass *p, const struct run *run,
                                         struct work *w)
{
    const struct host_slices *x = p->s->slices;
    struct host_value_sums sums = {0};
    uint64_t slice = run->slice;
    for (uint64_t i = run->first, count; i < run->last; i += count) {
        slice += i == x->end[slice];
        count = least_of(HOST_SYSTEM_BLOCK, least_of(x->end[slice], run->last) - i);
        read_row(p, x->row[slice], w->a);
        read_block(p, w, i, count);
        if (p->s->loss == LOSS_POISSON)
            host_terms_misfits(&w->t, x->value + i, count, p->s->unlisted, &sums);
        else
            sums.model_sq += host_terms_model_sq(&w->t, x->value + i, count);
    }
    return sums;
}

enum status host_systems_values(const struct host_systems *s, struct host_value_sums *sums,
                                struct error *error)
{
    struct pass p;
    *sums = (struct host_value_sums){0};
    if (begin_pass(&p, s, 0, s->slices->nnz, error) != STATUS_OK)
        goto done;
#pragma omp parallel if (p.runs > 1)
    {
        struct work w = work_of(&p, omp_get_thread_num());
#pragma omp for schedule(dynamic)
        for (uint64_t k = 0; k < p.runs; k++)
            p.run[k].values = run_values(&p, &p.run[k], &w);
    }
    for (uint64_t k = 0; k < p.runs; k++) {
        sums->model_sq += p.run[k].values.model_sq;
        sums->model += p.run[k].values.model;
        sums->misfit += p.run[k].values.misfit;
    }
done:
    end_pass(&p);
    return error->status;
}
