#include "selftest/known_tensors.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/random_stream.h"

static void add(struct coo *x, const uint32_t *coordinate, double value)
{
    for (int n = 0; n < x->shape.order; n++)
        x->index[n][x->nnz] = coordinate[n];
    x->value[x->nnz++] = value;
}

enum status known_multiplication(struct coo *x, uint32_t n, struct error *error)
{
    const uint64_t length = (uint64_t)n * n;
    const struct shape shape = {3, {length, length, length}};
    TRY(coo_create(x, &shape, length * n, error));
    x->nnz = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j < n; j++)
            for (uint32_t k = 0; k < n; k++)
                add(x, (const uint32_t[]){n * i + k, n * k + j, n * i + j}, 1);
    return STATUS_OK;
}

enum status known_superdiagonal(struct coo *x, uint32_t length, struct error *error)
{
    const struct shape shape = {3, {length, length, length}};
    TRY(coo_create(x, &shape, length, error));
    x->nnz = 0;
    for (uint32_t i = 0; i < length; i++)
        add(x, (const uint32_t[]){i, i, i}, (double)(length - i));
    return STATUS_OK;
}

enum status known_admissions(struct coo *x, struct error *error)
{
    static const struct shape shape = {3, {2, 2, 6}};
    static const double count[6][2][2] = {{{512, 89}, {313, 19}},   {{353, 17}, {207, 8}},
                                          {{120, 202}, {205, 391}}, {{138, 131}, {279, 244}},
                                          {{53, 94}, {138, 299}},   {{22, 24}, {351, 317}}};
    TRY(coo_create(x, &shape, 24, error));
    x->nnz = 0;
    for (uint32_t k = 0; k < 6; k++)
        for (uint32_t i = 0; i < 2; i++)
            for (uint32_t j = 0; j < 2; j++)
                add(x, (const uint32_t[]){i, j, k}, count[k][i][j]);
    return STATUS_OK;
}

static long double model_at(const struct ktensor *k, const uint32_t *coordinate)
{
    long double sum = 0;
    for (uint64_t r = 0; r < k->rank; r++) {
        long double product = k->lambda[r];
        for (int n = 0; n < k->shape.order; n++)
            product *= k->factor[n][coordinate[n] * k->rank + r];
        sum += product;
    }
    return sum;
}

enum status known_planted(struct coo *x, const struct ktensor *k, struct error *error)
{
    uint64_t cells = 1;
    uint32_t at[MAX_ORDER] = {0};
    for (int n = 0; n < k->shape.order; n++)
        cells *= k->shape.dims[n];
    TRY(coo_create(x, &k->shape, cells, error));
    x->nnz = 0;
    for (uint64_t cell = 0; cell < cells; cell++) {
        uint64_t rest = cell;
        for (int n = 0; n < k->shape.order; n++) {
            at[n] = (uint32_t)(rest % k->shape.dims[n]);
            rest /= k->shape.dims[n];
        }
        const double value = (double)model_at(k, at);
        if (value != 0)
            add(x, at, value);
    }
    return STATUS_OK;
}

static int compare_coordinates(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    for (int n = 0; n < MAX_ORDER; n++)
        if (x[n] != y[n])
            return x[n] < y[n] ? -1 : 1;
    return 0;
}

enum status known_scattered(struct coo *x, const struct shape *shape, uint64_t nnz, uint64_t seed,
                            int skewed, struct error *error)
{
    struct random_stream random = {seed};
    uint32_t(*c)[MAX_ORDER] = memory_zeros(nnz, sizeof *c, error);
    *x = (struct coo){0};
    if (!c)
        return error->status;
    for (uint64_t i = 0; i < nnz; i++)
        for (int n = 0; n < shape->order; n++) {
            double u = (double)(random_next(&random) >> 11) * 0x1p-53;
            c[i][n] = (uint32_t)((double)shape->dims[n] * (skewed ? u * u * u * u : u));
        }
    qsort(c, nnz, sizeof *c, compare_coordinates);
    uint64_t kept = 0; /* without those that stand twice */
    for (uint64_t i = 0; i < nnz; i++)
        if (i == 0 || compare_coordinates(c[i], c[kept - 1]) != 0)
            memmove(c[kept++], c[i], sizeof *c);
    for (uint64_t i = kept; i > 1; i--) { /* a file's order is any order */
        uint64_t j = random_next(&random) % i;
        uint32_t swap[MAX_ORDER];
        memcpy(swap, c[j], sizeof swap);
        memmove(c[j], c[i - 1], sizeof swap);
        memcpy(c[i - 1], swap, sizeof swap);
    }
    TRY_OR(done, coo_create(x, shape, kept, error));
    x->nnz = 0;
    for (uint64_t i = 0; i < kept; i++)
        add(x, c[i], ((double)(random_next(&random) >> 11) + 0.5) * 0x1p-52 - 1.0);
done:
    memory_free(c);
    return error->status;
}

void known_strassen(struct ktensor *k)
{
    static const signed char factor[3][4][7] = {/* of A, of B, of C: rows 11, 12, 21, 22 */
                                                {{1, 0, 1, 0, 1, -1, 0},
                                                 {0, 0, 0, 0, 1, 0, 1},
                                                 {0, 1, 0, 0, 0, 1, 0},
                                                 {1, 1, 0, 1, 0, 0, -1}},
                                                {{1, 1, 0, -1, 0, 1, 0},
                                                 {0, 0, 1, 0, 0, 1, 0},
                                                 {0, 0, 0, 1, 0, 0, 1},
                                                 {1, 0, -1, 0, 1, 0, 1}},
                                                {{1, 0, 0, 1, -1, 0, 1},
                                                 {0, 0, 1, 0, 1, 0, 0},
                                                 {0, 1, 0, 1, 0, 0, 0},
                                                 {1, -1, 1, 0, 0, 1, 0}}};
    for (int n = 0; n < 3; n++)
        for (int i = 0; i < 4; i++)
            for (int r = 0; r < 7; r++)
                k->factor[n][7 * i + r] = factor[n][i][r];
}

void naive_mttkrp(const struct coo *x, const struct ktensor *k, int mode, long double *m)
{
    memset(m, 0, x->shape.dims[mode] * k->rank * sizeof *m);
    for (uint64_t i = 0; i < x->nnz; i++) {
        for (uint64_t r = 0; r < k->rank; r++) {
            long double product = x->value[i];
            for (int n = 0; n < x->shape.order; n++)
                if (n != mode)
                    product *= k->factor[n][x->index[n][i] * k->rank + r];
            m[x->index[mode][i] * k->rank + r] += product;
        }
    }
}

static long double model_norm_sq(const struct ktensor *k)
{
    long double sum = 0;
    for (uint64_t r = 0; r < k->rank; r++) {
        for (uint64_t s = 0; s < k->rank; s++) {
            long double product = (long double)k->lambda[r] * k->lambda[s];
            for (int n = 0; n < k->shape.order; n++) {
                long double dot = 0;
                for (uint64_t i = 0; i < k->shape.dims[n]; i++)
                    dot +=
                        (long double)k->factor[n][i * k->rank + r] * k->factor[n][i * k->rank + s];
                product *= dot;
            }
            sum += product;
        }
    }
    return sum;
}

long double naive_fit(const struct coo *x, const struct ktensor *k)
{
    long double norm_sq = 0, inner = 0;
    uint32_t at[MAX_ORDER];
    for (uint64_t i = 0; i < x->nnz; i++) {
        norm_sq += (long double)x->value[i] * x->value[i];
        for (int n = 0; n < x->shape.order; n++)
            at[n] = x->index[n][i];
        inner += x->value[i] * model_at(k, at);
    }
    long double residual_sq = norm_sq - 2 * inner + model_norm_sq(k);
    return 1 - sqrtl(residual_sq > 0 ? residual_sq : 0) / sqrtl(norm_sq);
}

long double naive_relative_error(const double *a, const long double *b, uint64_t n)
{
    long double difference = 0, norm = 0;
    for (uint64_t i = 0; i < n; i++) {
        difference += (a[i] - b[i]) * (a[i] - b[i]);
        norm += b[i] * b[i];
    }
    return sqrtl(norm > 0 ? difference / norm : difference);
}
