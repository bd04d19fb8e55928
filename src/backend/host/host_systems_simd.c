#include "backend/host/host_systems.h"

#include <math.h>
#include <string.h>

#include "backend/host/simd_vector.h"
#include "numerics/poisson_term.h"

#define TILE_ROWS     SIMD_WIDTH /* of G, summed in registers ... */
#define TILE_VECTORS  2          /* ... and its columns           */
#define VECTORS       4          /* of a row, for which there are kernels */
#define VECTOR_CHAINS 4          /* vectors of b that are summed at a time */
#define STREAM_AHEAD  128        /* nonzeros: their coordinates are prefetched */
#define LINE_BYTES    64         /* of a cache */

typedef float floats
    __attribute__((vector_size(sizeof(float) * SIMD_WIDTH), aligned(sizeof(float)), may_alias));

/* Entries of a row of a factor matrix, from number e on. */
INLINE vec load_entries(const char *row, uint64_t e, bool single)
{
    return single ? __builtin_convertvector(*(const floats *)(row + e * sizeof(float)), vec)
                  : *(const vec *)(row + e * sizeof(double));
}

#ifdef __clang__
#define SUM_TREE 0 /* it has no __builtin_shuffle */
#else
#define SUM_TREE 1
#endif

#if SUM_TREE
/* x (count / 2) = the sums of entries `apart` from each other in x (count): those of one vector
 * where that bit of an entry's number is 0, those of the next elsewhere. A blend makes one addend.
 */
INLINE void sum_apart(vec *x, int count, int apart)
{
    vec_bits stay, move;
    for (int i = 0; i < SIMD_WIDTH; i++) {
        stay[i] = i + (i & apart) / apart * SIMD_WIDTH;
        move[i] = i + apart + (i & apart) / apart * (SIMD_WIDTH - 2 * apart);
    }
    for (int k = 0; k < count / 2; k++)
        x[k] = __builtin_shuffle(x[2 * k], x[2 * k + 1], stay) +
               __builtin_shuffle(x[2 * k], x[2 * k + 1], move);
}
#endif

/* m[k] (SIMD_WIDTH) = the sum of the entries of x[k]. */
INLINE void sum_each(vec *x, double *m)
{
#if SUM_TREE
    sum_apart(x, SIMD_WIDTH, 1);
    if (SIMD_WIDTH > 2)
        sum_apart(x, SIMD_WIDTH / 2, 2);
    if (SIMD_WIDTH > 4)
        sum_apart(x, SIMD_WIDTH / 4, 4);
    store(m, x[0]);
#else
    for (int k = 0; k < SIMD_WIDTH; k++) {
        m[k] = 0;
        for (int i = 0; i < SIMD_WIDTH; i++)
            m[k] += x[k][i];
    }
#endif
}

/* c (SIMD_WIDTH), which comes as m, becomes that of poisson_term of counts. */
INLINE void count_terms(const double *value, double *c)
{
#pragma omp simd
    for (int u = 0; u < SIMD_WIDTH; u++)
        c[u] = poisson_term(POISSON_COUNTS, value[u], c[u], 0).c;
}

/* What a kernel reads. */
struct reading {
    const char *rows[MAX_ORDER - 1];
    const uint32_t *coordinate[MAX_ORDER - 1];
    uint64_t bytes; /* of a row                             */
    uint64_t last;  /* the first column of its last vector  */
};

INLINE const char *row_at(const struct reading *r, int n, uint64_t i)
{
    return r->rows[n] + r->coordinate[n][i] * r->bytes;
}

/* bytes: of a row's vectors, which is a constant. */
INLINE void prefetch_rows(const struct reading *r, int others, uint64_t bytes, uint64_t i)
{
    for (int n = 0; n < others; n++) {
        const char *row = row_at(r, n, i);
        for (uint64_t e = 0; e < bytes; e += LINE_BYTES)
            __builtin_prefetch(row + e);
    }
}

/* z of nonzero i, to memory or, where z is NULL, to `stays`; returns the partial sums of its inner
 * product with a. */
INLINE vec product(const struct reading *r, int others, int vectors, bool single, uint64_t i,
                   const vec *a, double *z, vec *stays)
{
    vec sum = {0}, zero = {0};
    const char *row[MAX_ORDER - 1];
    for (int n = 0; n < others; n++)
        row[n] = row_at(r, n, i);
    EACH_VECTOR(v, vectors) {
        const uint64_t c = column_of(r->last, v, vectors);
        vec x = zero + 1;
        for (int n = 0; n < others; n++)
            x *= load_entries(row[n], c, single);
        if (z)
            store(z + c, x);
        else
            stays[v] = x;
        sum += x * a[v];
    }
    return sum;
}

INLINE struct reading reading_of(const struct host_products *p, int others, bool single)
{
    const uint64_t size = single ? sizeof(float) : sizeof(double);
    struct reading r;
    r.last = p->rank - SIMD_WIDTH;
    r.bytes = p->rank * size;
    for (int n = 0; n < others; n++) {
        r.rows[n] = p->rows[n];
        r.coordinate[n] = p->coordinate[n];
    }
    return r;
}

/* Prefetches what a vector of nonzeros from number i on, and later ones, will read. */
INLINE void prefetch(const struct host_products *p, const struct reading *r, int others,
                     uint64_t bytes, uint64_t i)
{
    const uint64_t ahead = p->ahead, end = ahead ? p->nnz : 0;
    for (int n = 0; n < others; n++)
        __builtin_prefetch(r->coordinate[n] + i + STREAM_AHEAD);
    if (i + ahead + SIMD_WIDTH <= end)
        for (uint64_t u = 0; u < SIMD_WIDTH; u++)
            prefetch_rows(r, others, bytes, i + ahead + u);
}

/* x->b += the sum of c z: what `add_vector` makes of what `products_of` and poisson_term make, in
 * the same order of sums, but z stays in registers. */
INLINE void sum_rates(const struct host_products *p, const struct host_products_block *x,
                      int others, int vectors, bool single)
{
    const struct reading r = reading_of(p, others, single);
    const uint64_t bytes =
        (uint64_t)vectors * SIMD_WIDTH * (single ? sizeof(float) : sizeof(double));
    vec a[VECTORS], b[2][VECTORS];
    EACH_VECTOR(v, vectors) {
        a[v] = load(x->a[0] + v * SIMD_WIDTH);
        b[0][v] = load(x->b + column_of(r.last, v, vectors));
        b[1][v] = (vec){0};
    }
    for (uint64_t k = 0; k < x->count; k += SIMD_WIDTH) {
        const uint64_t i = x->first + k, left = x->count - k;
        vec z[SIMD_WIDTH][VECTORS], sum[SIMD_WIDTH];
        double value[SIMD_WIDTH] = {0}, c[SIMD_WIDTH];
        prefetch(p, &r, others, bytes, i);
        UNROLLED
        for (uint64_t u = 0; u < SIMD_WIDTH; u++)
            sum[u] = product(&r, others, vectors, single, i + u, a, NULL, z[u]);
        sum_each(sum, c);
        if (left < SIMD_WIDTH)
            memcpy(value, x->value + k, left * sizeof *value);
        count_terms(left < SIMD_WIDTH ? value : x->value + k, c);
        UNROLLED
        for (uint64_t u = 0; u < SIMD_WIDTH; u++)
            EACH_VECTOR(v, vectors)
                b[u % 2][v] += c[u] * z[u][v];
    }
    EACH_VECTOR(v, vectors)
        store(x->b + column_of(r.last, v, vectors), b[0][v] + b[1][v]);
}

/* `products` of nonzeros whose rows are `one`, kept in registers if it has few vectors, or not. */
INLINE void products_of(const struct host_products *p, const struct host_products_block *x,
                        int others, int vectors, bool single, bool one)
{
    const struct reading r = reading_of(p, others, single);
    const uint64_t ld = SIMD_WIDTH == HOST_SYSTEM_PAD ? (uint64_t)vectors * SIMD_WIDTH : p->ld;
    const uint64_t bytes =
        (uint64_t)vectors * SIMD_WIDTH * (single ? sizeof(float) : sizeof(double));
    const bool keep = one && vectors <= VECTORS;
    double *z = x->z, *m = x->m;
    vec kept[VECTORS];
    for (int v = 0; keep && v < vectors; v++)
        kept[v] = load(x->a[0] + v * SIMD_WIDTH);
    for (uint64_t k = 0; k < x->count; k += SIMD_WIDTH) {
        const uint64_t i = x->first + k;
        vec sum[SIMD_WIDTH], none[VECTORS];
        prefetch(p, &r, others, bytes, i);
        UNROLLED
        for (uint64_t u = 0; u < SIMD_WIDTH; u++) {
            const vec *a = keep ? kept : (const vec *)x->a[one ? 0 : k + u];
            sum[u] = product(&r, others, vectors, single, i + u, a, z + u * ld, none);
        }
        sum_each(sum, m);
        m += SIMD_WIDTH;
        z += SIMD_WIDTH * ld;
    }
}

/* The one body of `products`. `others`, `vectors`, unless a row has many, `single` and `sums`,
 * whether it can sum rates, are constants, and so is z's ld with the widest vectors. */
INLINE void products_body(const struct host_products *p, const struct host_products_block *x,
                          int others, int vectors, bool single, bool sums)
{
    if (sums && x->b)
        sum_rates(p, x, others, vectors, single);
    else if (x->one)
        products_of(p, x, others, vectors, single, true);
    else
        products_of(p, x, others, vectors, single, false);
}

/* The list of specialisations: orders 3, 4 and any other; rows of 1 to 4 vectors, of more, and of
 * less than one; doubles and floats. */
#define VECTORS_OF(p) ((int)(((p)->rank + SIMD_WIDTH - 1) / SIMD_WIDTH))
#define KERNEL(name, others, vectors, single, sums)                                                \
    static void name(const struct host_products *p, const struct host_products_block *x)           \
    {                                                                                              \
        products_body(p, x, others, vectors, single, sums);                                        \
    }
#define KERNELS(name, others, single, sums)                                                        \
    KERNEL(name##_1, others, 1, single, sums)                                                      \
    KERNEL(name##_2, others, 2, single, sums)                                                      \
    KERNEL(name##_3, others, 3, single, sums)                                                      \
    KERNEL(name##_4, others, 4, single, sums)                                                      \
    KERNEL(name##_many, others, VECTORS_OF(p), single, false)
#define ROW(name)                                                                                  \
    {                                                                                              \
        name##_1, name##_2, name##_3, name##_4, name##_many                                        \
    }
#ifdef ANY_KERNEL /* stands in for all others: its body is theirs */
KERNELS(any, p->others, p->precision == PRECISION_SINGLE, true)
#define ORDER_ROWS(precision) ROW(any), ROW(any), ROW(any)
#else
KERNELS(double_3, 2, false, true)
KERNELS(double_4, 3, false, true)
KERNELS(double_any, p->others, false, false)
KERNELS(single_3, 2, true, true)
KERNELS(single_4, 3, true, true)
KERNELS(single_any, p->others, true, false)
#define ORDER_ROWS(precision) ROW(precision##_3), ROW(precision##_4), ROW(precision##_any)
#endif

/* `products` of rows shorter than a vector. */
static void products_few(const struct host_products *p, const struct host_products_block *x)
{
    for (uint64_t k = 0; k < x->count; k++) {
        double *z = x->z + k * p->ld;
        x->m[k] = 0;
        for (uint64_t r = 0; r < p->rank; r++) {
            z[r] = 1;
            for (int n = 0; n < p->others; n++) {
                const uint64_t at = p->coordinate[n][x->first + k] * p->rank + r;
                z[r] *= p->precision == PRECISION_SINGLE ? (double)((const float *)p->rows[n])[at]
                                                         : ((const double *)p->rows[n])[at];
            }
            x->m[k] += z[r] * x->a[x->one ? 0 : k][r];
        }
    }
}

static void products(const struct host_products *p, const struct host_products_block *x)
{
    static void (*const kernels[2][3][VECTORS + 1])(
        const struct host_products *, const struct host_products_block *) = {{ORDER_ROWS(double)},
                                                                             {ORDER_ROWS(single)}};
    const int vectors = VECTORS_OF(p), order = p->others == 2 ? 0 : p->others == 3 ? 1 : 2;
    if (p->rank < SIMD_WIDTH)
        products_few(p, x);
    else
        kernels[p->precision == PRECISION_SINGLE][order]
               [vectors <= VECTORS ? vectors - 1 : VECTORS](p, x);
}

static void read_row(const struct host_products *p, const void *row, const double *by, double *a)
{
    const bool single = p->precision == PRECISION_SINGLE;
    uint64_t r = 0;
    for (; r + SIMD_WIDTH <= p->rank; r += SIMD_WIDTH)
        store(a + r, load_entries(row, r, single) * load(by + r));
    for (; r < p->rank; r++)
        a[r] = by[r] * (single ? (double)((const float *)row)[r] : ((const double *)row)[r]);
    for (; r < p->ld; r++)
        a[r] = 0;
}

static void lay_out(const struct host_products *p, const double *a, double *to)
{
    const uint64_t whole = p->rank / SIMD_WIDTH * SIMD_WIDTH, last = p->rank - SIMD_WIDTH;
    for (uint64_t r = 0; r < p->ld; r += SIMD_WIDTH)
        store(to + r, load(a + r));
    for (uint64_t c = 0; p->rank > whole && whole > 0 && c < SIMD_WIDTH; c++)
        to[whole + c] = last + c < whole ? 0 : a[last + c];
}

/* The other modes' rows of nonzero i. */
INLINE void prefetch_nonzero(const struct host_products *p, uint64_t i)
{
    const uint64_t bytes =
        p->rank * (p->precision == PRECISION_SINGLE ? sizeof(float) : sizeof(double));
    for (int n = 0; n < p->others; n++)
        for (uint64_t e = 0; e < bytes; e += LINE_BYTES)
            __builtin_prefetch((const char *)p->rows[n] + p->coordinate[n][i] * bytes + e);
}

/* The tile of G at row i, column j; prefetches from nonzero `next` on, unless that is 0. */
INLINE void add_tile(const struct host_products *p, uint64_t next, const double *z,
                     const double *wz, uint64_t count, uint64_t ld, uint64_t i, uint64_t j,
                     int vectors, bool fresh, double *g)
{
    vec sum[TILE_ROWS][TILE_VECTORS];
    for (int u = 0; u < TILE_ROWS; u++)
        EACH_VECTOR(v, vectors)
            sum[u][v] =
                fresh ? (vec){0} : load(g + (i + (uint64_t)u) * ld + j + (uint64_t)v * SIMD_WIDTH);
    for (uint64_t k = 0; k < count; k++) {
        const double *left = wz + k * ld + i, *right = z + k * ld + j;
        if (next > 0)
            prefetch_nonzero(p, next + k);
        for (int u = 0; u < TILE_ROWS; u++)
            EACH_VECTOR(v, vectors)
                sum[u][v] += left[u] * load(right + (uint64_t)v * SIMD_WIDTH);
    }
    for (int u = 0; u < TILE_ROWS; u++)
        EACH_VECTOR(v, vectors)
            store(g + (i + (uint64_t)u) * ld + j + (uint64_t)v * SIMD_WIDTH, sum[u][v]);
}

/* `vectors` of b, each in two sums: the nonzeros take turns. */
INLINE void add_columns(const double *z, uint64_t count, uint64_t ld, const double *c, int vectors,
                        double *b)
{
    vec sum[2][VECTOR_CHAINS];
    uint64_t k = 0;
    EACH_VECTOR(v, vectors) {
        sum[0][v] = load(b + v * SIMD_WIDTH);
        sum[1][v] = (vec){0};
    }
    for (; k + 2 <= count; k += 2)
        for (uint64_t u = 0; u < 2; u++)
            EACH_VECTOR(v, vectors)
                sum[u][v] += c[k + u] * load(z + (k + u) * ld + v * SIMD_WIDTH);
    for (; k < count; k++)
        EACH_VECTOR(v, vectors)
            sum[0][v] += c[k] * load(z + k * ld + v * SIMD_WIDTH);
    EACH_VECTOR(v, vectors)
        store(b + v * SIMD_WIDTH, sum[0][v] + sum[1][v]);
}

static void add_vector(const double *z, uint64_t count, uint64_t ld, const double *c, double *b)
{
    const uint64_t whole = VECTOR_CHAINS * SIMD_WIDTH;
    uint64_t r = 0;
    for (; r + whole <= ld; r += whole)
        add_columns(z + r, count, ld, c, VECTOR_CHAINS, b + r);
    for (; r + 2 * SIMD_WIDTH <= ld; r += 2 * SIMD_WIDTH)
        add_columns(z + r, count, ld, c, 2, b + r);
    for (; r < ld; r += SIMD_WIDTH)
        add_columns(z + r, count, ld, c, 1, b + r);
}

INLINE void add_matrix(const struct host_products *p, uint64_t next, const double *z,
                       const double *wz, uint64_t count, uint64_t ld, bool fresh, double *g)
{
    for (uint64_t i = 0; i < ld; i += TILE_ROWS) {
        uint64_t j = i;
        for (; j + TILE_VECTORS * SIMD_WIDTH <= ld; j += TILE_VECTORS * SIMD_WIDTH)
            add_tile(p, i + j > 0 ? 0 : next, z, wz, count, ld, i, j, TILE_VECTORS, fresh, g);
        for (; j < ld; j += SIMD_WIDTH)
            add_tile(p, 0, z, wz, count, ld, i, j, 1, fresh, g);
    }
}

static void add(const struct host_products *p, uint64_t next, const double *z, uint64_t count,
                const double *w, double *wz, bool fresh, double *g)
{
    const uint64_t ld = p->ld;
    for (uint64_t k = 0; k < count; k++)
        for (uint64_t r = 0; r < ld; r += SIMD_WIDTH)
            store(wz + k * ld + r, w[k] * load(z + k * ld + r));
    if (fresh)
        add_matrix(p, next, z, wz, count, ld, true, g);
    else
        add_matrix(p, next, z, wz, count, ld, false, g);
}

static void factor(const struct host_products *p, uint64_t next, const double *z, uint64_t count,
                   const double *w, double *y)
{
    for (uint64_t k = 0; k < count; k++) {
        const double root = sqrt(w[k]);
        if (next > 0)
            prefetch_nonzero(p, next + k);
        for (uint64_t r = 0; r < p->ld; r += SIMD_WIDTH)
            store(y + k * p->ld + r, root * load(z + k * p->ld + r));
    }
}

const struct host_systems_kernels SIMD_NAME(host_systems) = {
    SIMD_WIDTH, VECTORS *SIMD_WIDTH, read_row, lay_out, products, add_vector, add, factor};
