#include "report/residuals.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/least.h"
#include "base/memory.h"

#define PART       4096 /* entries that are passed over together where none of them is strange */
#define FEW_PARTS  256  /* parts that are looked at by all threads at a time                   */
#define LEAST_ROOM 64   /* strange entries */

enum status residuals_begin(struct residuals *r, const struct shape *shape, enum residual_kind kind,
                            uint64_t strangest, struct error *error)
{
    *r = (struct residuals){.kind = kind, .shape = *shape, .strangest = strangest, .weakest = -1};
    for (int n = 0; n < shape->order; n++) {
        struct slice_residuals *s = &r->slice[n];
        s->squares = memory_zeros(shape->dims[n], sizeof *s->squares, error);
        s->known = memory_zeros(shape->dims[n], sizeof *s->known, error);
        if (error->status != STATUS_OK) {
            residuals_free(r);
            return error->status;
        }
    }
    return STATUS_OK;
}

/* --- sums, each in the order of the entries --- */

static void add_slices(struct residuals *r, int n, const struct coo *x, const double *model)
{
    struct slice_residuals *s = &r->slice[n];
    const uint32_t *index = x->index[n];
    for (uint64_t i = 0; i < x->nnz; i++) {
        const double residual = residual_of(r->kind, x->value[i], model[i]);
        if (!isnan(residual)) {
            s->squares[index[i]] += residual * residual;
            s->known[index[i]]++;
        }
    }
}

static void add_all(struct residuals *r, const struct coo *x, const double *model)
{
    for (uint64_t i = 0; i < x->nnz; i++) {
        const double residual = residual_of(r->kind, x->value[i], model[i]);
        if (!isnan(residual)) {
            r->squares += residual * residual;
            r->absolutes += fabs(residual);
            r->known++;
            r->raised += r->kind == RESIDUAL_POISSON && model[i] <= 0;
        }
    }
}

/* --- strange entries: up to twice as many as are wanted wait until the weaker half is dropped ---
 */

static int compare_entries(const void *a, const void *b)
{
    const struct strange_entry *x = a, *y = b;
    const double of_x = fabs(x->residual), of_y = fabs(y->residual);
    if (of_x != of_y)
        return of_x > of_y ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

void residuals_rank(struct residuals *r)
{
    if (r->count == 0)
        return;
    qsort(r->entry, r->count, sizeof *r->entry, compare_entries);
    r->count = least_of(r->count, r->strangest);
}

/* Makes room for one more candidate. */
static enum status make_room(struct residuals *r, struct error *error)
{
    if (r->count == 2 * r->strangest) {
        residuals_rank(r);
        const struct strange_entry *last = &r->entry[r->count - 1];
        r->weakest = fabs(last->residual);
    }
    if (r->count < r->room)
        return STATUS_OK;
    const uint64_t room = least_of(2 * r->strangest, 2 * r->room + LEAST_ROOM);
    TRY(memory_resize(&r->entry, room, sizeof *r->entry, error));
    r->room = room;
    return STATUS_OK;
}

/* Adds the strange ones of the entries [first, last) of x to the candidates. */
static enum status add_strange(struct residuals *r, const struct coo *x, const double *model,
                               uint64_t first, uint64_t last, struct error *error)
{
    for (uint64_t i = first; i < last; i++) {
        if (!(fabs(residual_of(r->kind, x->value[i], model[i])) > r->weakest))
            continue;
        TRY(make_room(r, error));
        struct strange_entry *e = &r->entry[r->count++];
        *e = (struct strange_entry){
            .number = r->entries + i, .value = x->value[i], .model = model[i]};
        e->residual = residual_of(r->kind, e->value, e->model);
        coo_coordinates(x, i, e->index);
    }
    return STATUS_OK;
}

/* Whether an entry of [first, last) is strange enough. */
static bool any_strange(const struct residuals *r, const struct coo *x, const double *model,
                        uint64_t first, uint64_t last)
{
    int any = 0;
    for (uint64_t i = first; i < last; i++)
        any |= fabs(residual_of(r->kind, x->value[i], model[i])) > r->weakest;
    return any;
}

static enum status find_strange(struct residuals *r, const struct coo *x, const double *model,
                                struct error *error)
{
    const uint64_t step = (uint64_t)PART * FEW_PARTS;
    for (uint64_t begin = 0; begin < x->nnz; begin += step) {
        const uint64_t end = least_of(begin + step, x->nnz);
        bool strange[FEW_PARTS] = {false};
#pragma omp parallel for schedule(static)
        for (uint64_t first = begin; first < end; first += PART)
            strange[(first - begin) / PART] =
                any_strange(r, x, model, first, least_of(first + PART, end));
        for (uint64_t first = begin; first < end; first += PART)
            if (strange[(first - begin) / PART])
                TRY(add_strange(r, x, model, first, least_of(first + PART, end), error));
    }
    return STATUS_OK;
}

/* A thread adds to the slices of one mode at a time, so that each sum has its order. */
enum status residuals_add(struct residuals *r, const struct coo *x, const double *model,
                          struct error *error)
{
#pragma omp parallel for schedule(dynamic)
    for (int n = -1; n < r->shape.order; n++)
        if (n < 0)
            add_all(r, x, model);
        else
            add_slices(r, n, x, model);
    if (r->strangest > 0)
        TRY(find_strange(r, x, model, error));
    r->entries += x->nnz;
    return STATUS_OK;
}

enum status residuals_slices(struct top_entries *top, const struct residuals *r, int n,
                             struct error *error)
{
    return top_entries_find(top, r->slice[n].squares, r->shape.dims[n], 1, r->strangest, error);
}

double residuals_rmse(const struct residuals *r)
{
    return sqrt(r->squares / (double)r->known);
}

double residuals_mae(const struct residuals *r)
{
    return r->absolutes / (double)r->known;
}

void residuals_free(struct residuals *r)
{
    for (int n = 0; n < MAX_ORDER; n++) {
        memory_free(r->slice[n].squares);
        memory_free(r->slice[n].known);
    }
    memory_free(r->entry);
    *r = (struct residuals){0};
}
