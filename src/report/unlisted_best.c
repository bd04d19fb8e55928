#include "report/unlisted_best.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/least.h"
#include "base/memory.h"
#include "base/vector_clones.h"
#include "report/unlisted_modes.h"

#define MORE_ROOM  64  /* candidates beside twice those that are wanted          */
#define UPDATE_GAP 256 /* indices of the first free mode between two reports of progress */

struct search {
    const struct unlisted_slice *slice;
    struct unlisted_modes modes; /* owned */
    uint64_t wanted, room;
    struct progress *progress;
    double threshold; /* no smaller value is wanted any more */
};

/* Of one thread. */
struct finder {
    struct search *search;
    struct cell cell;
    struct best_entry *entry; /* (search->room) candidates; owned */
    uint64_t count;
    double *product; /* (free modes x R); owned */
    double threshold;
};

/* --- candidates --- */

static int compare_entries(const void *a, const void *b)
{
    const struct best_entry *x = a, *y = b;
    if (x->value != y->value)
        return x->value > y->value ? -1 : 1;
    for (int n = 0; n < MAX_ORDER; n++)
        if (x->cell.index[n] != y->cell.index[n])
            return x->cell.index[n] < y->cell.index[n] ? -1 : 1;
    return 0;
}

/* Keeps the candidates that may be wanted, and raises the threshold of all threads. */
static void keep_best(struct finder *f)
{
    struct search *s = f->search;
    double all;
    qsort(f->entry, f->count, sizeof *f->entry, compare_entries);
    f->count = least_of(f->count, s->wanted);
    if (f->count < s->wanted)
        return;
    f->threshold = fmax(f->threshold, f->entry[f->count - 1].value);
#pragma omp critical(unlisted_best)
    s->threshold = all = fmax(s->threshold, f->threshold);
    f->threshold = all;
}

static void offer(struct finder *f, double value)
{
    if (unlisted_slice_lists(f->search->slice, &f->cell))
        return;
    if (f->count == f->search->room)
        keep_best(f);
    f->entry[f->count++] = (struct best_entry){f->cell, value};
}

/* --- the search --- */

/* value[j] = the sum over r of p[r] bundle[r][j]. */
VECTOR_CLONES static void multiply(double *value, const double *p, const double *bundle,
                                   uint64_t rank)
{
    memset(value, 0, BUNDLE * sizeof *value);
    for (uint64_t r = 0; r < rank; r++)
        for (int j = 0; j < BUNDLE; j++)
            value[j] += p[r] * bundle[r * BUNDLE + (uint64_t)j];
}

/* All indices of the last free mode. */
static void scan(struct finder *f, const double *p)
{
    const struct unlisted_modes *m = &f->search->modes;
    const struct free_mode *mode = &m->mode[m->count - 1];
    const double norm = free_mode_norm(p, m->rank);
    double value[BUNDLE];
    for (uint64_t b = 0; b < m->last.bundles; b++) {
        if (norm * m->last.norm[b] < f->threshold)
            return;
        multiply(value, p, m->last.bundle + b * m->rank * BUNDLE, m->rank);
        const uint64_t first = b * BUNDLE, rows = least_of(BUNDLE, mode->length - first);
        for (uint64_t j = 0; j < rows; j++)
            if (value[j] >= f->threshold && value[j] != 0) {
                f->cell.index[mode->n] = m->last.index[first + j];
                offer(f, value[j]);
            }
    }
}

/* Goes on with index i of free mode d, p being the product of the rows before. */
static void descend(struct finder *f, int d, uint64_t i, const double *p)
{
    const struct unlisted_modes *m = &f->search->modes;
    const struct free_mode *mode = &m->mode[d];
    double *product = f->product + (uint64_t)d * m->rank;
    for (uint64_t r = 0; r < m->rank; r++)
        product[r] = p[r] * mode->rows[i * m->rank + r];
    if (free_mode_bound(product, mode + 1, m->rank) < f->threshold)
        return;
    f->cell.index[mode->n] = (uint32_t)i;
    if (d + 2 == m->count) {
        scan(f, product);
        return;
    }
    for (uint64_t next = 0; next < mode[1].length; next++)
        descend(f, d + 1, next, product);
}

/* Index k, in descending order of bounds, of the first free mode. */
static void take_outer(struct finder *f, uint64_t k)
{
    struct search *s = f->search;
    const struct unlisted_modes *m = &s->modes;
    double threshold;
#pragma omp critical(unlisted_best)
    threshold = s->threshold;
    f->threshold = fmax(f->threshold, threshold);
    if (m->outer[k].bound < f->threshold)
        return;
    descend(f, 0, m->outer[k].index, m->given);
    if (omp_get_thread_num() == 0 && k % UPDATE_GAP == 0)
        progress_update(s->progress, (double)k / (double)m->mode[0].length, "%ju of %ju indices",
                        (uintmax_t)k, (uintmax_t)m->mode[0].length);
}

static enum status make_finders(struct finder *finder, int threads, struct search *s,
                                struct error *error)
{
    for (int t = 0; t < threads; t++) {
        struct finder *f = &finder[t];
        f->search = s;
        f->threshold = -INFINITY;
        memcpy(f->cell.index, s->slice->index, sizeof f->cell.index);
        f->entry = memory_array(s->room, sizeof *f->entry, error);
        f->product =
            memory_array((uint64_t)s->modes.count * s->modes.rank, sizeof *f->product, error);
        TRY(error->status);
    }
    return STATUS_OK;
}

static void run(struct search *s, struct finder *finder, int threads)
{
    const struct unlisted_modes *m = &s->modes;
    if (m->count == 1) {
        scan(&finder[0], m->given);
        return;
    }
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (uint64_t k = 0; k < m->mode[0].length; k++)
        take_outer(&finder[omp_get_thread_num()], k);
}

/* The best of the candidates of all threads. */
static enum status join(struct unlisted_best *best, const struct search *s,
                        const struct finder *finder, int threads, struct error *error)
{
    uint64_t count = 0;
    for (int t = 0; t < threads; t++)
        count += finder[t].count;
    best->entry = memory_array(count, sizeof *best->entry, error);
    if (!best->entry)
        return error->status;
    for (int t = 0; t < threads; t++) {
        memcpy(best->entry + best->count, finder[t].entry, finder[t].count * sizeof *best->entry);
        best->count += finder[t].count;
    }
    qsort(best->entry, best->count, sizeof *best->entry, compare_entries);
    best->count = least_of(best->count, s->wanted);
    return STATUS_OK;
}

enum status unlisted_best_find(struct unlisted_best *best, const struct ktensor *k,
                               const struct unlisted_slice *slice, uint64_t wanted,
                               struct progress *progress, struct error *error)
{
    struct search s = {.slice = slice, .progress = progress, .threshold = -INFINITY};
    const int threads = omp_get_max_threads();
    struct finder *finder = memory_zeros((uint64_t)threads, sizeof *finder, error);
    *best = (struct unlisted_best){0};
    if (!finder)
        return error->status;
    if (unlisted_modes_create(&s.modes, k, slice, error) != STATUS_OK || s.modes.zero)
        goto done;
    s.wanted = least_of(wanted, unlisted_modes_entries(&s.modes));
    s.room = 2 * s.wanted + MORE_ROOM;
    TRY_OR(done, make_finders(finder, threads, &s, error));
    run(&s, finder, threads);
    join(best, &s, finder, threads, error);
done:
    for (int t = 0; t < threads; t++) {
        memory_free(finder[t].entry);
        memory_free(finder[t].product);
    }
    memory_free(finder);
    unlisted_modes_free(&s.modes);
    return error->status;
}

void unlisted_best_free(struct unlisted_best *best)
{
    memory_free(best->entry);
    *best = (struct unlisted_best){0};
}
