#include "report/unlisted_best.h"

#include <float.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/least.h"
#include "base/memory.h"
#include "base/radix_sort.h"
#include "base/vector_clones.h"
#include "report/top_entries.h"

#define TILE         4     /* rows that are multiplied with a group of rows at a time */
#define ROW_GROUP    16    /* rows that are packed together                           */
#define EACH_AT_ONCE 65536 /* indices whose entries are in memory at a time           */
#define EACH_ENTRIES (UINT64_C(1) << 20) /* of these, unless they are few indices     */
#define EACH_FEW     256

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
    struct best_entry *entry; /* (wanted) borrowed */
    uint64_t count, wanted;
    double least; /* no smaller value is wanted */
};

static void put(struct best_heap *h, const struct best_entry *e)
{
    best_keep(h->entry, &h->count, h->wanted, sizeof *e, compare_entries, e);
    if (h->count == h->wanted) {
#pragma omp atomic write
        h->least = h->entry[0].value;
    }
}

/* --- what is searched --- */

/* The rows of a mode times its share of lambda and of the rows of given indices, so that the
 * model's values are the sums over r of products of rows. */
struct scaled_rows {
    int mode;
    uint64_t count;
    uint64_t *index; /* (count) which row of the matrix it is; owned                     */
    double *norm;    /* (count) descending; owned                                        */
    double *row;     /* (count x stride); of the last mode packed: a matrix (R x ROW_GROUP) for each
                      * ROW_GROUP rows, zeros after the last row; owned */
};

/* The modes without a given index, the longest one last. Before it the one that is searched for
 * each of its indices, whose rows stay in the order of the matrix, or the second longest: TILE of
 * its rows are searched at a time. The others are the outer modes. */
struct search {
    const struct ktensor *k;
    const struct unlisted_slice *slice;
    bool each;
    int modes, outer; /* outer: modes - 2 or 0                                   */
    struct scaled_rows rows[MAX_ORDER]; /* (modes)                                            */
    double rest[MAX_ORDER];             /* (outer + 1) the product of the largest norms of the outer
                                         * modes from this one on and of the last mode             */
    uint64_t stride; /* R, rounded up to whole vectors; columns beyond R are 0  */
    double slack; /* by how much rounding may change a sum, relative to a bound of its magnitude */
    uint64_t most, visited; /* entries that may be computed, and that are              */
    uint64_t wanted;
    uint64_t first;         /* where `each`: the index that the heaps begin with       */
    struct best_heap *heap; /* of each index that is searched, or one; owned           */
};

/* What a thread works with: TILE rows, or fewer, times a row of each outer mode. */
struct finder {
    struct search *search;
    uint64_t begin, count;        /* rows of the mode that is second to last                */
    uint64_t row[MAX_ORDER];      /* (outer)                                                */
    double norm[MAX_ORDER][TILE]; /* (outer + 1) of the products of so many outer modes     */
    double *product;              /* (outer + 1, TILE, stride) owned                        */
};

/* No smaller value is wanted of row u. */
static double least_wanted(const struct finder *f, uint64_t u)
{
    const struct search *s = f->search;
    const struct best_heap *heap = s->each ? &s->heap[f->begin + u - s->first] : s->heap;
    double least;
#pragma omp atomic read
    least = heap->least;
    return least;
}

/* Whether no wanted entry comes of the products of `outer` modes with rows whose norms, or the
 * products of these, are `norm` or less: a sum of products is at most the product of norms. */
static bool lacks_wanted(const struct finder *f, int outer, double norm)
{
    for (uint64_t u = 0; u < f->count; u++) {
        const double most = f->norm[outer][u] * norm * (1 + f->search->slack);
        if (most != 0 && !(most < least_wanted(f, u)))
            return false;
    }
    return true;
}

/* The 2-norm, also where squares are too small for a double; infinite where it is no number. */
VECTOR_CLONES static double norm_of(const double *row, uint64_t stride)
{
    double squares[8] = {0}, largest[8] = {0}, sum = 0, most = 0;
    for (uint64_t r = 0; r < stride; r += 8)
        for (uint64_t j = 0; j < 8; j++) {
            const double x = fabs(row[r + j]);
            squares[j] += x * x;
            largest[j] = x > largest[j] ? x : largest[j];
        }
    for (int j = 0; j < 8; j++) {
        sum += squares[j];
        most = fmax(most, largest[j]);
    }
    if (isnan(sum))
        return INFINITY;
    return sum < DBL_MIN / DBL_EPSILON ? most * sqrt((double)stride) : sqrt(sum);
}

/* --- the entries of a tile --- */

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

/* Takes an entry that may be wanted: row u of the tile with row `last` of the last mode. */
static void offer(const struct finder *f, uint64_t u, uint64_t last)
{
    struct search *s = f->search;
    struct best_entry e = {.value = 0};
    memcpy(e.cell.index, s->slice->index, sizeof e.cell.index);
    for (int i = 0; i < s->modes; i++) {
        const uint64_t row = i < s->outer ? f->row[i] : i < s->modes - 1 ? f->begin + u : last;
        e.cell.index[s->rows[i].mode] = (uint32_t)s->rows[i].index[row];
    }
    e.value = ktensor_value(s->k, e.cell.index);
    if (!(e.value >= least_wanted(f, u)) || e.value == 0 ||
        unlisted_slice_lists(s->slice, e.cell.index))
        return;
    if (s->each)
        put(&s->heap[f->begin + u - s->first], &e);
    else
#pragma omp critical(unlisted_best)
        put(s->heap, &e);
}

/* Computes the entries of a tile's products with the rows of the last mode, which end where norms
 * are too small. */
static void visit(const struct finder *f)
{
    struct search *s = f->search;
    const struct scaled_rows *columns = &s->rows[s->modes - 1];
    const double *product = f->product + (uint64_t)s->outer * TILE * s->stride;
    double value[TILE * ROW_GROUP], least[TILE];
    uint64_t end = 0;
    for (uint64_t b = 0; b < columns->count; b = end) {
        if (lacks_wanted(f, s->outer, columns->norm[b]))
            break;
        for (uint64_t u = 0; u < TILE; u++) /* some rows may not be there */
            least[u] = u < f->count
                           ? least_wanted(f, u) - s->slack * f->norm[s->outer][u] * columns->norm[b]
                           : INFINITY;
        end = least_of(b + ROW_GROUP, columns->count);
        const unsigned reached =
            multiply(value, least, product, s->stride, columns->row + b * s->k->rank, s->k->rank);
        for (uint64_t u = 0; u < f->count && reached >> u; u++)
            for (uint64_t j = 0; reached >> u & 1 && j < end - b; j++)
                if (!(value[u * ROW_GROUP + j] < least[u]))
                    offer(f, u, b + j);
    }
#pragma omp atomic
    s->visited += f->count * end;
}

/* to = product * row, all (stride). */
VECTOR_CLONES static void multiply_rows(double *to, const double *product, const double *row,
                                        uint64_t stride)
{
    for (uint64_t r = 0; r < stride; r++)
        to[r] = product[r] * row[r];
}

/* Searches the products of the tile with `outer` modes, whose rows are chosen, times all rows of
 * the others. */
static void descend(struct finder *f, int outer)
{
    const struct search *s = f->search;
    const struct scaled_rows *rows = &s->rows[outer];
    const double *from = f->product + (uint64_t)outer * TILE * s->stride;
    double *to = f->product + (uint64_t)(outer + 1) * TILE * s->stride;
    uint64_t visited;
#pragma omp atomic read
    visited = s->visited;
    if (visited > s->most)
        return;
    if (outer == s->outer) {
        visit(f);
        return;
    }
    for (uint64_t i = 0; i < rows->count; i++) {
        if (lacks_wanted(f, outer, rows->norm[i] * s->rest[outer + 1]))
            return;
        f->row[outer] = i;
        for (uint64_t u = 0; u < f->count; u++) {
            multiply_rows(to + u * s->stride, from + u * s->stride, rows->row + i * s->stride,
                          s->stride);
            f->norm[outer + 1][u] = norm_of(to + u * s->stride, s->stride);
        }
        descend(f, outer + 1);
    }
}

/* Searches row begin and the next ones, fewer than TILE before `end`, of the mode that is second to
 * last; where there is one mode alone, the tile is a row of ones. */
static void search_tile(struct finder *f, uint64_t begin, uint64_t end)
{
    const struct search *s = f->search;
    f->begin = begin;
    f->count = least_of(TILE, end - begin);
    for (uint64_t u = 0; u < f->count; u++) {
        double *product = f->product + u * s->stride;
        if (s->modes > 1)
            memcpy(product, s->rows[s->modes - 2].row + (begin + u) * s->stride,
                   s->stride * sizeof *product);
        for (uint64_t r = 0; s->modes == 1 && r < s->k->rank; r++)
            product[r] = 1;
        f->norm[0][u] = norm_of(product, s->stride);
    }
    descend(f, 0);
}

/* --- before and after --- */

/* Scales the rows of the search's mode i and puts them into their order. */
static enum status scale_rows(struct search *s, int i, struct error *error)
{
    struct scaled_rows *t = &s->rows[i];
    const uint64_t rank = s->k->rank, stride = s->stride;
    const bool packed = i == s->modes - 1, sorted = packed || !s->each || i != s->modes - 2;
    const double *a = s->k->factor[t->mode];
    double *scale = memory_array(rank, sizeof *scale, error);
    uint64_t *key = memory_array(t->count, sizeof *key, error);
    t->index = memory_array(t->count, sizeof *t->index, error);
    t->norm = memory_array(t->count, sizeof *t->norm, error);
    t->row = memory_zeros(t->count + ROW_GROUP, stride * sizeof *t->row, error);
    TRY_OR(done, error->status);
    for (uint64_t r = 0; r < rank; r++) {
        double given = s->k->lambda[r];
        for (int m = 0; m < s->k->shape.order; m++)
            if (s->slice->given[m])
                given *= s->k->factor[m][s->slice->index[m] * rank + r];
        scale[r] = s->modes == 1 ? fabs(given) : pow(fabs(given), 1. / s->modes);
        scale[r] = i == 0 ? copysign(scale[r], given) : scale[r];
    }
#pragma omp parallel for schedule(static)
    for (uint64_t row = 0; row < t->count; row++) {
        double *scaled = t->row + row * stride;
        for (uint64_t r = 0; r < rank; r++)
            scaled[r] = a[row * rank + r] * scale[r];
        t->index[row] = row;
        t->norm[row] = norm_of(scaled, stride);
        memcpy(&key[row], &t->norm[row], sizeof *key); /* doubles of one sign order as their bits */
        key[row] = ~key[row];
    }
    if (sorted)
        TRY_OR(done, radix_sort(key, t->index, t->count, error));
    memset(t->row, 0, (t->count + ROW_GROUP) * stride * sizeof *t->row);
#pragma omp parallel for schedule(static)
    for (uint64_t k = 0; k < t->count; k++) {
        const double *from = a + t->index[k] * rank;
        double *to =
            packed ? t->row + (k - k % ROW_GROUP) * rank + k % ROW_GROUP : t->row + k * stride;
        for (uint64_t r = 0; r < rank; r++)
            to[packed ? r * ROW_GROUP : r] = from[r] * scale[r];
        key[k] = ~key[k];
        memcpy(&t->norm[k], &key[k], sizeof *key);
    }
done:
    memory_free(scale, key);
    return error->status;
}

/* Finds the modes and their rows, and sorts the slice. n: the mode that is searched for each of its
 * indices, or -1. */
static enum status search_create(struct search *s, struct unlisted_slice *slice, int n,
                                 uint64_t heaps, struct error *error)
{
    const struct shape *shape = &s->k->shape;
    s->slice = slice;
    s->each = n >= 0;
    for (int m = 0; m < shape->order; m++) {
        if (slice->given[m] || m == n)
            continue;
        int i = s->modes++;
        for (; i > 0 && s->rows[i - 1].count > shape->dims[m]; i--)
            s->rows[i] = s->rows[i - 1];
        s->rows[i] = (struct scaled_rows){.mode = m, .count = shape->dims[m]};
    }
    if (s->each) {
        s->rows[s->modes] = s->rows[s->modes - 1];
        s->rows[s->modes++ - 1] = (struct scaled_rows){.mode = n, .count = shape->dims[n]};
    }
    s->outer = s->modes > 2 ? s->modes - 2 : 0;
    s->stride = (s->k->rank + 7) / 8 * 8;
    s->most = slice->most > 0 ? slice->most : UNLISTED_MOST;
    s->slack = 4 * DBL_EPSILON * (double)(s->k->rank + 4 * (uint64_t)s->modes + 8);
    TRY(unlisted_slice_sort(slice, error));
    for (int i = 0; i < s->modes; i++)
        TRY(scale_rows(s, i, error));
    s->rest[s->outer] = s->rows[s->modes - 1].norm[0];
    for (int i = s->outer; i-- > 0;)
        s->rest[i] = s->rest[i + 1] * s->rows[i].norm[0];
    s->heap = memory_array(heaps, sizeof *s->heap, error);
    return error->status;
}

static void search_free(struct search *s)
{
    for (int i = 0; i < s->modes; i++)
        memory_free(s->rows[i].index, s->rows[i].norm, s->rows[i].row);
    memory_free(s->heap);
}

enum status unlisted_best_of_each(const struct ktensor *k, struct unlisted_slice *slice, int n,
                                  uint64_t wanted, unlisted_taker *take, void *context,
                                  struct progress *progress, struct error *error)
{
    const uint64_t entries = unlisted_slice_entries(slice),
                   heaps = n < 0 ? 1 : slice->shape.dims[n];
    struct search s = {.k = k, .wanted = least_of(wanted, entries / heaps)};
    const uint64_t few = least_of(EACH_ENTRIES / s.wanted, EACH_AT_ONCE);
    const uint64_t at_once = least_of(heaps, few > EACH_FEW ? few : EACH_FEW);
    struct unlisted_best best = {.entry =
                                     memory_array(at_once * s.wanted, sizeof *best.entry, error)};
    uint64_t searched = 0; /* rows of the mode that is second to last */
    double *product = NULL;
    TRY_OR(done, error->status);
    TRY_OR(done, search_create(&s, slice, n, at_once, error));
    const uint64_t rows = s.modes > 1 ? s.rows[s.modes - 2].count : 1;
    const uint64_t size = (uint64_t)(s.outer + 1) * TILE * s.stride;
    product = memory_zeros((uint64_t)omp_get_max_threads() * size, sizeof *product, error);
    TRY_OR(done, error->status);
    for (uint64_t first = 0; first < heaps; first += at_once) {
        const uint64_t here = least_of(at_once, heaps - first), end = n < 0 ? rows : first + here;
        s.first = first;
        for (uint64_t i = 0; i < here; i++)
            s.heap[i] = (struct best_heap){best.entry + i * s.wanted, 0, s.wanted, -INFINITY};
#pragma omp parallel for schedule(dynamic)
        for (uint64_t row = first; row < end; row += TILE) {
            struct finder f = {.search = &s,
                               .product = product + (uint64_t)omp_get_thread_num() * size};
            search_tile(&f, row, end);
            uint64_t so_far;
#pragma omp atomic capture
            so_far = searched += f.count;
            if (omp_get_thread_num() == 0)
                progress_update(progress, (double)so_far / (double)rows, "%ju of %ju",
                                (uintmax_t)so_far, (uintmax_t)rows);
        }
        if (s.visited > s.most)
            TRY_OR(done, error_set(error, STATUS_INPUT,
                                   "after %ju entries the search has not ended, since the model is "
                                   "as large at many others: expected the index of a mode, or a "
                                   "smaller -n",
                                   (uintmax_t)s.most));
#pragma omp parallel for schedule(dynamic)
        for (uint64_t i = 0; i < here; i++)
            if (s.heap[i].count > 0)
                qsort(s.heap[i].entry, s.heap[i].count, sizeof *best.entry, compare_entries);
        best.count = 0;
        for (uint64_t i = 0; i < here; best.count += s.heap[i++].count)
            memmove(best.entry + best.count, s.heap[i].entry, s.heap[i].count * sizeof *best.entry);
        progress_clear(progress);
        TRY_OR(done, take(context, &best, error));
    }
    progress_done(progress, "%.3g of %.3g entries computed", (double)s.visited, (double)entries);
done:
    memory_free(product);
    search_free(&s);
    unlisted_best_free(&best);
    return error->status;
}

static enum status keep(void *context, struct unlisted_best *best, struct error *error)
{
    *(struct unlisted_best *)context = *best;
    *best = (struct unlisted_best){0};
    return error->status;
}

enum status unlisted_best_find(struct unlisted_best *best, const struct ktensor *k,
                               struct unlisted_slice *slice, uint64_t wanted,
                               struct progress *progress, struct error *error)
{
    *best = (struct unlisted_best){0};
    return unlisted_best_of_each(k, slice, -1, wanted, keep, best, progress, error);
}

void unlisted_best_free(struct unlisted_best *best)
{
    memory_free(best->entry);
    *best = (struct unlisted_best){0};
}
