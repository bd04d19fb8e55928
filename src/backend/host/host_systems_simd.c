#include "backend/host/host_systems_simd.h"

#include "backend/host/simd_vector.h"

#define TILE_ROWS    4 /* of G, summed in registers ... */
#define TILE_VECTORS 2 /* ... and its columns           */

/* z of one nonzero, from rows of this type. `others` is a constant, so that the loop unrolls. */
#define PRODUCT(type)                                                                              \
    INLINE void product_##type(const struct host_products *p, int others, uint64_t i, double *z)   \
    {                                                                                              \
        const type *row[MAX_ORDER - 1];                                                            \
        for (int n = 0; n < others; n++)                                                           \
            row[n] = (const type *)p->rows[n] + p->coordinate[n][i] * p->rank;                     \
        for (uint64_t r = 0; r < p->rank; r++) {                                                   \
            double x = others > 0 ? (double)row[0][r] : 1;                                         \
            for (int n = 1; n < others; n++)                                                       \
                x *= (double)row[n][r];                                                            \
            z[r] = x;                                                                              \
        }                                                                                          \
        for (uint64_t r = p->rank; r < p->ld; r++)                                                 \
            z[r] = 0;                                                                              \
    }
PRODUCT(double)
PRODUCT(float)

INLINE void products_of(const struct host_products *p, int others, uint64_t first, uint64_t count,
                        double *z)
{
    const bool single = p->precision == PRECISION_SINGLE;
    for (uint64_t k = 0; single && k < count; k++)
        product_float(p, others, first + k, z + k * p->ld);
    for (uint64_t k = 0; !single && k < count; k++)
        product_double(p, others, first + k, z + k * p->ld);
}

static void products(const struct host_products *p, uint64_t first, uint64_t count, double *z)
{
    switch (p->others) {
    case 2:
        products_of(p, 2, first, count, z);
        break;
    case 3:
        products_of(p, 3, first, count, z);
        break;
    default:
        products_of(p, p->others, first, count, z);
    }
}

INLINE double sum_of(vec x)
{
    double part[SIMD_WIDTH];
    store(part, x);
    for (int half = SIMD_WIDTH / 2; half > 0; half /= 2)
        for (int i = 0; i < half; i++)
            part[i] += part[i + half];
    return part[0];
}

static void values(const double *z, uint64_t count, uint64_t ld, const double *a, double *m)
{
    for (uint64_t k = 0; k < count; k++) {
        vec sum = {0};
        for (uint64_t r = 0; r < ld; r += SIMD_WIDTH)
            sum += load(z + k * ld + r) * load(a + r);
        m[k] = sum_of(sum);
    }
}

/* The tile of G at row i, column j. */
INLINE void add_tile(const double *z, const double *wz, uint64_t count, uint64_t ld, uint64_t i,
                     uint64_t j, int vectors, double *g)
{
    vec sum[TILE_ROWS][TILE_VECTORS];
    for (int u = 0; u < TILE_ROWS; u++)
        EACH_VECTOR(v, vectors)
            sum[u][v] = load(g + (i + (uint64_t)u) * ld + j + (uint64_t)v * SIMD_WIDTH);
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

static void add_vector(const double *z, uint64_t count, uint64_t ld, const double *c, double *b)
{
    for (uint64_t r = 0; r < ld; r += SIMD_WIDTH) {
        vec sum = load(b + r);
        for (uint64_t k = 0; k < count; k++)
            sum += c[k] * load(z + k * ld + r);
        store(b + r, sum);
    }
}

static void add(const double *z, uint64_t count, uint64_t ld, const double *c, const double *w,
                double *wz, double *b, double *g)
{
    for (uint64_t r = 0; r < ld; r += SIMD_WIDTH) {
        vec sum = load(b + r);
        for (uint64_t k = 0; k < count; k++) {
            const vec x = load(z + k * ld + r);
            store(wz + k * ld + r, w[k] * x);
            sum += c[k] * x;
        }
        store(b + r, sum);
    }
    for (uint64_t i = 0; i < ld; i += TILE_ROWS) {
        uint64_t j = i / SIMD_WIDTH * SIMD_WIDTH;
        for (; j + TILE_VECTORS * SIMD_WIDTH <= ld; j += TILE_VECTORS * SIMD_WIDTH)
            add_tile(z, wz, count, ld, i, j, TILE_VECTORS, g);
        for (; j < ld; j += SIMD_WIDTH)
            add_tile(z, wz, count, ld, i, j, 1, g);
    }
}

const struct host_systems_kernels SIMD_NAME(host_systems) = {products, values, add_vector, add};
