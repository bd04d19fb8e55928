#include "tensor/coo_census.h"

#include <string.h>

#include "base/least.h"
#include "base/memory.h"

#define PARTS  16 /* of the nonzeros, each by a thread, whatever the number of threads       */
#define SHORT  4  /* a mode is short where so many nonzeros or more are summed in each slice   */
#define PIECE  (UINT64_C(1) << 24) /* nonzeros that are sorted at a time                       */
#define GROUPS 1024                /* of slices, at most                                       */
#define GROUP  12 /* log2 of a group's slices, at least: their sums stay in a core's cache     */

/* A census under way. */
struct census_taker {
    struct coo_census *census;
    const struct shape *shape;
    uint64_t stride; /* every stride-th nonzero is in the sample               */
    uint64_t every;  /* every every-th nonzero counts, as `every` nonzeros     */
    uint64_t seen;   /* nonzeros of the pieces so far                          */
    uint64_t taken;  /* nonzeros of the sample so far                          */
};

/* The nonzeros 0, every, 2 every, ... of a mode, which are counted, or whose values are summed. */
struct terms {
    const uint32_t *slice;
    const double *value; /* NULL: they are counted, as `every` nonzeros each */
    uint64_t every;
};

/* A piece of them, sorted by groups of consecutive slices; in a group they keep their order. */
struct sorted_terms {
    uint32_t *slice;
    double *value;
    uint64_t first[GROUPS + 1];   /* of each group, and the end */
    uint64_t next[PARTS][GROUPS]; /* where a thread's next one of each group goes */
    unsigned shift;               /* the group of a slice is slice >> shift */
    uint64_t groups;
};

static inline void add_term(void *to, const struct terms *t, uint64_t i)
{
    if (!t->value)
        ((uint64_t *)to)[t->slice[i]] += t->every;
    else if (t->value[i] > 0)
        ((double *)to)[t->slice[i]] += t->value[i];
}

/* Each part of a short mode has sums of its own, of 8 bytes. */
static enum status sum_short(void *sum, const struct terms *t, uint64_t count, uint64_t slices,
                             struct error *error)
{
    uint64_t *own = memory_zeros(PARTS, slices * sizeof *own, error);
    TRY(error->status);
#pragma omp parallel for schedule(static)
    for (int p = 0; p < PARTS; p++)
        for (uint64_t i = even_cut(count, p, PARTS); i < even_cut(count, p + 1, PARTS); i++)
            add_term(own + (uint64_t)p * slices, t, i * t->every);
    for (uint64_t p = 0; p < PARTS; p++)
        for (uint64_t i = 0; i < slices; i++) {
            if (t->value)
                ((double *)sum)[i] += ((const double *)(void *)own)[p * slices + i];
            else
                ((uint64_t *)sum)[i] += own[p * slices + i];
        }
    memory_free(own);
    return STATUS_OK;
}

/* Sorts the terms begin, ..., end - 1. */
static void sort_terms(struct sorted_terms *s, const struct terms *t, uint64_t begin, uint64_t end)
{
    const uint64_t count = end - begin;
    uint64_t sum = 0;
#pragma omp parallel for schedule(static)
    for (int p = 0; p < PARTS; p++) {
        memset(s->next[p], 0, sizeof s->next[p]);
        for (uint64_t i = even_cut(count, p, PARTS); i < even_cut(count, p + 1, PARTS); i++)
            s->next[p][t->slice[(begin + i) * t->every] >> s->shift]++;
    }
    for (uint64_t g = 0; g < s->groups; g++) {
        s->first[g] = sum;
        for (int p = 0; p < PARTS; p++) {
            const uint64_t here = s->next[p][g];
            s->next[p][g] = sum;
            sum += here;
        }
    }
    s->first[s->groups] = sum;
#pragma omp parallel for schedule(static)
    for (int p = 0; p < PARTS; p++)
        for (uint64_t i = even_cut(count, p, PARTS); i < even_cut(count, p + 1, PARTS); i++) {
            const uint64_t from = (begin + i) * t->every, slice = t->slice[from];
            const uint64_t to = s->next[p][slice >> s->shift]++;
            s->slice[to] = (uint32_t)slice;
            if (t->value)
                s->value[to] = t->value[from];
        }
}

/* A thread adds the terms of a group at a time. */
static enum status sum_long(void *sum, const struct terms *t, uint64_t count, uint64_t slices,
                            struct error *error)
{
    const uint64_t most = least_of(count, PIECE);
    struct sorted_terms *s = memory_array(1, sizeof *s, error);
    TRY(error->status);
    s->slice = memory_array(most, sizeof *s->slice, error);
    s->value = memory_array(t->value ? most : 0, sizeof *s->value, error);
    TRY_OR(done, error->status);
    for (s->shift = GROUP; (slices - 1) >> s->shift >= GROUPS;)
        s->shift++;
    s->groups = ((slices - 1) >> s->shift) + 1;
    const struct terms sorted = {s->slice, t->value ? s->value : NULL, t->every};
    for (uint64_t begin = 0; begin < count; begin += most) {
        sort_terms(s, t, begin, least_of(count, begin + most));
#pragma omp parallel for schedule(dynamic)
        for (uint64_t g = 0; g < s->groups; g++)
            for (uint64_t i = s->first[g]; i < s->first[g + 1]; i++)
                add_term(sum, &sorted, i);
    }
done:
    memory_free(s->slice, s->value, s);
    return error->status;
}

static enum status sum_terms(void *sum, const struct terms *t, uint64_t count, uint64_t slices,
                             struct error *error)
{
    const bool is_short = slices * PARTS <= count / SHORT;
    return count == 0 ? STATUS_OK : (is_short ? sum_short : sum_long)(sum, t, count, slices, error);
}

enum status coo_sum_slices(double *sum, const struct coo *x, int n, struct error *error)
{
    const struct terms t = {x->index[n], x->value, 1};
    return sum_terms(sum, &t, x->nnz, x->shape.dims[n], error);
}

enum status coo_count_slices(const struct coo *x, const struct shape *shape, uint64_t first,
                             uint64_t every, uint64_t *const *count, struct error *error)
{
    const uint64_t steps = x->nnz > first ? (x->nnz - first + every - 1) / every : 0;
    for (int n = 0; n < shape->order; n++) {
        if (!count[n])
            continue;
        const struct terms t = {x->index[n] + first, NULL, every};
        TRY(sum_terms(count[n], &t, steps, shape->dims[n], error));
    }
    return STATUS_OK;
}

/* The first nonzero of the next piece whose number in the tensor is a multiple of `stride`. */
static uint64_t first_of(const struct census_taker *t, uint64_t stride)
{
    return (stride - t->seen % stride) % stride;
}

static enum status take(void *context, struct coo *piece, struct error *error)
{
    struct census_taker *t = context;
    TRY(coo_count_slices(piece, t->shape, first_of(t, t->every), t->every, t->census->count,
                         error));
    struct coo *sample = &t->census->sample;
    for (uint64_t i = first_of(t, t->stride); i < piece->nnz; i += t->stride) {
        coo_put(sample, t->taken++, piece, i);
    }
    t->seen += piece->nnz;
    return STATUS_OK;
}

uint64_t coo_census_stride(uint64_t nnz, uint64_t most)
{
    return nnz > most ? (nnz + most - 1) / most : 1;
}

enum status coo_pieces_census(const struct coo_pieces *pieces, uint64_t stride, uint64_t every,
                              struct coo_census *c, struct error *error)
{
    struct census_taker t = {
        .census = c, .shape = &pieces->shape, .stride = stride, .every = every};
    uint64_t sampled = (pieces->nnz + stride - 1) / stride;
    *c = (struct coo_census){0};
    for (int n = 0; n < t.shape->order; n++) {
        c->count[n] = memory_zeros(pieces->shape.dims[n], sizeof *c->count[n], error);
        TRY_OR(done, error->status);
    }
    TRY_OR(done, coo_create(&c->sample, &pieces->shape, sampled, error));
    pieces->each(pieces->pieces, take, &t, error);
done:
    if (error->status != STATUS_OK)
        coo_census_free(c);
    return error->status;
}

void coo_census_free(struct coo_census *c)
{
    for (int n = 0; n < MAX_ORDER; n++)
        memory_free(c->count[n]);
    coo_free(&c->sample);
    *c = (struct coo_census){0};
}
