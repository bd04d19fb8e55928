#include "report/unlisted_best.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/least.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "base/vector_clones.h"
#include "report/text_table.h"

#define MORE_ROOM  64    /* candidates beside twice those that are wanted                   */
#define BLOCK      64    /* rows of the longest mode that are multiplied together            */
#define AT_ONCE    256   /* blocks that a thread takes                                       */
#define UPDATE_GAP 65536 /* blocks between two reports of progress                           */
#define ROUNDING   1e-12 /* what rounding may add to a value, relative to the norms of rows */

/* --- the slice --- */

#define FIRST_ROOM 64

enum status unlisted_slice_note(struct unlisted_slice *s, const struct coo *x, struct error *error)
{
    for (uint64_t i = 0; i < x->nnz; i++) {
        bool has = true; /* the given indices */
        for (int n = 0; n < x->shape.order; n++)
            has = has && (!s->given[n] || x->index[n][i] == s->index[n]);
        if (!has)
            continue;
        if (s->count == s->room) {
            const uint64_t room = s->room ? 2 * s->room : FIRST_ROOM;
            TRY(memory_resize(&s->listed, room, sizeof *s->listed, error));
            s->room = room;
        }
        struct cell *cell = &s->listed[s->count++];
        *cell = (struct cell){{0}};
        coo_coordinates(x, i, cell->index);
    }
    return STATUS_OK;
}

/* Any order will do. */
static int compare(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(struct cell));
}

void unlisted_slice_free(struct unlisted_slice *s)
{
    memory_free(s->listed);
    s->listed = NULL;
    s->count = s->room = 0;
}

static uint64_t entries_of(const struct unlisted_slice *s)
{
    uint64_t entries = 1;
    for (int n = 0; n < s->shape.order; n++)
        if (!s->given[n] && __builtin_mul_overflow(entries, s->shape.dims[n], &entries))
            return UINT64_MAX;
    return entries;
}

enum status unlisted_slice_check(const struct unlisted_slice *s, struct error *error)
{
    const uint64_t entries = entries_of(s);
    if (entries > UNLISTED_MOST)
        return error_set(
            error, STATUS_INPUT,
            "more than %ju entries have these indices: give the index of a further mode",
            (uintmax_t)UNLISTED_MOST);
    return STATUS_OK;
}

/* --- what is looked at --- */

/* Blocks: for each combination of indices of the free modes but the longest one, BLOCK rows of the
 * longest one. */
struct search {
    const struct ktensor *k;
    const struct unlisted_slice *slice;
    double *given;         /* (R) the product of lambda and the rows of given indices; owned */
    int longest;           /* of the modes without a given index                             */
    uint64_t row_blocks;   /* of the longest mode                                            */
    double *rows;          /* (row_blocks x R x BLOCK): its rows, as columns; owned          */
    double *norm;          /* (row_blocks) of the longest row of each block; owned           */
    uint64_t wanted, room; /* candidates                                                     */
    double threshold;      /* no smaller value is wanted any more                            */
};

/* What a thread looks at, and has found. */
struct finder {
    struct search *search;
    struct cell cell;
    struct best_entry *entry; /* (search->room) candidates; owned */
    uint64_t count;
    double *product; /* (R) of `given` and the rows of all free modes but the longest; owned */
    double norm;     /* of `product` */
    double threshold;
};

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
    qsort(f->entry, f->count, sizeof *f->entry, compare_entries);
    f->count = least_of(f->count, s->wanted);
    if (f->count < s->wanted)
        return;
#pragma omp critical(unlisted_best)
    f->threshold = s->threshold = fmax(s->threshold, f->entry[f->count - 1].value);
}

static double norm_of(const double *row, uint64_t rank)
{
    double sum = 0;
    for (uint64_t r = 0; r < rank; r++)
        sum += row[r] * row[r];
    return sqrt(sum) * (1 + ROUNDING);
}

/* Sets the indices of the free modes but the longest, and the product of their rows. */
static void set_combination(struct finder *f, uint64_t combination)
{
    const struct ktensor *k = f->search->k;
    memcpy(f->product, f->search->given, k->rank * sizeof *f->product);
    for (int n = k->shape.order; n-- > 0;) {
        if (f->search->slice->given[n] || n == f->search->longest)
            continue;
        const uint64_t i = combination % k->shape.dims[n];
        combination /= k->shape.dims[n];
        f->cell.index[n] = (uint32_t)i;
        for (uint64_t r = 0; r < k->rank; r++)
            f->product[r] *= k->factor[n][i * k->rank + r];
    }
    f->norm = norm_of(f->product, k->rank);
}

/* value[j] = the sum over r of p[r] rows[r][j]. */
VECTOR_CLONES static void multiply(double *value, const double *p, const double *rows,
                                   uint64_t rank)
{
    memset(value, 0, BLOCK * sizeof *value);
    for (uint64_t r = 0; r < rank; r++)
        for (int j = 0; j < BLOCK; j++)
            value[j] += p[r] * rows[r * BLOCK + (uint64_t)j];
}

/* Looks at all entries of a block of rows. */
static void scan(struct finder *f, uint64_t b)
{
    const struct search *s = f->search;
    const uint64_t first = b * BLOCK;
    const uint64_t rows = least_of(BLOCK, s->k->shape.dims[s->longest] - first);
    double value[BLOCK];
    if (f->norm * s->norm[b] < f->threshold)
        return;
    multiply(value, f->product, s->rows + first * s->k->rank, s->k->rank);
    for (uint64_t j = 0; j < rows; j++)
        if (value[j] >= f->threshold && value[j] != 0) {
            const struct unlisted_slice *slice = s->slice;
            f->cell.index[s->longest] = (uint32_t)(first + j);
            if (slice->count > 0 &&
                bsearch(&f->cell, slice->listed, slice->count, sizeof f->cell, compare))
                continue;
            if (f->count == s->room)
                keep_best(f);
            f->entry[f->count++] = (struct best_entry){f->cell, value[j]};
        }
}

static void search_all(struct search *s, struct finder *finder, int threads,
                       struct progress *progress)
{
    const uint64_t rows = s->row_blocks;
    const uint64_t blocks = entries_of(s->slice) / s->k->shape.dims[s->longest] * rows;
#pragma omp parallel for schedule(dynamic) num_threads(threads)
    for (uint64_t first = 0; first < blocks; first += AT_ONCE) {
        struct finder *f = &finder[omp_get_thread_num()];
#pragma omp critical(unlisted_best)
        f->threshold = s->threshold;
        for (uint64_t b = first; b < first + AT_ONCE && b < blocks; b++) {
            if (b == first || b % rows == 0)
                set_combination(f, b / rows);
            scan(f, b % rows);
        }
        if (omp_get_thread_num() == 0 && first % UPDATE_GAP == 0)
            progress_update(progress, (double)first / (double)blocks, "%ju of %ju blocks",
                            (uintmax_t)first, (uintmax_t)blocks);
    }
}

/* --- before and after --- */

/* Whether the model may differ from 0 in the slice. */
static bool multiply_given(struct search *s)
{
    const struct ktensor *k = s->k;
    bool any = false;
    for (uint64_t r = 0; r < k->rank; r++) {
        s->given[r] = k->lambda[r];
        for (int n = 0; n < k->shape.order; n++)
            if (s->slice->given[n])
                s->given[r] *= k->factor[n][s->slice->index[n] * k->rank + r];
        any = any || s->given[r] != 0;
    }
    return any;
}

static enum status search_create(struct search *s, struct error *error)
{
    const struct ktensor *k = s->k;
    s->longest = -1;
    for (int n = 0; n < k->shape.order; n++)
        if (!s->slice->given[n] && (s->longest < 0 || k->shape.dims[n] > k->shape.dims[s->longest]))
            s->longest = n;
    s->row_blocks = (k->shape.dims[s->longest] + BLOCK - 1) / BLOCK;
    s->given = memory_array(k->rank, sizeof *s->given, error);
    s->norm = memory_zeros(s->row_blocks, sizeof *s->norm, error);
    s->rows = memory_zeros(s->row_blocks * k->rank, BLOCK * sizeof *s->rows, error);
    TRY(error->status);
    for (uint64_t i = 0; i < k->shape.dims[s->longest]; i++) {
        const double *row = k->factor[s->longest] + i * k->rank;
        const uint64_t b = i / BLOCK;
        s->norm[b] = fmax(s->norm[b], norm_of(row, k->rank));
        for (uint64_t r = 0; r < k->rank; r++)
            s->rows[(b * k->rank + r) * BLOCK + i % BLOCK] = row[r];
    }
    return STATUS_OK;
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
                               struct unlisted_slice *slice, uint64_t wanted,
                               struct progress *progress, struct error *error)
{
    struct search s = {.k = k, .slice = slice, .threshold = -INFINITY};
    const int threads = omp_get_max_threads();
    struct finder *finder = memory_zeros((uint64_t)threads, sizeof *finder, error);
    *best = (struct unlisted_best){0};
    if (!finder)
        return error->status;
    if (slice->count > 0)
        qsort(slice->listed, slice->count, sizeof *slice->listed, compare);
    s.wanted = least_of(wanted, entries_of(slice));
    s.room = 2 * s.wanted + MORE_ROOM;
    if (search_create(&s, error) != STATUS_OK || !multiply_given(&s))
        goto done;
    for (int i = 0; i < threads; i++) {
        struct finder *f = &finder[i];
        f->search = &s;
        memcpy(f->cell.index, slice->index, sizeof f->cell.index);
        f->entry = memory_array(s.room, sizeof *f->entry, error);
        f->product = memory_array(k->rank, sizeof *f->product, error);
        TRY_OR(done, error->status);
    }
    search_all(&s, finder, threads, progress);
    join(best, &s, finder, threads, error);
done:
    for (int t = 0; t < threads; t++) {
        memory_free(finder[t].entry);
        memory_free(finder[t].product);
    }
    memory_free(finder);
    memory_free(s.given);
    memory_free(s.norm);
    memory_free(s.rows);
    return error->status;
}

void unlisted_best_free(struct unlisted_best *best)
{
    memory_free(best->entry);
    *best = (struct unlisted_best){0};
}

#define DIGITS 5 /* of the largest value */

static void table_row(const struct text_table *t, uint64_t row, uint64_t *index, double *number)
{
    const struct best_entry *e = &((const struct unlisted_best *)t->context)->entry[row];
    for (int k = 0; k < t->modes; k++)
        index[k] = e->cell.index[t->mode[k]];
    number[0] = e->value;
}

void unlisted_print(FILE *stream, const struct unlisted_view *v)
{
    const struct unlisted_slice *s = v->slice;
    struct text_table t = {.rows = v->best->count,
                           .numbers = 1,
                           .heading = {"model"},
                           .digits = {DIGITS},
                           .labels = v->labels,
                           .index_base = v->index_base,
                           .context = v->best,
                           .row = table_row};
    char name[MODE_NAME_ROOM], label[LABEL_SHOWN_ROOM], tensor[1024];
    const char *between = "";
    for (int n = 0; n < s->shape.order; n++)
        if (s->given[n]) {
            fprintf(stream, "%s%s %s", between, mode_name(v->labels, n, name),
                    label_show(v->labels, n, s->index[n], v->index_base, label));
            between = ", ";
        } else {
            t.mode[t.modes++] = n;
        }
    fprintf(stream, ": %ju entr%s in %s; ", (uintmax_t)s->count, s->count == 1 ? "y" : "ies",
            printable(v->tensor, tensor, sizeof tensor));
    if (t.rows == 0) {
        fprintf(stream, "the model is 0 at all others\n");
        return;
    }
    fprintf(stream, "of the others, the model is largest at\n");
    text_table_print(stream, &t);
}

/* --- JSON --- */

void unlisted_put_json(struct json *j, const struct unlisted_view *v)
{
    const int order = v->slice->shape.order;
    json_put_array(j, "given");
    for (int n = 0; n < order; n++)
        if (v->slice->given[n]) {
            json_put_object(j, NULL);
            json_put_unsigned(j, "mode", (uint64_t)n + 1);
            mode_put_name(j, v->labels, n);
            index_put(j, v->labels, n, v->slice->index[n], v->index_base);
            json_end(j);
        }
    json_end(j);
    json_put_unsigned(j, "listed", v->slice->count);
    json_put_array(j, "unlisted");
    for (uint64_t i = 0; i < v->best->count; i++) {
        json_put_object(j, NULL);
        indices_put(j, v->labels, order, v->best->entry[i].cell.index, v->index_base);
        json_put_number(j, "model", v->best->entry[i].value);
        json_end(j);
    }
    json_end(j);
}
