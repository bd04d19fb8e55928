#include "backend/cuda/tensor/device_coo.h"

#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "kernels/tensor/part.h"

static const char doing[] = "sorting the nonzeros";

void device_coo_init(struct device_coo *d, const struct shape *shape, uint64_t nnz,
                     const struct device_pool *pool)
{
    *d = (struct device_coo){.shape.order = shape->order, .nnz = nnz, .pool = pool};
    memcpy(d->shape.dims, shape->dims, (size_t)shape->order * sizeof *shape->dims);
    ordering_common(&d->ordering, shape);
}

enum status device_coo_take_indices(struct device_coo *d, struct error *error)
{
    for (int n = 0; n < d->shape.order; n++) {
        d->index[n] = device_pool_take(d->pool, d->nnz, sizeof *d->index[n], error);
        TRY(error->status);
    }
    return STATUS_OK;
}

enum status device_coo_take_arrays(struct device_coo *d, struct error *error)
{
    d->value = device_pool_take(d->pool, d->nnz, sizeof *d->value, error);
    if (d->ordering.line_bits <= 64)
        d->line = device_pool_take(d->pool, d->nnz, sizeof *d->line, error);
    else
        device_coo_take_indices(d, error);
    return error->status;
}

int device_coo_sorted_bits(const struct device_coo *x, const struct ordering *o)
{
    return x->sorted ? ordering_sorted_bits(&x->ordering, o) : 0;
}

struct select_target device_coo_target(const struct device_coo *d)
{
    struct select_target to = {.line = d->line, .value = d->value};
    memcpy(to.index, d->index, sizeof to.index);
    return to;
}

struct tuples_nonzeros device_coo_tuples(const struct device_coo *x)
{
    struct tuples_nonzeros s = {.line = x->line};
    for (int n = 0; n < x->shape.order; n++) {
        s.shift[n] = x->ordering.place[n][0];
        s.mask[n] = (uint32_t)((UINT64_C(1) << x->ordering.mode_bits[n]) - 1);
        s.index[n] = x->index[n];
    }
    return s;
}

enum status device_coo_sort_positions(struct array_pairs *p, const struct device_coo *x,
                                      const struct ordering *o, struct error *error)
{
    struct tuples_nonzeros coordinates = device_coo_tuples(x);
    cudaStream_t stream = x->pool->stream;
    int sorted = device_coo_sorted_bits(x, o);
    int position_size = 0; /* until the first sort, pair i is nonzero i */
    cudaError_t code = linearise_positions(p->value[0], p->value_size, p->count, stream);
    TRY(cuda_status(code, doing, error));
    for (int word = sorted / 64; sorted < o->line_bits && 64 * word < o->line_bits; word++) {
        int begin = sorted > 64 * word ? sorted - 64 * word : 0;
        int end = o->line_bits - 64 * word < 64 ? o->line_bits - 64 * word : 64;
        struct bit_moves moves;
        ordering_moves_create(&moves, NULL, o, ORDERING_LINE, word);
        code = linearise_gather_words(&coordinates, p->value[0], position_size, p->key[0], p->count,
                                      &moves, stream);
        TRY(cuda_status(code, doing, error));
        TRY(device_pairs_sort(p, begin, end, x->pool, error));
        position_size = p->value_size;
    }
    return STATUS_OK;
}

/* The lines themselves are the keys. */
static enum status sort_lines(struct device_coo *d, struct error *error)
{
    struct array_pairs pairs = {d->nnz, {d->line}, {d->value}, sizeof *d->line, sizeof *d->value};
    device_pairs_sort(&pairs, 0, d->ordering.line_bits, d->pool, error);
    d->line = pairs.key[0];
    d->value = pairs.value[0];
    pairs.key[0] = NULL;
    pairs.value[0] = NULL;
    device_pairs_give(&pairs, d->pool);
    return error->status;
}

/* Sorts positions and brings the arrays into their order: each goes into the room that the one
 * before has left, the first into `index`. */
static enum status sort_coordinates(struct device_coo *d, struct error *error)
{
    const cudaStream_t stream = d->pool->stream;
    struct array_pairs pairs;
    uint32_t *index = NULL;
    double *value = NULL;
    int size = device_pairs_position_size(d->nnz);
    TRY_OR(done, device_pairs_take(&pairs, d->nnz, size, d->pool, error));
    TRY_OR(done, device_coo_sort_positions(&pairs, d, &d->ordering, error));
    device_pairs_give_keys(&pairs, d->pool);
    index = device_pool_take(d->pool, d->nnz, sizeof *index, error);
    value = device_pool_take(d->pool, d->nnz, sizeof *value, error);
    TRY_OR(done, error->status);
    const void *position = pairs.value[0];
    cudaError_t code = linearise_gather(d->value, sizeof *value, position, size, value,
                                        sizeof *value, d->nnz, stream);
    for (int n = 0; n < d->shape.order && code == cudaSuccess; n++) {
        uint32_t *old = d->index[n];
        code = linearise_gather(old, sizeof *old, position, size, index, sizeof *index, d->nnz,
                                stream);
        d->index[n] = index;
        index = old;
    }
    double *unsorted = d->value;
    d->value = value;
    value = unsorted;
    cuda_status(code, "reordering the nonzeros", error);
done:
    device_pool_give(d->pool, index, value);
    device_pairs_give(&pairs, d->pool);
    return error->status;
}

enum status device_coo_sort(struct device_coo *d, struct error *error)
{
    if (d->sorted)
        return STATUS_OK;
    TRY((d->line ? sort_lines : sort_coordinates)(d, error));
    d->sorted = true;
    return STATUS_OK;
}

static const char dividing[] = "dividing the tensor on the GPU";

enum status device_coo_deal(struct device_coo *d, const struct device_coo *from,
                            const struct part_dealt *rows, struct error *error)
{
    const struct device_pool *pool = from->pool;
    const int ranks = rows->ranks;
    struct part_dealt x = *rows;
    struct select_target to;
    uint64_t tiles = 0;
    for (int k = 0; k < ranks; k++)
        tiles += select_tiles(from[k].nnz);
    device_coo_init(d, &from->shape, 0, pool);
    uint64_t *count = device_pool_take(pool, tiles + 1, sizeof *count, error);
    TRY(error->status);
    for (int select = 0; select < 2; select++) {
        uint64_t tile = 0;
        for (int k = 0; k < ranks; k++) {
            x.x = device_coo_tuples(&from[k]);
            x.value = from[k].value;
            x.nnz = from[k].nnz;
            x.own = k == x.me;
            const cudaError_t code =
                part_select_dealt(&x, count + tile, select ? &to : NULL, pool->stream);
            TRY_OR(done, cuda_status(code, dividing, error));
            tile += select_tiles(from[k].nnz);
        }
        if (select == 1)
            break;
        TRY_OR(done, device_pairs_scan(count, tiles, &d->nnz, pool, error));
        if (d->nnz == 0)
            break;
        TRY_OR(done, device_coo_take_arrays(d, error));
        to = device_coo_target(d);
    }
done:
    device_pool_give(pool, count);
    if (error->status != STATUS_OK)
        device_coo_free(d);
    return error->status;
}

enum status device_coo_touched(const struct device_coo *d, int n, unsigned char *touched,
                               uint64_t rows, struct device_staging *staging, struct error *error)
{
    cudaStream_t stream = d->pool->stream;
    uint8_t *marks = device_pool_take(d->pool, rows, sizeof *marks, error);
    const struct device_elements elements = {marks, rows, sizeof *marks};
    TRY(error->status);
    TRY_OR(done, cuda_status(cudaMemsetAsync(marks, 0, rows, stream), dividing, error));
    TRY_OR(done, cuda_status(part_touch(d->index[n], d->nnz, marks, stream), dividing, error));
    device_staging_fetch(staging, &elements, NULL, touched, error);
done:
    device_pool_give(d->pool, marks);
    return error->status;
}

enum status device_coo_renumber(struct device_coo *d, int n, const uint32_t *place, uint64_t rows,
                                struct device_staging *staging, struct error *error)
{
    cudaStream_t stream = d->pool->stream;
    uint32_t *to = device_pool_take(d->pool, rows, sizeof *to, error);
    const struct device_elements elements = {to, rows, sizeof *to};
    TRY(error->status);
    TRY_OR(done, device_staging_send(staging, &elements, NULL, place, error));
    cuda_status(part_renumber(d->index[n], d->nnz, to, stream), dividing, error);
done:
    device_pool_give(d->pool, to);
    return error->status;
}

enum status device_coo_linearise(struct device_coo *d, const struct shape *shape,
                                 struct error *error)
{
    struct bit_moves moves;
    d->shape = *shape;
    ordering_common(&d->ordering, shape);
    if (d->ordering.line_bits > 64 || d->nnz == 0)
        return STATUS_OK;
    d->line = device_pool_take(d->pool, d->nnz, sizeof *d->line, error);
    TRY(error->status);
    const struct tuples_nonzeros coordinates = device_coo_tuples(d);
    ordering_moves_create(&moves, NULL, &d->ordering, ORDERING_LINE, 0);
    cudaError_t code =
        linearise_gather_words(&coordinates, NULL, 0, d->line, d->nnz, &moves, d->pool->stream);
    for (int n = 0; n < d->shape.order; n++) {
        device_pool_give(d->pool, d->index[n]);
        d->index[n] = NULL;
    }
    return cuda_status(code, dividing, error);
}

void device_coo_free(struct device_coo *d)
{
    if (d->pool) {
        device_pool_give(d->pool, d->line);
        for (int n = 0; n < MAX_ORDER; n++)
            device_pool_give(d->pool, d->index[n]);
        device_pool_give(d->pool, d->value);
    }
    memset(d, 0, sizeof *d);
}
