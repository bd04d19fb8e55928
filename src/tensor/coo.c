#include "tensor/coo.h"

#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "tensor/norm_sum.h"

enum status coo_create(struct coo *x, const struct shape *shape, uint64_t nnz, struct error *error)
{
    *x = (struct coo){.shape = shape_of(shape->order, shape->dims), .nnz = nnz};
    for (int n = 0; n < shape->order; n++) {
        x->index[n] = memory_array(nnz, sizeof *x->index[n], error);
        if (!x->index[n])
            goto done;
    }
    x->value = memory_array(nnz, sizeof *x->value, error);
done:
    if (error->status != STATUS_OK)
        coo_free(x);
    return error->status;
}

/* Where memory cannot be given back, an array stays as long as it was: that is no failure. */
static enum status resize_array(void *array, size_t count, size_t size, bool shrinks,
                                struct error *error)
{
    struct error unused = {0};
    if (!shrinks)
        return memory_resize(array, count, size, error);
    memory_resize(array, count, size, &unused);
    return STATUS_OK;
}

enum status coo_resize(struct coo *x, uint64_t nnz, struct error *error)
{
    bool shrinks = nnz < x->nnz;
    for (int n = 0; n < x->shape.order; n++)
        TRY(resize_array(&x->index[n], nnz, sizeof *x->index[n], shrinks, error));
    TRY(resize_array(&x->value, nnz, sizeof *x->value, shrinks, error));
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

void coo_coordinates(const struct coo *x, uint64_t i, uint32_t *coordinate)
{
    for (int n = 0; n < x->shape.order; n++)
        coordinate[n] = x->index[n][i];
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
    coo_free_indices(x);
    memory_free(x->value);
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
