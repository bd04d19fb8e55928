#include "report/unlisted_modes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define ROUNDING 1e-12 /* what rounding may add to a value, beside the sum of its terms' sizes */

double free_mode_bound(const double *p, const struct free_mode *remaining, uint64_t rank)
{
    double sum = 0, sizes = 0;
    for (uint64_t r = 0; r < rank; r++) {
        const double a = p[r] * remaining->least[r], b = p[r] * remaining->most[r];
        sum += fmax(a, b);
        sizes += fmax(fabs(a), fabs(b));
    }
    return sum + ROUNDING * sizes;
}

double free_mode_norm(const double *p, uint64_t rank)
{
    double sum = 0;
    for (uint64_t r = 0; r < rank; r++)
        sum += p[r] * p[r];
    return sqrt(sum) * (1 + ROUNDING * (double)rank);
}

static int compare_lengths(const void *a, const void *b)
{
    const struct free_mode *x = a, *y = b;
    if (x->length != y->length)
        return x->length > y->length ? -1 : 1;
    return x->n - y->n;
}

static void choose_modes(struct unlisted_modes *m, const struct ktensor *k,
                         const struct unlisted_slice *slice)
{
    for (int n = 0; n < k->shape.order; n++)
        if (!slice->given[n])
            m->mode[m->count++] =
                (struct free_mode){.n = n, .length = k->shape.dims[n], .rows = k->factor[n]};
    qsort(m->mode, (size_t)m->count, sizeof *m->mode, compare_lengths);
    const struct free_mode longest = m->mode[0];
    memmove(m->mode, m->mode + 1, (size_t)(m->count - 1) * sizeof *m->mode);
    m->mode[m->count - 1] = longest;
}

static void find_extremes(struct free_mode *mode, const struct free_mode *next, uint64_t rank)
{
    for (uint64_t r = 0; r < rank; r++) {
        double least = INFINITY, most = -INFINITY;
        for (uint64_t i = 0; i < mode->length; i++) {
            least = fmin(least, mode->rows[i * rank + r]);
            most = fmax(most, mode->rows[i * rank + r]);
        }
        const double a = next ? next->least[r] : 1, b = next ? next->most[r] : 1;
        mode->least[r] = fmin(fmin(least * a, least * b), fmin(most * a, most * b));
        mode->most[r] = fmax(fmax(least * a, least * b), fmax(most * a, most * b));
    }
}

static int compare_outer(const void *a, const void *b)
{
    const struct outer *x = a, *y = b;
    if (x->bound != y->bound)
        return x->bound > y->bound ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static enum status sort_last(struct unlisted_modes *m, struct error *error)
{
    const struct free_mode *mode = &m->mode[m->count - 1];
    struct sorted_rows *last = &m->last;
    struct outer *row = memory_array(mode->length, sizeof *row, error);
    last->bundles = (mode->length + BUNDLE - 1) / BUNDLE;
    last->norm = memory_array(last->bundles, sizeof *last->norm, error);
    last->index = memory_array(mode->length, sizeof *last->index, error);
    last->bundle = memory_zeros(last->bundles * m->rank, BUNDLE * sizeof *last->bundle, error);
    TRY_OR(done, error->status);
    for (uint64_t i = 0; i < mode->length; i++)
        row[i] = (struct outer){free_mode_norm(mode->rows + i * m->rank, m->rank), (uint32_t)i};
    qsort(row, mode->length, sizeof *row, compare_outer);
    for (uint64_t i = 0; i < mode->length; i++) {
        const uint64_t b = i / BUNDLE, j = i % BUNDLE;
        last->index[i] = row[i].index;
        if (j == 0)
            last->norm[b] = row[i].bound;
        for (uint64_t r = 0; r < m->rank; r++)
            last->bundle[(b * m->rank + r) * BUNDLE + j] = mode->rows[row[i].index * m->rank + r];
    }
done:
    memory_free(row);
    return error->status;
}

static enum status sort_outer(struct unlisted_modes *m, struct error *error)
{
    const struct free_mode *mode = &m->mode[0];
    if (m->count == 1)
        return STATUS_OK;
    m->outer = memory_array(mode->length, sizeof *m->outer, error);
    double *product = memory_array(m->rank, sizeof *product, error);
    TRY_OR(done, error->status);
    for (uint64_t i = 0; i < mode->length; i++) {
        for (uint64_t r = 0; r < m->rank; r++)
            product[r] = m->given[r] * mode->rows[i * m->rank + r];
        m->outer[i] = (struct outer){free_mode_bound(product, mode + 1, m->rank), (uint32_t)i};
    }
    qsort(m->outer, mode->length, sizeof *m->outer, compare_outer);
done:
    memory_free(product);
    return error->status;
}

static enum status multiply_given(struct unlisted_modes *m, const struct ktensor *k,
                                  const struct unlisted_slice *slice, struct error *error)
{
    m->given = memory_array(m->rank, sizeof *m->given, error);
    m->zero = true;
    if (!m->given)
        return error->status;
    for (uint64_t r = 0; r < m->rank; r++) {
        m->given[r] = k->lambda[r];
        for (int n = 0; n < k->shape.order; n++)
            if (slice->given[n])
                m->given[r] *= k->factor[n][slice->index[n] * m->rank + r];
        m->zero = m->zero && m->given[r] == 0;
    }
    return STATUS_OK;
}

uint64_t unlisted_modes_entries(const struct unlisted_modes *m)
{
    uint64_t entries = 1;
    for (int d = 0; d < m->count; d++)
        if (__builtin_mul_overflow(entries, m->mode[d].length, &entries))
            return UINT64_MAX;
    return entries;
}

static enum status find_all_extremes(struct unlisted_modes *m, struct error *error)
{
    m->extremes = memory_array((uint64_t)m->count * m->rank, 2 * sizeof *m->extremes, error);
    if (!m->extremes)
        return error->status;
    for (int d = m->count; d-- > 0;) {
        m->mode[d].least = m->extremes + 2 * (uint64_t)d * m->rank;
        m->mode[d].most = m->mode[d].least + m->rank;
        find_extremes(&m->mode[d], d + 1 < m->count ? &m->mode[d + 1] : NULL, m->rank);
    }
    return STATUS_OK;
}

enum status unlisted_modes_create(struct unlisted_modes *m, const struct ktensor *k,
                                  const struct unlisted_slice *slice, struct error *error)
{
    *m = (struct unlisted_modes){.rank = k->rank};
    TRY(multiply_given(m, k, slice, error));
    if (m->zero)
        return STATUS_OK;
    choose_modes(m, k, slice);
    TRY(find_all_extremes(m, error));
    TRY(sort_last(m, error));
    return sort_outer(m, error);
}

void unlisted_modes_free(struct unlisted_modes *m)
{
    memory_free(m->outer);
    memory_free(m->given);
    memory_free(m->extremes);
    memory_free(m->last.norm);
    memory_free(m->last.index);
    memory_free(m->last.bundle);
    *m = (struct unlisted_modes){0};
}
