#include "coo.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "memory.h"
#include "ordering.h"
#include "radix.h"

#define NORM_SLICES 256

enum status coo_create(struct coo *x, int order, const uint64_t *dims, uint64_t nnz,
                       struct error *error)
{
    memset(x, 0, sizeof *x);
    x->order = order;
    x->nnz = nnz;
    memcpy(x->dims, dims, (size_t)order * sizeof *dims);
    for (int n = 0; n < order && error->status == STATUS_OK; n++)
        x->index[n] = memory_array(nnz, sizeof *x->index[n], error);
    if (error->status == STATUS_OK)
        x->value = memory_array(nnz, sizeof *x->value, error);
    if (error->status != STATUS_OK)
        coo_free(x);
    return error->status;
}

/* Giving memory back is no reason to fail: the array then stays as long as it was. */
static enum status resize_array(void *array, size_t count, size_t size, bool shrinks,
                                struct error *error)
{
    struct error unused = {0};
    enum status status = memory_resize(array, count, size, shrinks ? &unused : error);
    return shrinks ? STATUS_OK : status;
}

enum status coo_resize(struct coo *x, uint64_t nnz, struct error *error)
{
    enum status status = STATUS_OK;
    bool shrinks = nnz < x->nnz;
    for (int n = 0; n < x->order && status == STATUS_OK; n++)
        status = resize_array(&x->index[n], nnz, sizeof *x->index[n], shrinks, error);
    if (status == STATUS_OK)
        status = resize_array(&x->value, nnz, sizeof *x->value, shrinks, error);
    if (status == STATUS_OK)
        x->nnz = nnz;
    return status;
}

void coo_free(struct coo *x)
{
    for (int n = 0; n < MAX_ORDER; n++)
        memory_free(x->index[n]);
    memory_free(x->value);
    memset(x, 0, sizeof *x);
}

double coo_norm_sq(const struct coo *x)
{
    double partial[NORM_SLICES];
    uint64_t length = x->nnz / NORM_SLICES + 1;
#pragma omp parallel for schedule(static)
    for (uint64_t slice = 0; slice < NORM_SLICES; slice++) {
        uint64_t begin = slice * length, end = begin + length;
        double sum = 0;
#pragma omp simd reduction(+ : sum)
        for (uint64_t i = begin; i < (end < x->nnz ? end : x->nnz); i++)
            sum += x->value[i] * x->value[i];
        partial[slice] = sum;
    }
    double norm_sq = 0;
    for (int slice = 0; slice < NORM_SLICES; slice++)
        norm_sq += partial[slice];
    return norm_sq;
}

static void value_statistics(const struct coo *x, struct coo_statistics *s)
{
    double least = INFINITY, largest = -INFINITY;
    int all_integer = 1;
#pragma omp parallel for schedule(static) reduction(min : least) reduction(max : largest)          \
    reduction(&& : all_integer)
    for (uint64_t i = 0; i < x->nnz; i++) {
        double v = x->value[i];
        least = v < least ? v : least;
        largest = v > largest ? v : largest;
        all_integer = all_integer && v == floor(v);
    }
    s->norm_sq = coo_norm_sq(x);
    s->least = x->nnz ? least : 0;
    s->largest = x->nnz ? largest : 0;
    s->all_integer = all_integer;
}

/* Fullest slice and empty slices of a mode of length I_n from the nonzeros of each index (I_n). */
static void summarise_counts(struct coo_statistics *s, int n, const uint64_t *count,
                             uint64_t length)
{
    for (uint64_t i = 0; i < length; i++) {
        s->empty_slices[n] += count[i] == 0;
        if (count[i] > s->largest_slice[n])
            s->largest_slice[n] = count[i];
    }
}

/* Modes that are no longer than the list of nonzeros is: one thread counts one mode. */
static enum status count_short_modes(const struct coo *x, struct coo_statistics *s,
                                     struct error *error)
{
    uint64_t *count[MAX_ORDER] = {NULL};
    for (int n = 0; n < x->order && error->status == STATUS_OK; n++)
        if (x->dims[n] <= x->nnz)
            count[n] = memory_zeros(x->dims[n], sizeof *count[n], error);
    if (error->status == STATUS_OK) {
#pragma omp parallel for schedule(dynamic)
        for (int n = 0; n < x->order; n++) {
            if (!count[n])
                continue;
            for (uint64_t i = 0; i < x->nnz; i++)
                count[n][x->index[n][i]]++;
            summarise_counts(s, n, count[n], x->dims[n]);
        }
    }
    for (int n = 0; n < x->order; n++)
        memory_free(count[n]);
    return error->status;
}

/* A longer mode, whose counts might not fit in memory: its indices are sorted. */
static enum status count_long_mode(const struct coo *x, int n, struct coo_statistics *s,
                                   struct error *error)
{
    uint64_t *key = memory_array(x->nnz, sizeof *key, error);
    uint64_t *payload = memory_zeros(x->nnz, sizeof *payload, error);
    if (!key || !payload)
        goto done;
    for (uint64_t i = 0; i < x->nnz; i++)
        key[i] = x->index[n][i];
    if (radix_sort(key, payload, x->nnz, ordering_bits(x->dims[n]), error) != STATUS_OK)
        goto done;
    s->empty_slices[n] = x->dims[n];
    for (uint64_t i = 0, first = 0; i < x->nnz; i++) {
        if (i == 0 || key[i] != key[i - 1]) {
            s->empty_slices[n]--;
            first = i;
        }
        if (i + 1 - first > s->largest_slice[n])
            s->largest_slice[n] = i + 1 - first;
    }
done:
    memory_free(key);
    memory_free(payload);
    return error->status;
}

enum status coo_statistics(const struct coo *x, struct coo_statistics *s, struct error *error)
{
    memset(s, 0, sizeof *s);
    value_statistics(x, s);
    enum status status = count_short_modes(x, s, error);
    for (int n = 0; n < x->order && status == STATUS_OK; n++)
        if (x->dims[n] > x->nnz)
            status = count_long_mode(x, n, s, error);
    return status;
}
