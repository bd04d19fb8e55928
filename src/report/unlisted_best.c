#include "report/unlisted_best.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/least.h"
#include "base/memory.h"
#include "base/vector_clones.h"
#include "report/row_tree.h"

#define TILE           4     /* rows that are multiplied with a group of rows at a time    */
#define TUPLE_CELLS    16384 /* a tuple with as many entries or fewer is computed           */
#define TUPLES         32768 /* that threads take one by one                               */
#define FIRST_ROOM     64    /* for entries that are wanted                                */
#define WORTH_DIVIDING 64    /* entries of each row, below which a fine tree costs more    */
#define FEW_PARTS      256   /* of such a tree                                             */
#define EACH_ROWS      256   /* indices of a mode that a thread searches together, at most */
#define EACH_AT_ONCE   65536 /* indices whose entries are in memory at a time              */
#define EACH_ENTRIES   (UINT64_C(1) << 20) /* of these, unless they are few indices        */
#define EACH_FEW       256

/* --- the best entries so far --- */

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

/* A heap, whose first entry is the last one of those that are wanted. */
struct best_heap {
    struct best_entry *entry; /* (room) owned */
    uint64_t count, room, wanted;
    double least; /* no smaller value is wanted */
};

static enum status put(struct best_heap *h, const struct best_entry *e, struct error *error)
{
    struct best_entry *entry = h->entry;
    uint64_t at;
    if (h->count == h->wanted && compare_entries(e, &entry[0]) > 0)
        return STATUS_OK;
    if (h->count < h->wanted) {
        if (h->count == h->room) {
            const uint64_t room =
                h->room ? least_of(2 * h->room, h->wanted) : least_of(FIRST_ROOM, h->wanted);
            TRY(memory_resize(&h->entry, room, sizeof *h->entry, error));
            h->room = room;
            entry = h->entry;
        }
        for (at = h->count++; at > 0 && compare_entries(e, &entry[(at - 1) / 2]) > 0;
             at = (at - 1) / 2)
            entry[at] = entry[(at - 1) / 2];
    } else {
        at = 0;
        for (uint64_t next = 1; next < h->count; next = 2 * at + 1) {
            next += next + 1 < h->count && compare_entries(&entry[next + 1], &entry[next]) > 0;
            if (compare_entries(&entry[next], e) < 0)
                break;
            entry[at] = entry[next];
            at = next;
        }
    }
    entry[at] = *e;
    if (h->count == h->wanted) {
#pragma omp atomic write
        h->least = entry[0].value;
    }
    return STATUS_OK;
}

static void sort_heap(struct best_heap *h)
{
    if (h->count > 0)
        qsort(h->entry, h->count, sizeof *h->entry, compare_entries);
}

/* --- what is searched --- */

/* The modes without a given index, the longest one last, and before it the one that is searched for
 * each of its indices, or the second longest. */
struct search {
    const struct ktensor *k;
    const struct unlisted_slice *slice;
    bool each;
    int modes;
    int mode[MAX_ORDER];             /* (modes)                                                  */
    uint64_t rows[MAX_ORDER];        /* (modes) their lengths                                    */
    uint64_t stride;                 /* of the rows of trees                                     */
    struct row_tree tree[MAX_ORDER]; /* (modes) of their rows times `scale`; owned               */
    double *scale;                   /* (modes x R) the model's values are the sums over r of the
                                      * product of scaled rows: shares of lambda and of the rows of
                                      * given indices; owned                                     */
    double *weight; /* (modes x R) how large columns of the other modes are; owned */
    uint64_t first; /* where `each`: the matrix's row that the tree's rows begin with */
    double slack;   /* by how much rounding may change a sum, relative to that of its magnitudes */
    uint64_t most, visited; /* entries that may be computed, and that are      */
    uint64_t wanted;
    struct best_heap best; /* where not `each` */
    struct error *error;   /* of the first thread that failed */
    bool stops;
};

/* What the trees' ranges, or single rows, of all modes have in common. */
struct tuple {
    uint64_t part[MAX_ORDER]; /* (modes) number of a range; at `ranges` and above, of a row */
    double highest;           /* no value is larger                                         */
    double magnitude;         /* nor is any sum of the terms' magnitudes                    */
};

/* What a thread works with. */
struct finder {
    struct search *search;
    /* Where `each`: of some rows of its tree, which begin with row `begin`. */
    uint64_t begin;
    struct best_heap best[EACH_ROWS];
    double least[EACH_ROWS]; /* best[i].least, divided by the length of the row */
    double *product;         /* (TILE x stride) owned */
};

/* The rows of a part are [begin, end), and the entries of its columns from low to high. */
static void find_part(const struct row_tree *t, uint64_t part, struct row_range *range,
                      const double **low, const double **high)
{
    if (part < t->ranges) {
        *range = t->range[part];
        *low = t->box + part * 2 * t->stride;
        *high = *low + t->stride;
        return;
    }
    const uint64_t row = part - t->ranges;
    *range = (struct row_range){.begin = row, .end = row + 1, .norm = INFINITY};
    *low = *high = t->row + row * t->stride;
}

/* The sums over all columns of the largest product of entries between low and high and of the
 * largest magnitude of a product; and the largest magnitude of a product of all modes but the last
 * two. */
VECTOR_CLONES static void bound_products(const double *const *low, const double *const *high,
                                         int modes, uint64_t stride, double *highest,
                                         double *magnitude, double *others)
{
    double sum[8] = {0}, magnitudes[8] = {0}, most[8] = {0};
    for (uint64_t r = 0; r < stride; r += 8) {
        double l[8], h[8];
        for (int j = 0; j < 8; j++)
            l[j] = h[j] = 1;
        for (int n = 0; n < modes; n++) {
            if (n == modes - 2)
                for (int j = 0; j < 8; j++) {
                    const double m = -l[j] > h[j] ? -l[j] : h[j];
                    most[j] = most[j] > m ? most[j] : m;
                }
            for (int j = 0; j < 8; j++) {
                const double a = l[j] * low[n][r + (uint64_t)j];
                const double b = l[j] * high[n][r + (uint64_t)j];
                const double c = h[j] * low[n][r + (uint64_t)j];
                const double d = h[j] * high[n][r + (uint64_t)j];
                const double e = a < b ? a : b, f = a < b ? b : a;
                const double g = c < d ? c : d, i = c < d ? d : c;
                l[j] = e < g ? e : g;
                h[j] = f < i ? i : f;
            }
        }
        for (int j = 0; j < 8; j++) {
            sum[j] += h[j];
            magnitudes[j] += -l[j] > h[j] ? -l[j] : h[j];
        }
    }
    *highest = *magnitude = *others = 0;
    for (int j = 0; j < 8; j++) {
        *highest += sum[j];
        *magnitude += magnitudes[j];
        *others = fmax(*others, most[j]);
    }
}

static void bound(const struct search *s, struct tuple *t)
{
    const double *low[MAX_ORDER], *high[MAX_ORDER];
    struct row_range range[MAX_ORDER];
    double others;
    for (int i = 0; i < s->modes; i++)
        find_part(&s->tree[i], t->part[i], &range[i], &low[i], &high[i]);
    bound_products(low, high, s->modes, s->stride, &t->highest, &t->magnitude, &others);
    if (s->modes < 2)
        return;
    const double norms =
        others * range[s->modes - 2].norm * range[s->modes - 1].norm * (1 + s->slack);
    t->highest = norms < t->highest ? norms : t->highest;
    t->magnitude = norms < t->magnitude ? norms : t->magnitude;
}

/* No smaller value is wanted; `row` is in the tree of the mode that is searched for each index. */
static double least_wanted(const struct finder *f, uint64_t row)
{
    double least;
    if (f->search->each)
        return f->least[row - f->begin];
#pragma omp atomic read
    least = f->search->best.least;
    return least;
}

/* Whether a tuple has no wanted entry. */
static bool lacks_wanted(const struct finder *f, const struct tuple *t)
{
    const struct search *s = f->search;
    const double most = t->highest + s->slack * t->magnitude;
    struct row_range range = {.end = 1};
    const double *low, *high;
    if (s->each)
        find_part(&s->tree[s->modes - 2], t->part[s->modes - 2], &range, &low, &high);
    for (uint64_t row = range.begin; row < range.end; row++)
        if (!(most < least_wanted(f, row)))
            return t->magnitude == 0;
    return true;
}

static void stop(struct search *s, const struct error *error)
{
#pragma omp critical(unlisted_best)
    {
        if (s->error->status == STATUS_OK)
            *s->error = *error;
    }
#pragma omp atomic write
    s->stops = true;
}

/* --- the entries of a tuple --- */

/* value (TILE x ROW_GROUP) = p (TILE x stride) times q (R x ROW_GROUP). Bit u of the result says
 * whether any value of row u is not below least[u]. With vectors of so many bytes. */
#define MULTIPLY(name, bytes, target)                                                              \
    target static unsigned name(double *value, const double *least, const double *p,               \
                                uint64_t stride, const double *q, uint64_t rank)                   \
    {                                                                                              \
        typedef double vec __attribute__((vector_size(bytes), aligned(8), may_alias));             \
        unsigned reached = 0;                                                                      \
        for (uint64_t c = 0; c < ROW_GROUP; c += 2 * bytes / 8) {                                  \
            vec a[TILE][2] = {{{0}}};                                                              \
            for (uint64_t r = 0; r < rank; r++) {                                                  \
                const double *column = q + r * ROW_GROUP + c;                                      \
                const vec x = *(const vec *)column, y = *(const vec *)(column + bytes / 8);        \
                UNROLLED for (uint64_t u = 0; u < TILE; u++)                                       \
                {                                                                                  \
                    a[u][0] += p[u * stride + r] * x;                                              \
                    a[u][1] += p[u * stride + r] * y;                                              \
                }                                                                                  \
            }                                                                                      \
            UNROLLED for (uint64_t u = 0; u < TILE; u++)                                           \
            {                                                                                      \
                *(vec *)(value + u * ROW_GROUP + c) = a[u][0];                                     \
                *(vec *)(value + u * ROW_GROUP + c + bytes / 8) = a[u][1];                         \
            }                                                                                      \
        }                                                                                          \
        for (unsigned u = 0; u < TILE; u++) {                                                      \
            int any = 0;                                                                           \
            for (int j = 0; j < ROW_GROUP; j++)                                                    \
                any |= !(value[u * ROW_GROUP + (unsigned)j] < least[u]);                           \
            reached |= (unsigned)any << u;                                                         \
        }                                                                                          \
        return reached;                                                                            \
    }

#if defined(__GNUC__) && !defined(__clang__)
#define UNROLLED _Pragma("GCC unroll 4")
#else
#define UNROLLED
#endif

MULTIPLY(multiply_2, 16, )
#ifdef __x86_64__
MULTIPLY(multiply_4, 32, __attribute__((target("avx2,fma"))))
MULTIPLY(multiply_8, 64, __attribute__((target("avx512f,avx512dq"))))
#endif

static unsigned multiply(double *value, const double *least, const double *p, uint64_t stride,
                         const double *q, uint64_t rank)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
        return multiply_8(value, least, p, stride, q, rank);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return multiply_4(value, least, p, stride, q, rank);
#endif
    return multiply_2(value, least, p, stride, q, rank);
}

/* Takes an entry that may be wanted. */
static void offer(struct finder *f, const uint64_t *row)
{
    struct search *s = f->search;
    struct best_entry e = {.value = 0};
    struct error error = {0};
    memcpy(e.cell.index, s->slice->index, sizeof e.cell.index);
    for (int i = 0; i < s->modes; i++)
        e.cell.index[s->mode[i]] = s->tree[i].index[row[i]];
    if (s->each)
        e.cell.index[s->mode[s->modes - 2]] += (uint32_t)s->first;
    e.value = ktensor_value(s->k, e.cell.index);
    const uint64_t each = s->each ? row[s->modes - 2] : 0;
    struct best_heap *best = s->each ? &f->best[each - f->begin] : &s->best;
    double least;
#pragma omp atomic read
    least = best->least;
    if (!(e.value >= least) || e.value == 0 || unlisted_slice_lists(s->slice, e.cell.index))
        return;
    if (s->each) {
        const struct row_tree *t = &s->tree[s->modes - 2];
        put(best, &e, &error);
        f->least[each - f->begin] = best->least / t->length[t->index[each]];
    } else {
#pragma omp critical(unlisted_best)
        put(best, &e, &error);
    }
    if (error.status != STATUS_OK)
        stop(s, &error);
}

/* product *= row, both (stride). */
VECTOR_CLONES static void multiply_row(double *restrict product, const double *restrict row,
                                       uint64_t stride)
{
    for (uint64_t r = 0; r < stride; r++)
        product[r] *= row[r];
}

/* Product of the rows of all modes but the last. */
static void multiply_rows(double *product, const struct search *s, const uint64_t *row)
{
    if (s->modes == 1)
        for (uint64_t r = 0; r < s->stride; r++)
            product[r] = 1;
    else
        memcpy(product, s->tree[0].row + row[0] * s->stride, s->stride * sizeof *product);
    for (int i = 1; i + 1 < s->modes; i++)
        multiply_row(product, s->tree[i].row + row[i] * s->stride, s->stride);
}

/* Computes all entries of a tuple, whose last part is a range. */
static void visit(struct finder *f, const struct tuple *t)
{
    struct search *s = f->search;
    const int last = s->modes - 1;
    const struct row_tree *columns = &s->tree[last];
    const double margin = s->slack * t->magnitude;
    struct row_range range[MAX_ORDER];
    const double *low, *high;
    uint64_t row[MAX_ORDER], tile[TILE][MAX_ORDER], combinations = 1, visited;
    find_part(columns, t->part[last], &range[last], &low, &high);
    for (int i = 0; i < last; i++) {
        find_part(&s->tree[i], t->part[i], &range[i], &low, &high);
        row[i] = range[i].begin;
        combinations *= range[i].end - range[i].begin;
    }
#pragma omp atomic capture
    visited = s->visited += combinations * (range[last].end - range[last].begin);
    if (visited > s->most) {
        struct error error = {0};
        error_set(&error, STATUS_INPUT,
                  "after %ju entries the search has not ended, since the model is as large at many "
                  "others: expected the index of a mode, or a smaller -n",
                  (uintmax_t)s->most);
        stop(s, &error);
    }
    for (uint64_t done = 0; done < combinations;) {
        double value[TILE * ROW_GROUP], least[TILE];
        uint64_t count = 0;
        for (; count < TILE && done < combinations; count++, done++) {
            memcpy(tile[count], row, sizeof row);
            multiply_rows(f->product + count * s->stride, s, row);
            least[count] = least_wanted(f, s->each ? row[last - 1] : 0) - margin;
            for (int i = last; i-- > 0 && ++row[i] == range[i].end;)
                row[i] = range[i].begin;
        }
        for (uint64_t u = count; u < TILE; u++) /* rows that are not there */
            least[u] = INFINITY;
        for (uint64_t b = range[last].begin; b < range[last].end; b += ROW_GROUP) {
            const uint64_t rows = least_of(ROW_GROUP, range[last].end - b);
            const unsigned reached = multiply(value, least, f->product, s->stride,
                                              columns->row + b * columns->rank, columns->rank);
            for (uint64_t u = 0; u < count && reached >> u; u++)
                for (uint64_t j = 0; reached >> u & 1 && j < rows; j++)
                    if (!(value[u * ROW_GROUP + j] < least[u])) {
                        tile[u][last] = b + j;
                        offer(f, tile[u]);
                    }
        }
    }
}

/* --- tuples --- */

/* child (2) = the halves of the tuple, whose part of mode i is a range that is no leaf. */
static void halve(const struct search *s, const struct tuple *t, int i, struct tuple *child)
{
    for (uint64_t c = 0; c < 2; c++) {
        child[c] = *t;
        child[c].part[i] = s->tree[i].range[t->part[i]].child + c;
        bound(s, &child[c]);
    }
}

static int compare_tuples(const void *a, const void *b)
{
    const struct tuple *x = a, *y = b;
    return x->highest > y->highest ? -1 : x->highest < y->highest;
}

/* child (ROW_GROUP, which a leaf of a mode but the last has at most) = what the tuple is divided
 * into, the largest bound first: the halves of one range, which leave the smallest bounds, or,
 * where there are only leaves, the rows of one. Returns their number; 0 where the tuple's entries
 * are to be computed. */
static int divide(const struct search *s, const struct tuple *t, struct tuple *child)
{
    const int last = s->modes - 1;
    uint64_t cells = 1, rows = 1;
    int longest = -1, count = 0;
    struct row_range range[MAX_ORDER];
    const double *low, *high;
    for (int i = 0; i <= last; i++) {
        find_part(&s->tree[i], t->part[i], &range[i], &low, &high);
        const uint64_t part = range[i].end - range[i].begin;
        if (__builtin_mul_overflow(cells, part, &cells))
            cells = UINT64_MAX;
        if (part > rows && i != last) {
            rows = part;
            longest = i;
        }
    }
    if (cells <= TUPLE_CELLS)
        return 0;
    for (int i = 0; i <= last; i++) {
        struct tuple half[2];
        if (range[i].child == 0)
            continue;
        halve(s, t, i, half);
        if (count == 0 || half[0].highest + half[1].highest < child[0].highest + child[1].highest)
            memcpy(child, half, sizeof half);
        count = 2;
    }
    if (count == 0 && longest >= 0)
        for (uint64_t row = range[longest].begin; row < range[longest].end; row++) {
            child[count] = *t;
            child[count].part[longest] = s->tree[longest].ranges + row;
            bound(s, &child[count++]);
        }
    qsort(child, (size_t)count, sizeof *child, compare_tuples);
    return count;
}

static bool stopped(const struct search *s)
{
    bool stops;
#pragma omp atomic read
    stops = s->stops;
    return stops;
}

static void descend(struct finder *f, const struct tuple *t)
{
    struct tuple child[ROW_GROUP];
    if (lacks_wanted(f, t) || stopped(f->search))
        return;
    const int count = divide(f->search, t, child);
    if (count == 0)
        visit(f, t);
    for (int i = 0; i < count; i++)
        descend(f, &child[i]);
}

/* --- before and after --- */

/* Finds the modes and their scales. n: the mode that is searched for each of its indices, or -1. */
static enum status search_create(struct search *s, int n, struct error *error)
{
    const struct ktensor *k = s->k;
    const uint64_t rank = k->rank;
    for (int m = 0; m < k->shape.order; m++) {
        if (s->slice->given[m] || m == n)
            continue;
        int i = s->modes++;
        for (; i > 0 && k->shape.dims[s->mode[i - 1]] > k->shape.dims[m]; i--)
            s->mode[i] = s->mode[i - 1];
        s->mode[i] = m;
    }
    if (s->each) {
        s->mode[s->modes] = s->mode[s->modes - 1];
        s->mode[s->modes++ - 1] = n;
    }
    const uint64_t modes = (uint64_t)s->modes;
    s->stride = ROW_STRIDE(rank);
    s->most = s->slice->most > 0 ? s->slice->most : UNLISTED_MOST;
    s->slack = 4 * DBL_EPSILON * (double)(rank + 4 * modes + 8);
    s->scale = memory_array(modes * rank, sizeof *s->scale, error);
    s->weight = memory_array(modes * rank, sizeof *s->weight, error);
    double *largest = memory_zeros(modes * rank, sizeof *largest, error);
    TRY_OR(done, error->status);
    for (uint64_t r = 0; r < rank; r++) {
        double given = k->lambda[r];
        for (int m = 0; m < k->shape.order; m++)
            if (s->slice->given[m])
                given *= k->factor[m][s->slice->index[m] * rank + r];
        for (uint64_t i = 0; i < modes; i++)
            s->scale[i * rank + r] =
                modes == 1 ? fabs(given) : pow(fabs(given), 1. / (double)modes);
        s->scale[r] = copysign(s->scale[r], given);
    }
    for (uint64_t i = 0; i < modes; i++) {
        double *most = largest + i * rank;
        s->rows[i] = k->shape.dims[s->mode[i]];
        for (uint64_t row = 0; row < s->rows[i]; row++)
            for (uint64_t r = 0; r < rank; r++) {
                const double x = fabs(k->factor[s->mode[i]][row * rank + r]);
                most[r] = x > most[r] ? x : most[r];
            }
    }
    for (uint64_t i = 0; i < modes; i++)
        for (uint64_t r = 0; r < rank; r++) {
            double *weight = &s->weight[i * rank + r];
            *weight = 1;
            for (uint64_t m = 0; m < modes; m++)
                if (m != i)
                    *weight *= largest[m * rank + r] * fabs(s->scale[m * rank + r]);
        }
done:
    memory_free(largest);
    return error->status;
}

/* Makes the tree of rows [first, first + count) of the search's mode i. */
static enum status plant(struct search *s, int i, uint64_t first, uint64_t count,
                         struct error *error)
{
    const uint64_t rank = s->k->rank;
    const bool coarse =
        i == s->modes - 1 && unlisted_slice_entries(s->slice) / s->rows[i] < WORTH_DIVIDING;
    const struct row_tree_form form = {.scale = s->scale + (uint64_t)i * rank,
                                       .weight = s->weight + (uint64_t)i * rank,
                                       .leaf = coarse ? count / FEW_PARTS : ROW_GROUP,
                                       .unit = s->each && i == s->modes - 2,
                                       .packed = i == s->modes - 1};
    return row_tree_create(&s->tree[i], s->k->factor[s->mode[i]] + first * rank, count, rank, &form,
                           error);
}

static void search_free(struct search *s)
{
    for (int i = 0; i < s->modes; i++)
        row_tree_free(&s->tree[i]);
    memory_free(s->scale);
    memory_free(s->weight);
    memory_free(s->best.entry);
}

/* Finders for all threads; NULL on failure. */
static struct finder *finders_create(struct search *s, struct error *error)
{
    const int threads = omp_get_max_threads();
    struct finder *f = memory_zeros((uint64_t)threads, sizeof *f, error);
    for (int i = 0; f && i < threads && error->status == STATUS_OK; i++) {
        f[i].search = s;
        f[i].product = memory_zeros(TILE, s->stride * sizeof *f->product, error);
    }
    return f;
}

static void finders_free(struct finder *f)
{
    for (int i = 0; f && i < omp_get_max_threads(); i++) {
        for (int k = 0; k < EACH_ROWS; k++)
            memory_free(f[i].best[k].entry);
        memory_free(f[i].product);
    }
    memory_free(f);
}

/* Ends the stage of a search that is complete. */
static void report(const struct search *s, struct progress *progress)
{
    const double entries = (double)unlisted_slice_entries(s->slice);
    progress_done(progress, "%.3g of %.3g entries computed", (double)s->visited, entries);
}

/* --- the search of one slice --- */

/* tuple (TUPLES) = the whole slice, divided where bounds are highest. The small tuple with the
 * highest bound is visited at once each time, which tells what is wanted. Returns the number of
 * tuples. */
static uint64_t divide_slice(struct finder *f, struct tuple *tuple)
{
    uint64_t count = 1, divided = 1;
    tuple[0] = (struct tuple){.part = {0}};
    bound(f->search, &tuple[0]);
    while (divided > 0 && !stopped(f->search)) {
        uint64_t kept = 0, visited = 0;
        divided = 0;
        qsort(tuple, count, sizeof *tuple, compare_tuples);
        for (uint64_t i = 0, end = (count + 1) / 2; i < end && count + ROW_GROUP <= TUPLES; i++) {
            struct tuple child[ROW_GROUP];
            if (lacks_wanted(f, &tuple[i]))
                continue;
            const int children = divide(f->search, &tuple[i], child);
            if (children == 0 && visited++ == 0) {
                visit(f, &tuple[i]);
                tuple[i].magnitude = 0; /* lacks more */
            }
            if (children == 0)
                continue;
            tuple[i] = child[0];
            memcpy(tuple + count, child + 1, (size_t)(children - 1) * sizeof *tuple);
            count += (uint64_t)children - 1;
            divided++;
        }
        for (uint64_t i = 0; i < count; i++)
            if (!lacks_wanted(f, &tuple[i]))
                tuple[kept++] = tuple[i];
        count = kept;
    }
    return count;
}

static void search_tuples(struct finder *finder, const struct tuple *tuple, uint64_t count,
                          struct progress *progress)
{
    struct search *s = finder[0].search;
#pragma omp parallel for schedule(dynamic)
    for (uint64_t i = 0; i < count; i++) {
        descend(&finder[omp_get_thread_num()], &tuple[i]);
        if (omp_get_thread_num() == 0) {
            uint64_t visited;
#pragma omp atomic read
            visited = s->visited;
            progress_update(progress, (double)i / (double)count, "%ju entries computed",
                            (uintmax_t)visited);
        }
    }
}

enum status unlisted_best_find(struct unlisted_best *best, const struct ktensor *k,
                               struct unlisted_slice *slice, uint64_t wanted,
                               struct progress *progress, struct error *error)
{
    struct search s = {.k = k, .slice = slice, .error = error};
    struct finder *finder = NULL;
    struct tuple *tuple = NULL;
    *best = (struct unlisted_best){0};
    s.wanted = least_of(wanted, unlisted_slice_entries(slice));
    s.best = (struct best_heap){.wanted = s.wanted, .least = -INFINITY};
    TRY_OR(done, unlisted_slice_sort(slice, error));
    TRY_OR(done, search_create(&s, -1, error));
    for (int i = 0; i < s.modes; i++)
        TRY_OR(done, plant(&s, i, 0, s.rows[i], error));
    finder = finders_create(&s, error);
    tuple = memory_array(TUPLES, sizeof *tuple, error);
    TRY_OR(done, error->status);
    search_tuples(finder, tuple, divide_slice(&finder[0], tuple), progress);
    if (error->status == STATUS_OK) {
        report(&s, progress);
        sort_heap(&s.best);
        *best = (struct unlisted_best){s.best.count, s.best.entry};
        s.best.entry = NULL;
    }
done:
    finders_free(finder);
    memory_free(tuple);
    search_free(&s);
    return error->status;
}

/* --- the search of each index of a mode --- */

/* Finds the entries of the rows of a range: found (wanted) and count of each, in the order of the
 * matrix. */
static void search_rows(struct finder *f, uint64_t number, struct best_entry *found,
                        uint64_t *count)
{
    struct search *s = f->search;
    const struct row_tree *t = &s->tree[s->modes - 2];
    const struct row_range *range = &t->range[number];
    const uint64_t wanted = s->wanted, rows = range->end - range->begin;
    struct tuple whole = {.part = {0}};
    f->begin = range->begin;
    for (uint64_t i = 0; i < rows; i++) {
        f->best[i].count = 0;
        f->best[i].wanted = wanted;
        f->best[i].least = f->least[i] = -INFINITY;
    }
    whole.part[s->modes - 2] = number;
    bound(s, &whole);
    descend(f, &whole);
    for (uint64_t i = 0; i < rows; i++) {
        const uint64_t row = t->index[range->begin + i];
        sort_heap(&f->best[i]);
        count[row] = f->best[i].count;
        if (count[row] > 0)
            memcpy(found + row * wanted, f->best[i].entry, count[row] * sizeof *found);
    }
}

/* part (as many as t has ranges) = the largest ranges with so many rows or less. Returns their
 * number. */
static uint64_t cut_rows(const struct row_tree *t, uint64_t rows, uint64_t *part)
{
    uint64_t count = 0;
    if (t->rows <= rows)
        part[count++] = 0;
    for (uint64_t i = 0; i < t->ranges; i++) {
        if (t->range[i].end - t->range[i].begin <= rows)
            continue;
        for (uint64_t c = t->range[i].child; c < t->range[i].child + 2; c++)
            if (t->range[c].end - t->range[c].begin <= rows)
                part[count++] = c;
    }
    return count;
}

enum status unlisted_best_of_each(const struct ktensor *k, struct unlisted_slice *slice, int n,
                                  uint64_t wanted, unlisted_taker *take, void *context,
                                  struct progress *progress, struct error *error)
{
    struct search s = {.k = k, .slice = slice, .each = true, .error = error};
    struct finder *finder = NULL;
    struct unlisted_best best = {0};
    uint64_t *count = NULL, *part = NULL;
    const uint64_t rows = slice->shape.dims[n], entries = unlisted_slice_entries(slice) / rows;
    s.wanted = least_of(wanted, entries);
    const uint64_t some = least_of(EACH_ENTRIES / s.wanted, EACH_AT_ONCE);
    const uint64_t at_once = least_of(rows, some > EACH_FEW ? some : EACH_FEW);
    const uint64_t share = at_once / (4 * (uint64_t)omp_get_max_threads());
    const uint64_t together = least_of(share > ROW_GROUP ? share : ROW_GROUP, EACH_ROWS);
    TRY_OR(done, unlisted_slice_sort(slice, error));
    TRY_OR(done, search_create(&s, n, error));
    for (int i = 0; i < s.modes; i++)
        if (i != s.modes - 2)
            TRY_OR(done, plant(&s, i, 0, s.rows[i], error));
    finder = finders_create(&s, error);
    count = memory_array(at_once, sizeof *count, error);
    part = memory_array(ROW_RANGES(at_once), sizeof *part, error);
    best.entry = memory_array(at_once * s.wanted, sizeof *best.entry, error);
    TRY_OR(done, error->status);
    for (s.first = 0; s.first < rows; s.first += at_once) {
        struct row_tree *t = &s.tree[s.modes - 2];
        const uint64_t here = least_of(at_once, rows - s.first);
        uint64_t searched = s.first;
        TRY_OR(done, plant(&s, s.modes - 2, s.first, here, error));
        const uint64_t parts = cut_rows(t, together, part);
#pragma omp parallel for schedule(dynamic)
        for (uint64_t i = 0; i < parts; i++) {
            const struct row_range *range = &t->range[part[i]];
            search_rows(&finder[omp_get_thread_num()], part[i], best.entry, count);
            uint64_t all;
#pragma omp atomic capture
            all = searched += range->end - range->begin;
            if (omp_get_thread_num() == 0)
                progress_update(progress, (double)all / (double)rows, "%ju of %ju", (uintmax_t)all,
                                (uintmax_t)rows);
        }
        row_tree_free(t);
        TRY_OR(done, error->status);
        best.count = 0;
        for (uint64_t i = 0; i < here; i++) {
            memmove(best.entry + best.count, best.entry + i * s.wanted,
                    count[i] * sizeof *best.entry);
            best.count += count[i];
        }
        progress_clear(progress);
        TRY_OR(done, take(context, &best, error));
    }
    report(&s, progress);
done:
    finders_free(finder);
    memory_free(count);
    memory_free(part);
    memory_free(best.entry);
    search_free(&s);
    return error->status;
}

void unlisted_best_free(struct unlisted_best *best)
{
    memory_free(best->entry);
    *best = (struct unlisted_best){0};
}
