/* Copies nonzeros to the device in as few bytes as hold them: lines in whole bytes, values in one
 * byte where all are small whole numbers, in four where all are exact as float. */
#include <stdbool.h>
#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/tensor/device_coo.h"
#include "base/vector_clones.h"
#include "kernels/tensor/widen.h"

#define SHORTEST_LINE 4
#define SAMPLES       64 /* the bytes of a value are guessed from so many values at so many places */

static const char doing[] = "copying the tensor to the GPU";

/* How lines are made from the modes that have bits on them, and in how many bytes they are sent. */
struct line_form {
    uint64_t nnz;
    int bytes; /* of a line: 4 to 8 */
    int modes;
    const uint32_t *index[MAX_ORDER];
    int shift[MAX_ORDER];
};

/* Two modes at a time: each load and store of a line serves both. */
VECTOR_CLONES static void add_pair(uint64_t *restrict line, const uint32_t *a, int a_shift,
                                   const uint32_t *b, int b_shift, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        line[i] |= (uint64_t)a[i] << a_shift | (uint64_t)b[i] << b_shift;
}

VECTOR_CLONES static void split_32(const uint64_t *restrict line, uint32_t *restrict to)
{
    for (uint64_t i = 0; i < WIDEN_PIECE; i++)
        to[i] = (uint32_t)line[i];
}

VECTOR_CLONES static void split_16(const uint64_t *restrict line, int shift, uint16_t *restrict to)
{
    for (uint64_t i = 0; i < WIDEN_PIECE; i++)
        to[i] = (uint16_t)(line[i] >> shift);
}

VECTOR_CLONES static void split_8(const uint64_t *restrict line, int shift, uint8_t *restrict to)
{
    for (uint64_t i = 0; i < WIDEN_PIECE; i++)
        to[i] = (uint8_t)(line[i] >> shift);
}

/* device_staging_write of lines, in pieces as widen.h lays them out; the lines after the last
 * nonzero are zero. */
static bool narrow_lines(const void *from, uint64_t first, uint64_t count, void *to)
{
    const struct line_form *p = from;
    uint64_t line[WIDEN_PIECE];
    for (uint64_t k = 0; k < count; k++) {
        unsigned char *piece = (unsigned char *)to + k * WIDEN_PIECE * (uint64_t)p->bytes;
        const uint64_t at = (first + k) * WIDEN_PIECE, left = p->nnz - at;
        const uint64_t length = left < WIDEN_PIECE ? left : WIDEN_PIECE;
        memset(line, 0, sizeof line);
        for (int a = 0; a < p->modes; a += 2) {
            int b = a + 1 < p->modes ? a + 1 : a;
            add_pair(line, p->index[a] + at, p->shift[a], p->index[b] + at, p->shift[b], length);
        }
        if (p->bytes == sizeof *line) {
            memcpy(piece, line, sizeof line);
            continue;
        }
        split_32(line, (uint32_t *)(void *)piece);
        if (p->bytes >= 6)
            split_16(line, 32, (uint16_t *)(void *)(piece + 4 * WIDEN_PIECE));
        if (p->bytes % 2 == 1)
            split_8(line, 8 * (p->bytes - 1), piece + (p->bytes - 1) * WIDEN_PIECE);
    }
    return true;
}

/* Room for `bytes`, at least 8 a nonzero: the sort takes that much afterwards, and gets the same
 * memory. */
static void *take_scratch(const struct device_coo *d, uint64_t bytes, struct error *error)
{
    uint64_t lines = d->nnz * sizeof(uint64_t);
    return device_pool_take(d->pool, bytes > lines ? bytes : lines, 1, error);
}

static enum status send_lines(struct device_coo *d, const struct coo *x,
                              struct device_staging *staging, struct error *error)
{
    const struct ordering *o = &d->ordering;
    struct line_form form = {.nnz = x->nnz, .bytes = (o->line_bits + 7) / 8};
    if (form.bytes < SHORTEST_LINE)
        form.bytes = SHORTEST_LINE;
    for (int n = 0; n < x->shape.order; n++)
        if (o->mode_bits[n] > 0) {
            form.index[form.modes] = x->index[n];
            form.shift[form.modes++] = o->place[n][0];
        }
    uint64_t pieces = (d->nnz + WIDEN_PIECE - 1) / WIDEN_PIECE;
    size_t size = WIDEN_PIECE * (size_t)form.bytes;
    bool whole = form.bytes == sizeof *d->line;
    d->line =
        device_pool_take(d->pool, whole ? pieces * WIDEN_PIECE : d->nnz, sizeof *d->line, error);
    void *narrow = whole || !d->line ? d->line : take_scratch(d, pieces * size, error);
    if (!narrow)
        return error->status;
    const struct device_elements lines = {narrow, pieces, size};
    device_staging_send(staging, &lines, narrow_lines, &form, error);
    if (whole || error->status != STATUS_OK)
        goto done;
    cuda_status(widen_lines(narrow, form.bytes, d->line, d->nnz, d->pool->stream), doing, error);
done:
    if (!whole)
        device_pool_give(d->pool, narrow);
    return error->status;
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* to[i] (count) = the values as whole numbers from 0 to 255; false if some value is not exactly
 * (bit by bit) such a number. */
VECTOR_CLONES static bool narrow_to_whole(const double *restrict value, uint64_t count,
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

VECTOR_CLONES static bool narrow_to_float(const double *restrict value, uint64_t count,
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

struct value_form {
    const double *value;
    size_t bytes; /* of a value: 1, 4 or 8  */
    bool *lost;   /* becomes true if some value does not fit */
};

static bool narrow_values(const void *from, uint64_t first, uint64_t count, void *to)
{
    const struct value_form *p = from;
    const double *value = p->value + first;
    if (p->bytes == sizeof *value) {
        memcpy(to, value, count * sizeof *value);
        return true;
    }
    if (p->bytes == 1 ? narrow_to_whole(value, count, to) : narrow_to_float(value, count, to))
        return true;
    __atomic_store_n(p->lost, true, __ATOMIC_RELAXED);
    return false;
}

/* Bytes of a value that hold a sample of the values. */
static size_t sampled_bytes(const double *value, uint64_t nnz)
{
    bool whole = true, exact = true;
    for (uint64_t i = 0; i < SAMPLES && exact; i++) {
        uint8_t bytes[SAMPLES];
        float floats[SAMPLES];
        uint64_t first = nnz / SAMPLES * i;
        uint64_t count = nnz - first < SAMPLES ? nnz - first : SAMPLES;
        whole = whole && narrow_to_whole(value + first, count, bytes);
        exact = whole || narrow_to_float(value + first, count, floats);
    }
    return whole ? sizeof(uint8_t) : exact ? sizeof(float) : sizeof *value;
}

/* In as few bytes as hold a sample of the values; as they are where some value turns out not to
 * fit.
 */
static enum status send_values(struct device_coo *d, const struct coo *x,
                               struct device_staging *staging, struct error *error)
{
    const size_t whole = sizeof *x->value, bytes = sampled_bytes(x->value, x->nnz);
    bool lost = bytes == whole;
    struct value_form form = {x->value, bytes, &lost}, wide = {x->value, whole, NULL};
    d->value = device_pool_take(d->pool, d->nnz, whole, error);
    TRY(error->status);
    if (!lost) {
        void *narrow = take_scratch(d, d->nnz * bytes, error);
        TRY(error->status);
        const struct device_elements values = {narrow, d->nnz, bytes};
        device_staging_send(staging, &values, narrow_values, &form, error);
        if (error->status == STATUS_OK && !lost)
            cuda_status(widen_values(narrow, (int)bytes, d->value, d->nnz, d->pool->stream), doing,
                        error);
        device_pool_give(d->pool, narrow);
    }
    if (error->status != STATUS_OK || !lost)
        return error->status;
    const struct device_elements values = {d->value, d->nnz, whole};
    return device_staging_send(staging, &values, narrow_values, &wide, error);
}

enum status device_coo_upload(struct device_coo *d, const struct coo *x,
                              struct device_staging *staging, const struct device_pool *pool,
                              struct error *error)
{
    device_coo_init(d, &x->shape, x->nnz, pool);
    TRY_OR(done, send_values(d, x, staging, error));
    if (d->ordering.line_bits <= 64) {
        send_lines(d, x, staging, error);
        goto done;
    }
    TRY_OR(done, device_coo_take_indices(d, error));
    for (int n = 0; n < d->shape.order; n++) {
        const struct device_elements indices = {d->index[n], d->nnz, sizeof *d->index[n]};
        TRY_OR(done, device_staging_send(staging, &indices, NULL, x->index[n], error));
    }
done:
    if (error->status != STATUS_OK)
        device_coo_free(d);
    return error->status;
}
