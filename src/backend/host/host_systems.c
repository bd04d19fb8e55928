#include "backend/host/host_systems.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "backend/host/simd_width.h"
#include "base/least.h"
#include "base/machine.h"
#include "base/memory.h"

/* Where runs are cut does not depend on the number of threads. */
#define MAX_RUNS     1024
#define MIN_RUNS     16
#define JOINED       16                   /* runs that a thread joins at a time */
#define RUN_NNZ      1024                 /* nonzeros of a run, at least       */
#define ENDS_ROOM    (UINT64_C(64) << 20) /* bytes of the runs' ends, at most */
#define AHEAD        16                   /* nonzeros from a row's prefetch to its use */
#define RATES_PART   4                    /* nonzeros of a row whose z need not be stored, about */
#define LINE_DOUBLES 8                    /* of a cache */
#define NEAR_BYTES   (16 * 1024) /* of a block's z and wz, which stay in the nearest cache */

_Static_assert(SYSTEM_NUMBERS <= HOST_SYSTEM_PAD, "the numbers have room before b");
_Static_assert(HOST_SYSTEM_PAD <= HOST_SLICES_PAD, "kernels read on after the last nonzero");
_Static_assert(TERM_BLOCK % HOST_SYSTEM_PAD == 0, "a block has room for what is read on");

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

/* Adds `from` to `to`, systems of parts of one row; their lengths are `length`. */
static void join_systems(double *to, const double *from, uint64_t length)
{
    const double least = loss_least(to[SYSTEM_LEAST], from[SYSTEM_LEAST]);
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
    struct loss_sums values;
};

/* The nonzeros of a block that belong to one row. */
struct block_part {
    uint64_t slice;
    uint64_t first, count; /* of the block's nonzeros */
};

/* A block of neighbouring nonzeros in the ordering of a mode, of one row or of several, which are
 * worked on together, so that vectors are full even where rows are short. In one thread's room. */
struct block {
    uint64_t first, count; /* nonzeros [first, first + count), at most p->most */
    uint64_t parts;
    struct block_part part[TERM_BLOCK];
    const double *row[TERM_BLOCK]; /* of each nonzero, laid out, in `laid` */
    double *laid;                  /* (TERM_BLOCK x ld): the parts' rows */
    uint64_t laid_slice;           /* whose row stands first in `laid` */
    double *z, *wz;                /* (TERM_BLOCK x ld) */
    double *a;                     /* (ld) */
    bool rates;                    /* add_part makes all that is needed: z, t are unused */
    struct loss_terms t;
};

/* One thread's room. */
struct thread_room {
    struct host_system_rows rows; /* whose systems are whole; the next ones have room, too */
    struct block block;
    double *scratch;
};

struct pass {
    const struct host_systems *s;
    const struct host_systems_kernels *kernel;
    struct host_products products;
    bool later;    /* where G is added, the rows of the next block are prefetched */
    bool only_c;   /* of terms: neither G nor q is summed */
    bool rates;    /* nor need z be stored */
    uint64_t most; /* nonzeros of a block, a multiple of HOST_SYSTEM_PAD */
    uint64_t rank, ld, length;
    uint64_t runs;
    struct run *run; /* (runs); owned                           */
    double *ends;    /* (runs x 2 x length): heads and tails; owned     */
    double *rooms;   /* (threads x room); owned                 */
    uint64_t room;
};

/* Doubles of a block's arrays, which are 0 at first. */
static uint64_t block_room(uint64_t ld)
{
    return (3 * TERM_BLOCK + 1) * ld;
}

/* a (ld) = row `row` as it is, with its weights. */
static void read_row(const struct pass *p, uint64_t row, double *a)
{
    const struct host_rows *f = p->s->factors;
    const void *entries = f->of[p->s->slices->mode];
    p->kernel->read_row(&p->products, host_entry_of(entries, row * f->rank, f->precision),
                        p->s->now, a);
}

/* Makes z and t.m of `count` nonzeros of the block from number k on; where b is not NULL, only adds
 * to it, and these have one row. */
static void multiply(const struct pass *p, struct block *x, uint64_t k, uint64_t count, double *b)
{
    p->kernel->products(&p->products,
                        &(struct host_products_block){.first = x->first + k,
                                                      .count = count,
                                                      .one = x->parts == 1,
                                                      .a = x->row + k,
                                                      .z = x->z,
                                                      .m = x->t.m,
                                                      .value = p->s->slices->value + x->first + k,
                                                      .b = b});
}

/* *x = the next of nonzeros [first, last), of which the first is in `slice`: its parts, z and t.m.
 */
static void read_block(const struct pass *p, struct block *x, uint64_t slice, uint64_t first,
                       uint64_t last)
{
    const struct host_slices *s = p->s->slices;
    const uint64_t ld = p->ld, count = least_of(p->most, last - first);
    x->first = first;
    x->count = count;
    x->parts = 0;
    for (uint64_t k = 0; k < count; k += LINE_DOUBLES)
        __builtin_prefetch(s->value + first + TERM_BLOCK + k);
    for (uint64_t k = 0; k < count; slice++) {
        const uint64_t end = least_of(s->end[slice] - first, count);
        if (x->parts > 0 || x->laid_slice != slice) {
            read_row(p, s->row[slice], x->a);
            p->kernel->lay_out(&p->products, x->a, x->laid + x->parts * ld);
        }
        x->part[x->parts++] = (struct block_part){slice, k, end - k};
        k = end;
    }
    x->laid_slice = x->part[0].slice;
    for (uint64_t n = 0; x->parts > 1 && n < x->parts; n++)
        for (uint64_t k = 0; k < x->part[n].count; k++)
            x->row[x->part[n].first + k] = x->laid + n * ld;
    x->rates = p->rates && x->parts * RATES_PART <= count;
    if (!x->rates)
        multiply(p, x, 0, count, NULL);
}

static double *end_of(const struct pass *p, uint64_t run, int tail)
{
    return p->ends + (2 * run + (uint64_t)tail) * p->length;
}

static void begin_work(const struct pass *p, int thread, struct thread_room *w)
{
    double *room = p->rooms + (uint64_t)thread * p->room;
    struct block *x = &w->block;
    memset(room, 0, p->room * sizeof *room);
    w->rows.count = 0;
    x->z = room;
    x->wz = x->z + TERM_BLOCK * p->ld;
    x->laid = x->wz + TERM_BLOCK * p->ld;
    x->a = x->laid + TERM_BLOCK * p->ld;
    x->laid_slice = UINT64_MAX;
    for (uint64_t k = 0; k < TERM_BLOCK; k++)
        x->row[k] = x->laid;
    room += block_room(p->ld);
    for (uint64_t l = 0; l < p->s->rows; l++) {
        w->rows.system[l] = host_system_at(room, p->rank);
        w->rows.a[l] = room + p->length;
        room += p->length + p->ld;
    }
    w->scratch = room;
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
    const struct host_slices *slices = s->slices;
    const struct host_rows *factors = s->factors;
    const uint64_t rank = factors->rank, ld = host_system_ld(rank);
    const bool matrix = s->rules->matrix;
    *p = (struct pass){.s = s,
                       .kernel = SIMD_DOUBLES(host_systems, simd_width(rank, PRECISION_DOUBLE)),
                       .rank = rank,
                       .ld = ld,
                       .length = host_system_length(rank, matrix),
                       .products = {.others = slices->shape.order - 1,
                                    .nnz = slices->nnz,
                                    .rank = rank,
                                    .ld = ld,
                                    .precision = factors->precision}};

    /* as many nonzeros in a block as fit, at least two for each entry of the widest vectors */
    const uint64_t fit = NEAR_BYTES / ((matrix ? 2 : 1) * ld * sizeof(double));
    const uint64_t block = least_of(TERM_BLOCK, fit), two = 2 * HOST_SYSTEM_PAD;
    p->most = block < two ? two : block / HOST_SYSTEM_PAD * HOST_SYSTEM_PAD;

    uint64_t bytes = 0; /* of the other modes' rows */
    for (int n = 0, k = 0; n < slices->shape.order; n++) {
        if (n == slices->mode)
            continue;
        bytes += slices->shape.dims[n] * rank * precision_bytes(factors->precision);
        p->products.rows[k] = factors->of[n];
        p->products.coordinate[k++] = slices->coordinate[n];
    }
    const bool far = bytes > machine_core_cache();
    p->later = far && matrix && s->sink && ld > HOST_SYSTEM_PAD;
    p->products.ahead = far && !p->later ? AHEAD : 0;
    p->only_c = !matrix && !s->rules->weighed;
    p->rates = s->sink && p->only_c && s->rules->kind == POISSON_COUNTS &&
               p->products.others >= 2 && p->products.others <= 3 && rank >= p->kernel->least &&
               rank <= p->kernel->most;

    /* about as many runs as threads can share evenly, as few as their ends have room for */
    const uint64_t room = ENDS_ROOM / (2 * p->length * sizeof(double));
    const uint64_t most = least_of(MAX_RUNS, room > MIN_RUNS ? room : MIN_RUNS);
    p->runs = least_of(least_of(most, nnz / RUN_NNZ + 1), nnz);
    p->room = block_room(ld) + s->rows * (p->length + ld) + host_system_ld(s->scratch);
    p->run = memory_array(p->runs, sizeof *p->run, error);
    p->ends = memory_array(p->runs, 2 * p->length * sizeof *p->ends, error);
    p->rooms = memory_array((size_t)omp_get_max_threads(), p->room * sizeof *p->rooms, error);
    if (error->status == STATUS_OK)
        cut_runs(p, first, nnz);
    return error->status;
}

static void end_pass(struct pass *p)
{
    memory_free(p->run, p->ends, p->rooms);
}

/* Adds a part of the block to the system of its row, or begins it; with Y where it is `short_row`.
 */
static void add_part(const struct pass *p, struct block *x, const struct block_part *part,
                     bool begins, bool short_row, struct host_system *to)
{
    const struct host_systems_kernels *kernel = p->kernel;
    const uint64_t k = part->first, count = part->count, later = x->first + k + p->most;
    const uint64_t next = p->later && later + count <= p->products.nnz ? later : 0;
    const double *value = p->s->slices->value + x->first + k, *z = x->z + k * p->ld;
    if (begins)
        memset(to->number, 0, (HOST_SYSTEM_PAD + 2 * p->ld) * sizeof *to->number);
    p->s->loss->add_numbers(x->t.misfit + k, value, count, to->number);
    if (x->rates)
        multiply(p, x, k, count, to->b);
    else
        kernel->add_vector(z, count, p->ld, x->t.c + k, to->b);
    if (short_row)
        kernel->factor(&p->products, next, z, count, x->t.w + k, to->g + to->factor * p->ld);
    else if (p->s->rules->matrix)
        kernel->add(&p->products, next, z, count, x->t.w + k, x->wz, begins, to->g);
    if (p->s->rules->weighed)
        kernel->add_vector(z, count, p->ld, x->t.q + k, to->q);
    to->factor += short_row ? count : 0;
}

/* Gives the sink the rows whose systems are whole. */
static void hand_over(const struct pass *p, struct thread_room *w, struct host_row_totals *totals)
{
    if (w->rows.count > 0)
        p->s->sink(p->s->context, &w->rows, w->scratch, totals);
    w->rows.count = 0;
}

/* The next system is whole: that of `row`. A row with Y goes to the sink alone, before those that
 * wait for others. */
static void end_row(const struct pass *p, uint64_t row, struct thread_room *w,
                    struct host_row_totals *totals)
{
    struct host_system_rows *rows = &w->rows;
    const uint64_t l = rows->count;
    struct host_system *system = &rows->system[l];
    read_row(p, row, rows->a[l]);
    if (system->factor > 0) {
        const struct host_system_rows one = {
            .count = 1, .row = {row}, .system = {*system}, .a = {rows->a[l]}};
        p->s->sink(p->s->context, &one, w->scratch, totals);
        system->factor = 0;
        return;
    }
    rows->row[l] = row;
    if (++rows->count == p->s->rows)
        hand_over(p, w, totals);
}

/* Adds the parts of the block, which is of run k; *from is the first nonzero of the row that its
 * first part belongs to, and becomes that of the next block's. Returns the next block's slice. */
static uint64_t add_block(const struct pass *p, uint64_t k, struct thread_room *w, uint64_t *from)
{
    struct run *run = &p->run[k];
    const struct host_slices *x = p->s->slices;
    struct block *block = &w->block;
    uint64_t slice = run->slice;
    for (uint64_t n = 0; n < block->parts; n++) {
        const struct block_part *part = &block->part[n];
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

static void sum_run(const struct pass *p, uint64_t k, struct thread_room *w)
{
    struct run *run = &p->run[k];
    uint64_t slice = run->slice, from = run->first;
    for (uint64_t i = run->first; i < run->last; i += w->block.count) {
        read_block(p, &w->block, slice, i, run->last);
        if (!w->block.rates)
            p->s->loss->terms(&w->block.t, p->s->slices->value + i, w->block.count,
                              p->s->rules->unlisted, p->only_c);
        slice = add_block(p, k, w, &from);
    }
    hand_over(p, w, &run->totals);
}

/* Sums the rows that begin in one of JOINED runs from run `first` on and end in a later one, in the
 * order of the runs. */
static void join_tails(const struct pass *p, uint64_t first, struct thread_room *w)
{
    const struct host_slices *x = p->s->slices;
    struct host_row_totals *totals = &p->run[first].joined;
    for (uint64_t k = first; k < p->runs && k < first + JOINED; k++) {
        uint64_t end = k; /* the run that the row ends in */
        double *sum = end_of(p, k, 1);
        if (!p->run[k].tail)
            continue;
        do {
            join_systems(sum, end_of(p, ++end, 0), p->length);
        } while (x->end[p->run[end].slice] > p->run[end].last);
        w->rows.system[w->rows.count] = host_system_at(sum, p->rank);
        end_row(p, x->row[p->run[end].slice], w, totals);
    }
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
        struct thread_room w;
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
static struct loss_sums run_values(const struct pass *p, const struct run *run,
                                   struct thread_room *w)
{
    const struct host_slices *x = p->s->slices;
    struct loss_sums sums = {0};
    struct block *block = &w->block;
    uint64_t slice = run->slice;
    for (uint64_t i = run->first; i < run->last; i += block->count) {
        read_block(p, block, slice, i, run->last);
        slice = block->part[block->parts - 1].slice;
        slice += x->end[slice] == i + block->count;
        p->s->loss->sum_values(&block->t, x->value + i, block->count, p->s->rules->unlisted, &sums);
    }
    return sums;
}

enum status host_systems_values(const struct host_systems *s, struct loss_sums *sums,
                                struct error *error)
{
    struct pass p;
    *sums = (struct loss_sums){0};
    TRY_OR(done, begin_pass(&p, s, 0, s->slices->nnz, error));
#pragma omp parallel if (p.runs > 1)
    {
        struct thread_room w;
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
