#include "backend/host/host_systems_simd.h"

#include <math.h>

#include "backend/host/simd_vector.h"

#define TILE_ROWS     SIMD_WIDTH /* of G, summed in registers ... */
#define TILE_VECTORS  2          /* ... and its columns           */
#define VECTOR_CHAINS 4          /* vectors of b that are summed at a time */
#define LINE_BYTES    64         /* of a cache */

/* Neighbouring nonzeros. */
struct range {
    uint64_t first, count;
};

INLINE vec load_double(const double *p)
{
    return load(p);
}

INLINE vec load_float(const float *p)
{
    vec x;
    for (int i = 0; i < SIMD_WIDTH; i++)
        x[i] = (double)p[i];
    return x;
}

/* z of one nonzero, from rows of this type; returns the partial sums of its inner product with a.
 * Where `others` and `vectors`, those of a whole row, are constants, loops unroll. */
#define PRODUCT(type)                                                                              \
    INLINE vec product_##type(const struct host_products *p, int others, uint64_t vectors,         \
                              uint64_t i, const double *a, double *z)                              \
    {                                                                                              \
        const type *row[MAX_ORDER - 1];                                                            \
        const uint64_t whole = vectors * SIMD_WIDTH;                                               \
        vec sum = {0}, zero = {0};                                                                 \
        for (int n = 0; n < others; n++)                                                           \
            row[n] = (const type *)p->rows[n] + p->coordinate[n][i] * p->rank;                     \
        for (uint64_t r = 0; r < whole; r += SIMD_WIDTH) {                                         \
            vec x = zero + 1;                                                                      \
            for (int n = 0; n < others; n++)                                                       \
                x *= load_##type(row[n] + r);                                                      \
            store(z + r, x);                                                                       \
            sum += x * load(a + r);                                                                \
        }                                                                                          \
        for (uint64_t r = whole; r < p->ld; r += SIMD_WIDTH) {                                     \
            store(z + r, zero);                                                                    \
            for (uint64_t e = r; r == whole && e < p->rank; e++) {                                 \
                z[e] = 1;                                                                          \
                for (int n = 0; n < others; n++)                                                   \
                    z[e] *= (double)row[n][e];                                                     \
            }                                                                                      \
            sum += load(z + r) * load(a + r);                                                      \
        }                                                                                          \
        return sum;                                                                                \
    }                                                                                              \
    INLINE void prefetch_##type(const struct host_products *p, int others, uint64_t i)             \
    {                                                                                              \
        for (int n = 0; n < others; n++) {                                                         \
            const char *row =                                                                      \
                (const char *)((const type *)p->rows[n] + p->coordinate[n][i] * p->rank);          \
            for (uint64_t e = 0; e < p->rank * sizeof(type); e += LINE_BYTES)                      \
                __builtin_prefetch(row + e);                                                       \
        }                                                                                          \
    }
PRODUCT(double)
PRODUCT(float)

#ifdef __clang__
#define SUM_TREE 0 /* it has no __builtin_shuffle */
#define EACH_NONZERO
#else
#define SUM_TREE     1
#define EACH_NONZERO _Pragma("GCC unroll 8")
#endif

#if SUM_TREE
/* The sums of neighbours in a, then those in b. */
INLINE vec sum_neighbours(vec a, vec b)
{
    vec_bits even;
    for (int i = 0; i < SIMD_WIDTH; i++)
        even[i] = 2 * i;
    return __builtin_shuffle(a, b, even) + __builtin_shuffle(a, b, even + 1);
}
#endif

/* m[k] (SIMD_WIDTH) = the sum of the entries of x[k]. */
INLINE void sum_each(vec *x, double *m)
{
#if SUM_TREE
    for (int count = SIMD_WIDTH; count > 1; count /= 2)
        for (int k = 0; k < count / 2; k++)
            x[k] = sum_neighbours(x[2 * k], x[2 * k + 1]);
    store(m, x[0]);
#else
    for (int k = 0; k < SIMD_WIDTH; k++) {
        m[k] = 0;
        for (int i = 0; i < SIMD_WIDTH; i++)
            m[k] += x[k][i];
    }
#endif
}

/* z of nonzero i, after the rows of a later one have been prefetched. */
INLINE vec product(const struct host_products *p, int others, uint64_t vectors, uint64_t i,
                   const double *a, double *z)
{
    const bool single = p->precision == PRECISION_SINGLE;
    const uint64_t later = i + p->ahead;
    if (later > i && later < p->nnz && single)
        prefetch_float(p, others, later);
    if (later > i && later < p->nnz && !single)
        prefetch_double(p, others, later);
    return single ? product_float(p, others, vectors, i, a, z)
                  : product_double(p, others, vectors, i, a, z);
}

INLINE void products_of(const struct host_products *from, int others, uint64_t vectors,
                        const struct range *of, const double *a, double *z, double *m)
{
    struct host_products p = *from; /* which stores to z cannot change */
    const bool known = vectors > 0;
    uint64_t k = 0;
    if (known)
        p.rank = p.ld = vectors * SIMD_WIDTH;
    else
        vectors = p.rank / SIMD_WIDTH;
    for (; known && k + SIMD_WIDTH <= of->count; k += SIMD_WIDTH) {
        vec sum[SIMD_WIDTH];
        EACH_NONZERO
        for (uint64_t u = 0; u < SIMD_WIDTH; u++)
            sum[u] = product(&p, others, vectors, of->first + k + u, a, z + (k + u) * p.ld);
        sum_each(sum, m + k);
    }
    for (; k < of->count; k += SIMD_WIDTH) {
        const uint64_t left = of->count - k, some = left < SIMD_WIDTH ? left : SIMD_WIDTH;
        vec sum[SIMD_WIDTH] = {{0}};
        for (uint64_t u = 0; u < some; u++)
            sum[u] = product(&p, others, vectors, of->first + k + u, a, z + (k + u) * p.ld);
        sum_each(sum, m + k);
    }
}

/* By the vectors of a row, where it has whole ones. */
INLINE void products_by(const struct host_products *p, int others, const struct range *of,
                        const double *a, double *z, double *m)
{
    if (p->rank == 2 * SIMD_WIDTH && p->ld == p->rank && p->precision == PRECISION_DOUBLE)
        products_of(p, others, 2, of, a, z, m);
    else if (p->rank == 4 * SIMD_WIDTH && p->ld == p->rank && p->precision == PRECISION_DOUBLE)
        products_of(p, others, 4, of, a, z, m);
    else
        products_of(p, others, 0, of, a, z, m);
}

static void products(const struct host_products *p, uint64_t first, uint64_t count, const double *a,
                     double *z, double *m)
{
    const struct range of = {first, count};
    switch (p->others) {
    case 2:
        products_by(p, 2, &of, a, z, m);
        break;
    case 3:
        products_by(p, 3, &of, a, z, m);
        break;
    default:
        products_by(p, p->others, &of, a, z, m);
    }
}

/* The tile of G at row i, column j. */
INLINE void add_tile(const double *z, const double *wz, uint64_t count, uint64_t ld, uint64_t i,
                     uint64_t j, int vectors, bool fresh, double *g)
{
    vec sum[TILE_ROWS][TILE_VECTORS];
    for (int u = 0; u < TILE_ROWS; u++)
        EACH_VECTOR(v, vectors)
            sum[u][v] =
                fresh ? (vec){0} : load(g + (i + (uint64_t)u) * ld + j + (uint64_t)v * SIMD_WIDTH);
    for (uint64_t k = 0; k < count; k++) {
        const double *left = wz + k * ld + i, *right = z + k * ld + j;
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

INLINE void add_matrix(const double *z, const double *wz, uint64_t count, uint64_t ld, bool fresh,
                       double *g)
{
    for (uint64_t i = 0; i < ld; i += TILE_ROWS) {
        uint64_t j = i;
        for (; j + TILE_VECTORS * SIMD_WIDTH <= ld; j += TILE_VECTORS * SIMD_WIDTH)
            add_tile(z, wz, count, ld, i, j, TILE_VECTORS, fresh, g);
        for (; j < ld; j += SIMD_WIDTH)
            add_tile(z, wz, count, ld, i, j, 1, fresh, g);
    }
}

static void add(const double *z, uint64_t count, uint64_t ld, const double *w, double *wz,
                bool fresh, double *g)
{
    for (uint64_t k = 0; k < count; k++)
        for (uint64_t r = 0; r < ld; r += SIMD_WIDTH)
            store(wz + k * ld + r, w[k] * load(z + k * ld + r));
    if (fresh)
        add_matrix(z, wz, count, ld, true, g);
    else
        add_matrix(z, wz, count, ld, false, g);
}

static void factor(const double *z, uint64_t count, uint64_t ld, const double *w, double *y)
{
    for (uint64_t k = 0; k < count; k++) {
        const double root = sqrt(w[k]);
        for (uint64_t r = 0; r < ld; r += SIMD_WIDTH)
            store(y + k * ld + r, root * load(z + k * ld + r));
    }
}

const struct host_systems_kernels SIMD_NAME(host_systems) = {products, add_vector, add, factor};
