#include "tensor/coo.h"

#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "tensor/norm_sum.h"

enum status coo_create(struct coo *x, const struct shape *shape, uint64_t nnz, struct error *error)
{
    *x = (struct coo){.shape = shape_of(shape->order, shape->dims), .nnz = nnz};
    for (int n = 0; n < shape->order && error->status == STATUS_OK; n++)
        x->index[n] = memory_array(nnz, sizeof *x->index[n], error);
    if (error->status == STATUS_OK)
        x->value = memory_array(nnz, sizeof *x->value, error);
    if (error->status != STATUS_OK)
        coo_free(x);
    return error->status;
}

/* A failure to shrink is none: the array then stays as long as it was. */
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
    for (int n = 0; n < x->shape.order && status == STATUS_OK; n++)
        status = resize_array(&x->index[n], nnz, sizeof *x->index[n], shrinks, error);
    if (status == STATUS_OK)
        status = resize_array(&x->value, nnz, sizeof *x->value, shrinks, error);
    if (status == STATUS_OK)
        x->nnz = nnz;
    return status;
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

double coo_norm_sq(const struct coo *x)
{
    struct norm_sum sum;
    norm_sum_begin(&sum);
    norm_sum_add(&sum, x->value, x->nnz);
    return norm_sum_total(&sum);
}
