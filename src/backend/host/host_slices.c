#include "backend/host/host_slices.h"

#include <string.h>

#include "base/least.h"
#include "base/memory.h"

#define PARTS    256  /* of the nonzeros, which the threads take by turns */
#define SCAN_NNZ 1024 /* whose rows are decoded at a time */

/* Counts the slices that begin among nonzeros [first, last) of b. Where `s` is not NULL, writes
 * their rows to it from slice `slice` on, and the ends of those before each of them. */
static uint64_t scan_part(const struct blco *b, int mode, uint64_t first, uint64_t last,
                          struct host_slices *s, uint64_t slice)
{
    uint32_t row[SCAN_NNZ], before = 0;
    uint64_t found = 0;
    if (first > 0)
        blco_decode_mode(b, mode, first - 1, 1, &before);
    for (uint64_t i = first; i < last; i += SCAN_NNZ) {
        const uint64_t count = least_of(SCAN_NNZ, last - i);
        blco_decode_mode(b, mode, i, count, row);
        for (uint64_t j = 0; j < count; before = row[j++]) {
            if (i + j > 0 && row[j] == before)
                continue;
            if (s) {
                s->row[slice + found] = row[j];
                if (slice + found > 0)
                    s->end[slice + found - 1] = i + j;
            }
            found++;
        }
    }
    return found;
}

static void part_of(uint64_t nnz, uint64_t part, uint64_t *first, uint64_t *last)
{
    const uint64_t length = nnz / PARTS + 1;
    *first = least_of(nnz, part * length);
    *last = least_of(nnz, *first + length);
}

static enum status find_slices(struct host_slices *s, const struct blco *b, struct error *error)
{
    uint64_t before[PARTS + 1] = {0};
#pragma omp parallel for schedule(static) if (b->nnz > SCAN_NNZ)
    for (uint64_t part = 0; part < PARTS; part++) {
        uint64_t first, last;
        part_of(b->nnz, part, &first, &last);
        before[part + 1] = scan_part(b, s->mode, first, last, NULL, 0);
    }
    for (int part = 0; part < PARTS; part++)
        before[part + 1] += before[part];
    s->count = before[PARTS];
    s->row = memory_array(s->count, sizeof *s->row, error);
    s->end = memory_array(s->count, sizeof *s->end, error);
    TRY(error->status);
#pragma omp parallel for schedule(static) if (b->nnz > SCAN_NNZ)
    for (uint64_t part = 0; part < PARTS; part++) {
        uint64_t first, last;
        part_of(b->nnz, part, &first, &last);
        scan_part(b, s->mode, first, last, s, before[part]);
    }
    if (s->count > 0)
        s->end[s->count - 1] = b->nnz;
    return STATUS_OK;
}

static enum status decode_others(struct host_slices *s, const struct blco *b, struct error *error)
{
    for (int n = 0; n < s->shape.order; n++) {
        if (n == s->mode)
            continue;
        s->coordinate[n] = memory_array(s->nnz + HOST_SLICES_PAD, sizeof *s->coordinate[n], error);
        TRY(error->status);
        memset(s->coordinate[n] + s->nnz, 0, HOST_SLICES_PAD * sizeof *s->coordinate[n]);
    }
#pragma omp parallel for schedule(static) if (b->nnz > SCAN_NNZ)
    for (uint64_t part = 0; part < PARTS; part++) {
        uint64_t first, last;
        part_of(s->nnz, part, &first, &last);
        for (int n = 0; n < s->shape.order && first < last; n++)
            if (n != s->mode)
                blco_decode_mode(b, n, first, last - first, s->coordinate[n] + first);
    }
    return STATUS_OK;
}

enum status host_slices_take(struct host_slices *s, struct blco *b, int mode, struct error *error)
{
    *s = (struct host_slices){.shape = b->shape, .mode = mode, .nnz = b->nnz};
    TRY_OR(failed, find_slices(s, b, error));
    TRY_OR(failed, decode_others(s, b, error));
    s->value = b->value;
    b->value = NULL;
    blco_free(b);
    return STATUS_OK;
failed:
    host_slices_free(s);
    blco_free(b);
    return error->status;
}

enum status host_slices_narrow(struct host_slices *s, struct error *error)
{
    uint64_t others = 0; /* values that are no floats */
    for (int n = 0; n < s->shape.order; n++)
        if (n != s->mode && s->shape.dims[n] > UINT16_MAX + 1)
            return STATUS_OK;
#pragma omp parallel for schedule(static) reduction(+ : others) if (s->nnz > SCAN_NNZ)
    for (uint64_t i = 0; i < s->nnz; i++)
        others += (double)(float)s->value[i] != s->value[i];
    if (others > 0)
        return STATUS_OK;
    s->narrow_value = memory_array(s->nnz, sizeof *s->narrow_value, error);
    TRY_OR(failed, error->status);
#pragma omp parallel for schedule(static) if (s->nnz > SCAN_NNZ)
    for (uint64_t i = 0; i < s->nnz; i++)
        s->narrow_value[i] = (float)s->value[i];
    memory_free(s->value);
    s->value = NULL;
    for (int n = 0; n < s->shape.order; n++) {
        if (n == s->mode)
            continue;
        uint16_t *narrow = s->narrow_coordinate[n] = memory_array(s->nnz, sizeof *narrow, error);
        TRY_OR(failed, error->status);
#pragma omp parallel for schedule(static) if (s->nnz > SCAN_NNZ)
        for (uint64_t i = 0; i < s->nnz; i++)
            narrow[i] = (uint16_t)s->coordinate[n][i];
        memory_free(s->coordinate[n]);
        s->coordinate[n] = NULL;
    }
    s->narrow = true;
    return STATUS_OK;
failed:
    host_slices_free(s);
    return error->status;
}

uint64_t host_slices_of(const struct host_slices *s, uint64_t i)
{
    uint64_t low = 0, high = s->count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (s->end[middle] <= i)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void host_slices_rows(const struct host_slices *s, uint64_t first, uint64_t count, uint32_t *row)
{
    uint64_t slice = host_slices_of(s, first);
    for (uint64_t i = 0; i < count; i++) {
        slice += first + i == s->end[slice];
        row[i] = s->row[slice];
    }
}

void host_slices_coordinates(const struct host_slices *s, int n, uint64_t first, uint64_t count,
                             uint32_t *to)
{
    if (!s->narrow)
        memcpy(to, s->coordinate[n] + first, count * sizeof *to);
    else
        for (uint64_t i = 0; i < count; i++)
            to[i] = s->narrow_coordinate[n][first + i];
}

void host_slices_values(const struct host_slices *s, uint64_t first, uint64_t count, double *to)
{
    if (!s->narrow)
        memcpy(to, s->value + first, count * sizeof *to);
    else
        for (uint64_t i = 0; i < count; i++)
            to[i] = s->narrow_value[first + i];
}

uint64_t host_slices_bytes(int order, uint64_t nnz, uint64_t rows)
{
    const uint64_t slice = sizeof(uint32_t) + sizeof(uint64_t);
    return nnz * ((uint64_t)(order - 1) * sizeof(uint32_t) + sizeof(double)) +
           least_of(nnz, rows) * slice;
}

void host_slices_free(struct host_slices *s)
{
    for (int n = 0; n < MAX_ORDER; n++)
        memory_free(s->coordinate[n], s->narrow_coordinate[n]);
    memory_free(s->value, s->narrow_value, s->row, s->end);
    memset(s, 0, sizeof *s);
}
