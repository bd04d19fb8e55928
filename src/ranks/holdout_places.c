#include "ranks/holdout_places.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/least.h"
#include "base/memory.h"
#include "base/random_stream.h"
#include "base/vector_clones.h"

#define MOST_VALUES 0x1p27 /* of a model, about, that are computed for all entries */
#define AT_A_TIME   512    /* known entries that a thread appends */

/* --- which entries --- */

static int compare_coordinates(const void *a, const void *b, void *order)
{
    const uint32_t *x = a, *y = b;
    for (int n = 0; n < *(const int *)order; n++)
        if (x[n] != y[n])
            return x[n] < y[n] ? -1 : 1;
    return 0;
}

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* *all = the `mine` rows of every rank, which the caller frees; *count: how many. Waits for all
 * ranks. */
static enum status gather(void **all, uint64_t *count, const void *from, uint64_t mine, size_t row,
                          struct comm *c, struct error *error)
{
    uint64_t *first = memory_zeros((size_t)c->size + 1, sizeof *first, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    TRY_OR(done, comm_allgather(c, &mine, sizeof mine, first + 1, error));
    for (int k = 0; k < c->size; k++)
        first[k + 1] += first[k];
    *count = first[c->size];
    *all = memory_array(*count, row, error);
    TRY_OR(done, comm_allreduce_error(c, error));
    memory_copy((char *)*all + first[c->rank] * row, from, mine * row);
    comm_allgatherv(c, *all, first, row, error);
done:
    memory_free(first);
    return error->status;
}

/* A smaller share of the entries, which are held out too, where all would take too long. */
static enum status find_share(struct holdout *some, const struct coo *x, const struct shape *whole,
                              struct comm *c, struct error *error)
{
    double known = 0, rows = 0;
#pragma omp parallel for schedule(static) reduction(+ : known)
    for (uint64_t i = 0; i < x->nnz; i++)
        known += x->value[i] != 0 && !isnan(x->value[i]);
    TRY(comm_allreduce_sum(c, &known, 1, error));
    for (int n = 0; n < whole->order; n++)
        rows += (double)whole->dims[n];
    some->share = fmin(some->share, MOST_VALUES / rows / fmax(known, 1));
    return STATUS_OK;
}

static enum status find_entries(struct holdout_places *p, const struct coo *x,
                                const struct part *part, const struct holdout *h,
                                const bool *chosen, struct comm *c, struct error *error)
{
    int order = x->shape.order;
    uint64_t count = 0, room = 0;
    void *all = NULL;
#pragma omp parallel for schedule(static) reduction(+ : room)
    for (uint64_t i = 0; i < x->nnz; i++)
        room += chosen[i] && x->value[i] != 0 && holdout_has(h, x, part->first, i);
    uint32_t *mine = memory_array(room, (size_t)order * sizeof *mine, error);
    for (uint64_t i = 0; mine && count < room; i++) {
        if (!chosen[i] || x->value[i] == 0 || !holdout_has(h, x, part->first, i))
            continue;
        for (int n = 0; n < order; n++)
            mine[count * (uint64_t)order + (uint64_t)n] =
                (uint32_t)(part->first[n] + x->index[n][i]);
        count++;
    }
    gather(&all, &p->count, mine, count, (size_t)order * sizeof *mine, c, error);
    p->at = all;
    if (error->status == STATUS_OK)
        qsort_r(p->at, p->count, (size_t)order * sizeof *p->at, compare_coordinates, &order);
    memory_free(mine);
    return error->status;
}

/* --- what else is known in their fibers --- */

/* The entries by their fibers of a mode: a hash table of one of each. */
struct fibers {
    const struct holdout_places *places;
    int mode;
    uint64_t slots; /* a power of two                 */
    uint32_t *slot; /* (slots) 1 + the entry; 0: free */
};

/* The slot of the fiber of these coordinates, or the free one where it would go. */
static uint32_t *find_slot(const struct fibers *f, const uint32_t *at)
{
    const int order = f->places->shape.order;
    uint64_t hash = 0;
    for (int n = 0; n < order; n++)
        hash = n != f->mode ? random_mix(hash ^ at[n]) : hash;
    uint64_t slot = hash & (f->slots - 1);
    for (; f->slot[slot] != 0; slot = (slot + 1) & (f->slots - 1)) {
        const uint32_t *there = f->places->at + (uint64_t)(f->slot[slot] - 1) * (uint64_t)order;
        int n = 0;
        while (n < order && (n == f->mode || there[n] == at[n]))
            n++;
        if (n == order)
            break;
    }
    return &f->slot[slot];
}

/* Entries that are known, in any order. */
struct known_list {
    uint64_t *known; /* (count) as of struct holdout_places; owned */
    uint64_t count, room;
};

static void append_known(struct known_list *l, const uint64_t *found, uint64_t count,
                         struct error *error)
{
#pragma omp critical(holdout_places)
    {
        if (l->count + count > l->room) {
            l->room = 2 * l->room + AT_A_TIME;
            memory_resize(&l->known, l->room, sizeof *l->known, error);
        }
        if (error->status == STATUS_OK) {
            memcpy(l->known + l->count, found, count * sizeof *found);
            l->count += count;
        }
    }
}

/* Lists those of this rank's entries x that are in one of the fibers. */
static enum status list_known(struct known_list *l, const struct fibers *f, const struct coo *x,
                              const struct part *part, struct error *error)
{
#pragma omp parallel
    {
        uint64_t found[AT_A_TIME], count = 0; /* by this thread */
#pragma omp for schedule(static)
        for (uint64_t i = 0; i < x->nnz; i++) {
            uint32_t at[MAX_ORDER];
            if (x->value[i] == 0 || isnan(x->value[i]))
                continue;
            for (int n = 0; n < x->shape.order; n++)
                at[n] = (uint32_t)(part->first[n] + x->index[n][i]);
            const uint32_t slot = *find_slot(f, at);
            if (slot == 0)
                continue;
            found[count++] = (uint64_t)(slot - 1) << 32 | at[f->mode];
            if (count == AT_A_TIME) {
                append_known(l, found, count, error);
                count = 0;
            }
        }
        if (count > 0)
            append_known(l, found, count, error);
    }
    return error->status;
}

static enum status find_known(struct holdout_places *p, int n, const struct coo *x,
                              const struct part *part, struct comm *c, struct error *error)
{
    struct fibers f = {.places = p, .mode = n, .slots = 16};
    struct known_list mine = {0};
    void *all = NULL;
    while (f.slots < 2 * p->count)
        f.slots *= 2;
    f.slot = memory_zeros(f.slots, sizeof *f.slot, error);
    p->fiber[n] = memory_array(p->count, sizeof *p->fiber[n], error);
    if (error->status == STATUS_OK) {
        for (uint64_t s = 0; s < p->count; s++) {
            uint32_t *slot = find_slot(&f, p->at + s * (uint64_t)p->shape.order);
            *slot = *slot > 0 ? *slot : (uint32_t)s + 1;
            p->fiber[n][s] = *slot - 1;
        }
        list_known(&mine, &f, x, part, error);
    }
    gather(&all, &p->knowns[n], mine.known, mine.count, sizeof *mine.known, c, error);
    p->known[n] = all;
    if (error->status == STATUS_OK)
        qsort(p->known[n], p->knowns[n], sizeof *p->known[n], compare_numbers);
    memory_free(mine.known, f.slot);
    return error->status;
}

enum status holdout_places_find(struct holdout_places *p, const struct coo *x,
                                const struct part *part, const struct holdout *h,
                                const bool *chosen, struct comm *c, struct error *error)
{
    struct holdout some = *h;
    *p = (struct holdout_places){.shape = part->whole};
    TRY(find_share(&some, x, &part->whole, c, error));
    TRY(find_entries(p, x, part, &some, chosen, c, error));
    for (int n = 0; n < p->shape.order; n++)
        TRY(find_known(p, n, x, part, c, error));
    return STATUS_OK;
}

void holdout_places_free(struct holdout_places *p)
{
    memory_free(p->at);
    for (int n = 0; n < MAX_ORDER; n++)
        memory_free(p->fiber[n], p->known[n]);
    *p = (struct holdout_places){0};
}

/* --- a model --- */

#define BLOCK 256 /* rows whose values are computed at a time */

/* value[i] = the model's where row i of `rows` is the row of the mode, and `product` that of the
 * others. */
VECTOR_CLONES static void find_values(double *value, uint64_t count, const double *product,
                                      const double *rows, uint64_t rank)
{
    for (uint64_t i = 0; i < count; i++) {
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (uint64_t r = 0; r < rank; r++)
            sum += product[r] * rows[i * rank + r];
        value[i] = sum;
    }
}

/* How many of the values are larger than `own`; equal ones count half. */
VECTOR_CLONES static double count_above(const double *value, uint64_t count, double own)
{
    uint64_t larger = 0, equal = 0;
    for (uint64_t i = 0; i < count; i++) {
        larger += value[i] > own;
        equal += value[i] == own;
    }
    return (double)larger + .5 * (double)equal;
}

/* The first number of those of a fiber. */
static uint64_t known_from(const struct holdout_places *p, int n, uint64_t fiber)
{
    uint64_t low = 0, high = p->knowns[n];
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (p->known[n][middle] >> 32 < fiber)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The place of entry s in mode n, from 1. product (R): scratch. */
static double place_of(const struct holdout_places *p, const struct ktensor *k, int n, uint64_t s,
                       double *product)
{
    const uint32_t *at = p->at + s * (uint64_t)p->shape.order;
    const double *rows = k->factor[n];
    double place = 1;
    memcpy(product, k->lambda, k->rank * sizeof *product);
    for (int q = 0; q < p->shape.order; q++)
        for (uint64_t r = 0; q != n && r < k->rank; r++)
            product[r] *= k->factor[q][at[q] * k->rank + r];
    double own, value[BLOCK];
    find_values(&own, 1, product, rows + at[n] * k->rank, k->rank);
    for (uint64_t i = 0; i < p->shape.dims[n]; i += BLOCK) {
        const uint64_t count = least_of(BLOCK, p->shape.dims[n] - i);
        find_values(value, count, product, rows + i * k->rank, k->rank);
        place += count_above(value, count, own);
    }
    const uint64_t fiber = p->fiber[n][s];
    for (uint64_t i = known_from(p, n, fiber); i < p->knowns[n]; i++) { /* these do not compete */
        if (p->known[n][i] >> 32 != fiber)
            break;
        find_values(value, 1, product, rows + (uint32_t)p->known[n][i] * k->rank, k->rank);
        place -= count_above(value, 1, own);
    }
    return place;
}

enum status holdout_places_score(struct place_scores *s, const struct holdout_places *p,
                                 const struct ktensor *k, struct error *error)
{
    double *place = memory_array(p->count, sizeof *place, error);
    double *product =
        memory_array((uint64_t)omp_get_max_threads() * k->rank, sizeof *product, error);
    *s = (struct place_scores){.entries = p->count};
    for (int n = 0; error->status == STATUS_OK && n < p->shape.order; n++) {
#pragma omp parallel for schedule(dynamic, 8)
        for (uint64_t i = 0; i < p->count; i++)
            place[i] = place_of(p, k, n, i, product + (uint64_t)omp_get_thread_num() * k->rank);
        for (uint64_t i = 0; i < p->count; i++) {
            s->reciprocal[n] += 1 / place[i];
            s->hits[n] += place[i] <= PLACES_FIRST;
        }
        s->reciprocal[n] /= (double)p->count;
        s->hits[n] /= (double)p->count;
    }
    memory_free(place, product);
    return error->status;
}
