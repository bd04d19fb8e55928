/* The nonzeros' way to the device, in as few bytes as hold them: lines in whole bytes, values that
 * are small whole numbers in one, values that are exact as float in four. */
#include <stdbool.h>
#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/tensor/device_coo.h"
#include "base/vector_clones.h"
#include "kernels/tensor/widen.h"

#define SHORTEST_LINE 4
#define SAMPLES       64 /* values by which the form is chosen, from each of as many places */

static const char doing[] = "copying the tensor to the GPU";

/* The modes that have bits on the line. */
struct line_packing {
    uint64_t nnz;
    int bytes; /* of a line: 4 to 8 */
    int modes;
    const uint32_t *index[MAX_ORDER];
    int shift[MAX_ORDER];
};

static struct line_packing line_packing_of(const struct coo *x, const struct ordering *line)
{
    struct line_packing p = {.nnz = x->nnz, .bytes = (line->line_bits + 7) / 8};
    if (p.bytes < SHORTEST_LINE)
        p.bytes = SHORTEST_LINE;
    for (int n = 0; n < x->shape.order; n++)
        if (line->mode_bits[n] > 0) {
            p.index[p.modes] = x->index[n];
            p.shift[p.modes++] = line->place[n][0];
        }
    return p;
}

/* Two modes at a time: each load and store of a line serves both. */
VECTOR_CLONES static void add_pair(uint64_t *restrict line, const uint32_t *a, int a_shift,
                                   const uint32_t *b, int b_shift, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        line[i] |= (uint64_t)a[i] << a_shift | (uint64_t)b[i] << b_shift;
}

VECTOR_CLONES static void split_32(const uint64_t *restrict line, uint32_t *restrict to)
{
    for (uint64_t i = 0; i < WIDEN_GROUP; i++)
        to[i] = (uint32_t)line[i];
}

VECTOR_CLONES static void split_16(const uint64_t *restrict line, int shift, uint16_t *restrict to)
{
    for (uint64_t i = 0; i < WIDEN_GROUP; i++)
        to[i] = (uint16_t)(line[i] >> shift);
}

VECTOR_CLONES static void split_8(const uint64_t *restrict line, int shift, uint8_t *restrict to)
{
    for (uint64_t i = 0; i < WIDEN_GROUP; i++)
        to[i] = (uint8_t)(line[i] >> shift);
}

/* A group of lines, of which those behind the last nonzero are zero. */
static void make_lines(const struct line_packing *p, uint64_t group, uint64_t *line)
{
    uint64_t first = group * WIDEN_GROUP, left = p->nnz - first;
    uint64_t count = left < WIDEN_GROUP ? left : WIDEN_GROUP;
    memset(line, 0, WIDEN_GROUP * sizeof *line);
    for (int a = 0; a < p->modes; a += 2) {
        int b = a + 1 < p->modes ? a + 1 : a;
        add_pair(line, p->index[a] + first, p->shift[a], p->index[b] + first, p->shift[b], count);
    }
}

/* As widen.h says. */
static bool pack_lines(const void *source, uint64_t first, uint64_t count, void *to)
{
    const struct line_packing *p = source;
    uint64_t line[WIDEN_GROUP];
    for (uint64_t g = 0; g < count; g++) {
        unsigned char *group = (unsigned char *)to + g * WIDEN_GROUP * (uint64_t)p->bytes;
        make_lines(p, first + g, line);
        if (p->bytes == sizeof *line) {
            memcpy(group, line, sizeof line);
            continue;
        }
        split_32(line, (uint32_t *)(void *)group);
        if (p->bytes >= 6)
            split_16(line, 32, (uint16_t *)(void *)(group + 4 * WIDEN_GROUP));
        if (p->bytes % 2 == 1)
            split_8(line, 8 * (p->bytes - 1), group + (p->bytes - 1) * WIDEN_GROUP);
    }
    return true;
}

/* Room for `bytes`, and for 8 a nonzero as the sort takes afterwards, so that it is the same. */
static void *take_scratch(const struct device_coo *d, uint64_t bytes, struct error *error)
{
    uint64_t lines = d->nnz * sizeof(uint64_t);
    return device_pool_take(d->pool, bytes > lines ? bytes : lines, 1, error);
}

static enum status send_lines(struct device_coo *d, const struct coo *x,
                              struct device_staging *staging, struct error *error)
{
    struct line_packing packing = line_packing_of(x, &d->ordering);
    uint64_t groups = (d->nnz + WIDEN_GROUP - 1) / WIDEN_GROUP;
    size_t size = WIDEN_GROUP * (size_t)packing.bytes;
    bool whole = packing.bytes == sizeof *d->line;
    d->line =
        device_pool_take(d->pool, whole ? groups * WIDEN_GROUP : d->nnz, sizeof *d->line, error);
    void *packed = whole || !d->line ? d->line : take_scratch(d, groups * size, error);
    if (!packed)
        return error->status;
    device_staging_send(staging, packed, groups, size, pack_lines, &packing, error);
    if (whole)
        return error->status;
    if (error->status == STATUS_OK)
        cuda_status(widen_lines(packed, packing.bytes, d->line, d->nnz, d->pool->stream), doing,
                    error);
    device_pool_give(d->pool, packed);
    return error->status;
}

static bool copy_indices(const void *source, uint64_t first, uint64_t count, void *to)
{
    memcpy(to, (const uint32_t *)source + first, count * sizeof(uint32_t));
    return true;
}

static enum status send_coordinates(struct device_coo *d, const struct coo *x,
                                    struct device_staging *staging, struct error *error)
{
    for (int n = 0; n < d->shape.order; n++) {
        d->index[n] = device_pool_take(d->pool, d->nnz, sizeof *d->index[n], error);
        if (!d->index[n] || device_staging_send(staging, d->index[n], d->nnz, sizeof *d->index[n],
                                                copy_indices, x->index[n], error) != STATUS_OK)
            return error->status;
    }
    return STATUS_OK;
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* to[i] (count) = the values, whole numbers from 0 to 255; false where one is not, to the bit. */
VECTOR_CLONES static bool pack_whole(const double *restrict value, uint64_t count,
                                     uint8_t *restrict to)
{
    uint64_t differing = 0;
    for (uint64_t i = 0; i < count; i++) {
        int32_t whole = value[i] >= 0 && value[i] <= UINT8_MAX ? (int32_t)value[i] : 0;
        differing |= bits_of((double)whole) ^ bits_of(value[i]);
        to[i] = (uint8_t)whole;
    }
    return differing == 0;
}

VECTOR_CLONES static bool pack_float(const double *restrict value, uint64_t count,
                                     float *restrict to)
{
    uint64_t differing = 0;
    for (uint64_t i = 0; i < count; i++) {
        float narrow = (float)value[i];
        differing |= bits_of((double)narrow) ^ bits_of(value[i]);
        to[i] = narrow;
    }
    return differing == 0;
}

struct value_packing {
    const double *value;
    size_t bytes; /* of a value: 1, 4 or 8  */
    bool *lost;   /* one is not held by them */
};

static bool pack_values(const void *source, uint64_t first, uint64_t count, void *to)
{
    const struct value_packing *p = source;
    const double *value = p->value + first;
    if (p->bytes == sizeof *value) {
        memcpy(to, value, count * sizeof *value);
        return true;
    }
    if (p->bytes == 1 ? pack_whole(value, count, to) : pack_float(value, count, to))
        return true;
    __atomic_store_n(p->lost, true, __ATOMIC_RELAXED);
    return false;
}

/* Bytes that hold some of the values: those at SAMPLES places. */
static size_t sampled_bytes(const double *value, uint64_t nnz)
{
    bool whole = true, exact = true;
    for (uint64_t i = 0; i < SAMPLES && exact; i++) {
        uint8_t bytes[SAMPLES];
        float floats[SAMPLES];
        uint64_t first = nnz / SAMPLES * i;
        uint64_t count = nnz - first < SAMPLES ? nnz - first : SAMPLES;
        whole = whole && pack_whole(value + first, count, bytes);
        exact = whole || pack_float(value + first, count, floats);
    }
    return whole ? sizeof(uint8_t) : exact ? sizeof(float) : sizeof *value;
}

/* In `bytes` each; *lost where they do not hold them all, and d->value is then undefined. */
static enum status send_narrow(struct device_coo *d, const struct coo *x, size_t bytes, bool *lost,
                               struct device_staging *staging, struct error *error)
{
    struct value_packing packing = {x->value, bytes, lost};
    void *packed = take_scratch(d, d->nnz * bytes, error);
    if (!packed)
        return error->status;
    if (device_staging_send(staging, packed, d->nnz, bytes, pack_values, &packing, error) ==
            STATUS_OK &&
        !*lost)
        cuda_status(widen_values(packed, (int)bytes, d->value, d->nnz, d->pool->stream), doing,
                    error);
    device_pool_give(d->pool, packed);
    return error->status;
}

static enum status send_values(struct device_coo *d, const struct coo *x,
                               struct device_staging *staging, struct error *error)
{
    struct value_packing wide = {x->value, sizeof *x->value, NULL};
    size_t bytes = sampled_bytes(x->value, x->nnz);
    bool lost = bytes == sizeof *x->value;
    d->value = device_pool_take(d->pool, d->nnz, sizeof *d->value, error);
    if (d->value && !lost)
        send_narrow(d, x, bytes, &lost, staging, error);
    if (error->status == STATUS_OK && lost)
        device_staging_send(staging, d->value, d->nnz, sizeof *d->value, pack_values, &wide, error);
    return error->status;
}

enum status device_coo_upload(struct device_coo *d, const struct coo *x,
                              struct device_staging *staging, const struct device_pool *pool,
                              struct error *error)
{
    device_coo_init(d, &x->shape, x->nnz, pool);
    if (send_values(d, x, staging, error) != STATUS_OK ||
        (d->ordering.line_bits <= 64 ? send_lines : send_coordinates)(d, x, staging, error) !=
            STATUS_OK)
        device_coo_free(d);
    return error->status;
}
