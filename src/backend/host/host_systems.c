#include "backend/host/host_systems.h"

#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <string.h>

#include "backend/host/host_blocks.h"
#include "base/least.h"
#include "base/memory.h"

/* Where runs are cut does not depend on the number of threads. */
#define MAX_RUNS  1024
#define MIN_RUNS  16
#define JOINED    16                   /* runs that a thread joins at a time */
#define RUN_NNZ   1024                 /* nonzeros of a run, at least       */
#define ENDS_ROOM (UINT64_C(64) << 20) /* bytes of the runs' ends, at most */

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
    struct host_row_totals joined; /* of the rows that join_tails takes with this run's */
    struct host_value_sums values;
};

/* One thread's room. */
struct work {
    struct host_system_rows rows; /* whose systems are whole; the next ones have room, too */
    struct host_block block;
    double *scratch;
};

struct pass {
    const struct host_systems *s;
    struct host_blocks blocks;
    uint64_t rank, ld, length;
    uint64_t runs;
    struct run *run; /* (runs); owned                           */
    double *ends;    /* (runs x 2 x length): heads and tails; owned     */
    double *rooms;   /* (threads x room); owned                 */
    uint64_t room;
};

static double *end_of(const struct pass *p, uint64_t run, int tail)
{
    return p->ends + (2 * run + (uint64_t)tail) * p->length;
}

static void begin_work(const struct pass *p, int thread, struct work *w)
{
    double *room = p->rooms + (uint64_t)thread * p->room;
    memset(room, 0, p->room * sizeof *room);
    w->rows.count = 0;
    host_block_begin(&w->block, p->ld, room);
    room += host_block_room(p->ld);
    for (uint64_t l = 0; l < p->s->rows; l++) {
        w->rows.system[l] = host_system_at(room, p->rank);
        w->rows.a[l] = room + p->length;
        room += p->length + p->ld;
    }
    w->scratch = room;
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
                       .blocks = host_blocks_of(s->slices, s->factors, s->now, s->matrix),
                       .rank = rank,
                       .ld = ld,
                       .length = host_system_length(rank, s->matrix)};
    p->runs = count_runs(p, nnz);
    p->room = host_block_room(ld) + s->rows * (p->length + ld) + host_system_ld(s->scratch);
    p->run = memory_array(p->runs, sizeof *p->run, error);
    p->ends = memory_array(p->runs, 2 * p->length * sizeof *p->ends, error);
    p->rooms = memory_array((size_t)omp_get_max_threads(), p->room * sizeof *p->rooms, error);
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

/* c, w and what else follows from m, of a block. */
static void make_terms(const struct pass *p, struct host_block *x)
{
    const double *value = p->s->slices->value + x->first;
    if (p->s->loss == LOSS_POISSON)
        host_terms_counts(&x->t, value, x->count, p->s->unlisted);
    else
        host_terms_squares(&x->t, value, x->count, p->s->unlisted);
}

/* Adds a part of the block to the system of its row, or begins it; with Y where it is `short_row`.
 */
static void add_part(const struct pass *p, const struct host_block *x,
                     const struct host_block_part *part, bool begins, bool short_row,
                     struct host_system *to)
{
    const struct host_systems_kernels *kernel = p->blocks.kernel;
    const uint64_t k = part->first, count = part->count;
    const double *value = p->s->slices->value + x->first + k, *z = x->z + k * p->ld;
    if (begins)
        memset(to->number, 0, (HOST_SYSTEM_PAD + 2 * p->ld) * sizeof *to->number);
    if (p->s->loss == LOSS_POISSON)
        host_terms_sum_counts(value, count, to->number);
    else
        host_terms_sum_squares(x->t.misfit + k, value, count, to->number);
    kernel->add_vector(z, count, p->ld, x->t.c + k, to->b);
    if (short_row)
        kernel->factor(z, count, p->ld, x->t.w + k, to->g + to->factor * p->ld);
    else if (p->s->matrix)
        kernel->add(z, count, p->ld, x->t.w + k, x->wz, begins, to->g);
    if (p->s->loss == LOSS_POISSON && p->s->weighed)
        kernel->add_vector(z, count, p->ld, x->t.q + k, to->q);
    to->factor += short_row ? count : 0;
}

/* Gives the sink the rows whose systems are whole. */
static void hand_over(const struct pass *p, struct work *w, struct host_row_totals *totals)
{
    if (w->rows.count > 0)
        p->s->sink(p->s->context, &w->rows, w->scratch, totals);
    w->rows.count = 0;
}

/* Gives the sink one row with Y, before those that wait for others. */
static void hand_over_one(const struct pass *p, uint64_t row, struct work *w,
                          struct host_row_totals *totals)
{
    const uint64_t l = w->rows.count;
    const struct host_system_rows one = {
        .count = 1, .row = {row}, .system = {w->rows.system[l]}, .a = {w->rows.a[l]}};
    host_blocks_row(&p->blocks, row, w->rows.a[l]);
    p->s->sink(p->s->context, &one, w->scratch, totals);
    w->rows.system[l].factor = 0;
}

/* The next system is whole: that of `row`. */
static void end_row(const struct pass *p, uint64_t row, struct work *w,
                    struct host_row_totals *totals)
{
    const uint64_t l = w->rows.count;
    if (w->rows.system[l].factor > 0) {
        hand_over_one(p, row, w, totals);
        return;
    }
    w->rows.row[l] = row;
    host_blocks_row(&p->blocks, row, w->rows.a[l]);
    if (++w->rows.count == p->s->rows)
        hand_over(p, w, totals);
}

/* Adds the parts of the block, which is of run k; *from is the first nonzero of the row that its
 * first part belongs to, and becomes that of the next block's. Returns the next block's slice. */
static uint64_t add_block(const struct pass *p, uint64_t k, struct work *w, uint64_t *from)
{
    struct run *run = &p->run[k];
    const struct host_slices *x = p->s->slices;
    const struct host_block *block = &w->block;
    uint64_t slice = run->slice;
    for (uint64_t n = 0; n < block->parts; n++) {
        const struct host_block_part *part = &block->part[n];
        const uint64_t first = block->first + part->first, last = first + part->count;
        slice = part->slice;
        const bool head = run->head && slice == run->slice, tail = x->end[slice] > run->last;
        const bool whole = !head && !tail;
        struct host_system end, *system = &w->rows.system[w->rows.count];
        if (!whole) {
            end = host_system_at(end_of(p, k, !head), p->rank);
            system = &end;
            if (first == *from) /* all is added, also what does not count */
                memset(end.number, 0, p->length * sizeof *end.number);
        }
        add_part(p, block, part, first == *from, whole && x->end[slice] - *from <= p->s->factor,
                 system);
        if (x->end[slice] > last)
            continue;
        if (whole)
            end_row(p, x->row[slice], w, &run->totals);
        *from = x->end[slice++];
    }
    return slice;
}

static void sum_run(const struct pass *p, uint64_t k, struct work *w)
{
    struct run *run = &p->run[k];
    uint64_t slice = run->slice, from = run->first;
    for (uint64_t i = run->first; i < run->last; i += w->block.count) {
        host_block_read(&p->blocks, &w->block, slice, i, run->last);
        make_terms(p, &w->block);
        slice = add_block(p, k, w, &from);
    }
    hand_over(p, w, &run->totals);
}

/* Sums the row that begins in run k and ends in a later one, in the order of the runs. */
static void join_tail(const struct pass *p, uint64_t k, struct work *w,
                      struct host_row_totals *totals)
{
    const struct host_slices *x = p->s->slices;
    double *sum = end_of(p, k, 1);
    do {
        host_system_join(sum, end_of(p, ++k, 0), p->length);
    } while (x->end[p->run[k].slice] > p->run[k].last);
    w->rows.system[w->rows.count] = host_system_at(sum, p->rank);
    end_row(p, x->row[p->run[k].slice], w, totals);
}

/* The same of all of JOINED runs from run `first` on. */
static void join_tails(const struct pass *p, uint64_t first, struct work *w)
{
    struct host_row_totals *totals = &p->run[first].joined;
    for (uint64_t k = first; k < p->runs && k < first + JOINED; k++)
        if (p->run[k].tail)
            join_tail(p, k, w, totals);
    hand_over(p, w, totals);
}

enum status host_systems_sum(const struct host_systems *s, uint64_t first, uint64_t last,
                             struct host_row_totals *totals, struct error *error)
{
    struct pass p;
    const struct host_slices *x = s->slices;
    if (first == last)
        return STATUS_OK;
    const uint64_t begin = first > 0 ? x->end[first - 1] : 0;
    TRY_OR(done, begin_pass(&p, s, begin, x->end[last - 1] - begin, error));
#pragma omp parallel if (p.runs > 1)
    {
        struct work w;
        begin_work(&p, omp_get_thread_num(), &w);
#pragma omp for schedule(dynamic)
        for (uint64_t k = 0; k < p.runs; k++)
            sum_run(&p, k, &w);
#pragma omp for schedule(dynamic)
        for (uint64_t k = 0; k < p.runs; k += JOINED)
            join_tails(&p, k, &w);
    }
    for (uint64_t k = 0; k < p.runs; k++)
        host_row_totals_add(totals, &p.run[k].totals);
    for (uint64_t k = 0; k < p.runs; k += JOINED)
        host_row_totals_add(totals, &p.run[k].joined);
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
    struct host_block *block = &w->block;
    uint64_t slice = run->slice;
    for (uint64_t i = run->first; i < run->last; i += block->count) {
        host_block_read(&p->blocks, block, slice, i, run->last);
        slice = block->part[block->parts - 1].slice;
        slice += x->end[slice] == i + block->count;
        if (p->s->loss == LOSS_POISSON)
            host_terms_misfits(&block->t, x->value + i, block->count, p->s->unlisted, &sums);
        else
            sums.model_sq += host_terms_model_sq(&block->t, x->value + i, block->count);
    }
    return sums;
}

enum status host_systems_values(const struct host_systems *s, struct host_value_sums *sums,
                                struct error *error)
{
    struct pass p;
    *sums = (struct host_value_sums){0};
    TRY_OR(done, begin_pass(&p, s, 0, s->slices->nnz, error));
#pragma omp parallel if (p.runs > 1)
    {
        struct work w;
        begin_work(&p, omp_get_thread_num(), &w);
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
