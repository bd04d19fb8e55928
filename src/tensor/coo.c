#include "tensor/coo.h"

#include <string.h>

#include "base/memory.h"
#include "numerics/known_value.h"

enum status coo_create(struct coo *x, const struct shape *shape, uint64_t nnz, struct error *error)
{
    *x = (struct coo){.shape = shape_of(shape->order, shape->dims), .nnz = nnz};
    for (int k = 0; k < COO_COLUMNS && error->status == STATUS_OK; k++)
        if (k < shape->order || k >= MAX_ORDER)
            x->column[k] = memory_array(nnz, coo_column_bytes(k), error);
    if (error->status != STATUS_OK)
        coo_free(x);
    return error->status;
}

/* Where memory cannot be given back, an array stays as long as it was: that is no failure. */
enum status coo_resize(struct coo *x, uint64_t nnz, struct error *error)
{
    struct error unused = {0}, *failure = nnz < x->nnz ? &unused : error;
    for (int k = 0; k < COO_COLUMNS; k++)
        if (x->column[k])
            memory_resize(&x->column[k], nnz, coo_column_bytes(k), failure);
    TRY(error->status);
    x->nnz = nnz;
    return STATUS_OK;
}

struct coo_listed coo_count_listed(const struct coo *x)
{
    uint64_t unknown = 0, zeros = 0, count = x->value ? x->nnz : 0;
#pragma omp parallel for schedule(static) reduction(+ : unknown, zeros)
    for (uint64_t i = 0; i < count; i++) {
        unknown += isnan(x->value[i]) != 0;
        zeros += x->value[i] == 0;
    }
    return (struct coo_listed){.unknown = unknown, .zeros = zeros};
}

void coo_move(struct coo *to, uint64_t at, const struct coo *x, uint64_t from, uint64_t count)
{
    if (count == 0 || (to->value == x->value && at == from))
        return;
    for (int k = 0; k < COO_COLUMNS; k++)
        if (x->column[k])
            memmove(coo_at(to, k, at), coo_at(x, k, from), count * coo_column_bytes(k));
}

struct coo coo_slice(const struct coo *x, uint64_t from, uint64_t count)
{
    struct coo slice = {.shape = x->shape, .nnz = count};
    for (int k = 0; k < COO_COLUMNS; k++)
        slice.column[k] = x->column[k] ? coo_at(x, k, from) : NULL;
    return slice;
}

void coo_gather(void *to, const struct coo *x, int k, const uint64_t *position, uint64_t count)
{
    uint32_t *index = to;
    double *value = to;
    const double *from = x->column[k];
    if (k < MAX_ORDER) {
#pragma omp parallel for schedule(static)
        for (uint64_t i = 0; i < count; i++)
            index[i] = x->index[k][position[i]];
    } else {
#pragma omp parallel for schedule(static)
        for (uint64_t i = 0; i < count; i++)
            value[i] = from[position[i]];
    }
}

enum status coo_permute(struct coo *x, const uint64_t *position, uint64_t count,
                        struct error *error)
{
    void *scratch = memory_array(count, sizeof *x->value, error);
    for (int k = 0; k < COO_COLUMNS && scratch; k++) {
        if (!x->column[k])
            continue;
        coo_gather(scratch, x, k, position, count);
        memcpy(x->column[k], scratch, count * coo_column_bytes(k));
    }
    memory_free(scratch);
    return error->status;
}

void coo_free_indices(struct coo *x)
{
    for (int n = 0; n < MAX_ORDER; n++) {
        memory_free(x->index[n]);
        x->index[n] = NULL;
    }
}

void coo_free(struct coo *x)
{
    for (int k = 0; k < COO_COLUMNS; k++)
        memory_free(x->column[k]);
    memset(x, 0, sizeof *x);
}

static enum status whole(void *x, coo_taker take, void *context, struct error *error)
{
    struct coo piece = *(struct coo *)x;
    return take(context, &piece, error);
}

struct coo_pieces coo_in_one_piece(struct coo *x)
{
    return (struct coo_pieces){.shape = x->shape, .nnz = x->nnz, .each = whole, .pieces = x};
}

double coo_norm_sq(const struct coo *x)
{
    struct norm_sum sum;
    norm_sum_begin(&sum);
    norm_sum_add(&sum, x->value, x->nnz);
    return norm_sum_total(&sum);
}

#define WIDTH          8 /* interleaved sums of a part */
#define CHUNKS_AT_ONCE 256

void norm_sum_begin(struct norm_sum *s)
{
    s->sum = 0;
    s->filled = 0;
}

static double square(double value)
{
    double known = known_value(value);
    return known * known;
}

/* Adds value i to sum i mod WIDTH, then adds these sums: an order that SIMD instructions follow. */
static double chunk_sum(const double *value, uint64_t count)
{
    double partial[WIDTH] = {0}, sum = 0;
    uint64_t i = 0;
    for (; i + WIDTH <= count; i += WIDTH)
        for (int w = 0; w < WIDTH; w++)
            partial[w] += square(value[i + (uint64_t)w]);
    for (int w = 0; i < count; i++, w++)
        partial[w] += square(value[i]);
    for (int w = 0; w < WIDTH; w++)
        sum += partial[w];
    return sum;
}

static void add_chunks(struct norm_sum *s, const double *value, uint64_t chunks)
{
    double partial[CHUNKS_AT_ONCE];
    for (uint64_t first = 0; first < chunks; first += CHUNKS_AT_ONCE) {
        uint64_t count = chunks - first < CHUNKS_AT_ONCE ? chunks - first : CHUNKS_AT_ONCE;
#pragma omp parallel for schedule(static)
        for (uint64_t p = 0; p < count; p++)
            partial[p] = chunk_sum(value + (first + p) * NORM_CHUNK, NORM_CHUNK);
        for (uint64_t p = 0; p < count; p++)
            s->sum += partial[p];
    }
}

void norm_sum_add(struct norm_sum *s, const double *value, uint64_t count)
{
    if (s->filled > 0) {
        uint64_t room = NORM_CHUNK - s->filled, taken = count < room ? count : room;
        memcpy(s->waiting + s->filled, value, taken * sizeof *value);
        s->filled += taken;
        value += taken;
        count -= taken;
        if (s->filled < NORM_CHUNK)
            return;
        add_chunks(s, s->waiting, 1);
    }
    add_chunks(s, value, count / NORM_CHUNK);
    s->filled = count % NORM_CHUNK;
    if (s->filled > 0)
        memcpy(s->waiting, value + count - s->filled, s->filled * sizeof *value);
}

double norm_sum_total(const struct norm_sum *s)
{
    return s->sum + chunk_sum(s->waiting, s->filled);
}
