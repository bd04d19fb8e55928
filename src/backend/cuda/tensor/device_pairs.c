#include "backend/cuda/tensor/device_pairs.h"

#include "backend/cuda/runtime/cuda_error.h"
#include "kernels/tensor/linearise.h"
#include "tensor/ordering_moves.h"

static const char doing[] = "sorting the nonzeros";

/* Key and payload [i]. */
static enum status take_arrays(struct device_pairs *p, int i, const struct device_pool *pool,
                               struct error *error)
{
    if (!p->key[i])
        p->key[i] = device_pool_take(pool, p->n, sizeof *p->key[i], error);
    if (p->key[i] && !p->payload[i])
        p->payload[i] = device_pool_take(pool, p->n, (size_t)p->payload_size, error);
    return error->status;
}

enum status device_pairs_take(struct device_pairs *p, uint64_t n, int payload_size,
                              const struct device_pool *pool, struct error *error)
{
    *p = (struct device_pairs){.n = n, .payload_size = payload_size};
    return take_arrays(p, 0, pool, error);
}

enum status device_pairs_complete(struct device_pairs *p, const struct device_pool *pool,
                                  struct error *error)
{
    return take_arrays(p, 0, pool, error);
}

void device_pairs_give_keys(struct device_pairs *p, const struct device_pool *pool)
{
    device_pool_give(pool, p->key[0]);
    device_pool_give(pool, p->key[1]);
    device_pool_give(pool, p->payload[1]);
    p->key[0] = NULL;
    p->key[1] = NULL;
    p->payload[1] = NULL;
}

void device_pairs_give(struct device_pairs *p, const struct device_pool *pool)
{
    device_pairs_give_keys(p, pool);
    device_pool_give(pool, p->payload[0]);
    p->payload[0] = NULL;
}

enum status device_pairs_sort(struct device_pairs *p, int begin, int end,
                              const struct device_pool *pool, struct error *error)
{
    if (begin >= end || p->n < 2)
        return STATUS_OK;
    if (take_arrays(p, 1, pool, error) != STATUS_OK)
        return error->status;
    cudaStream_t stream = pool->stream;
    size_t bytes = 0;
    cudaError_t code =
        linearise_sort(NULL, &bytes, p->key, p->payload, p->payload_size, p->n, begin, end, stream);
    if (code != cudaSuccess)
        return cuda_status(code, doing, error);
    void *temporary = device_pool_take(pool, bytes, 1, error);
    if (!temporary)
        return error->status;
    code = linearise_sort(temporary, &bytes, p->key, p->payload, p->payload_size, p->n, begin, end,
                          stream);
    device_pool_give(pool, temporary);
    return cuda_status(code, doing, error);
}

int device_position_size(uint64_t nnz)
{
    return nnz <= UINT32_MAX ? 4 : 8;
}

enum status device_pairs_sort_positions(struct device_pairs *p, const struct device_coo *x,
                                        const struct ordering *o, struct error *error)
{
    struct linearise_coordinates coordinates = device_coo_coordinates(x);
    cudaStream_t stream = x->pool->stream;
    int sorted = device_coo_sorted_bits(x, o);
    int position_size = 0; /* until the first sort, pair i is nonzero i */
    cudaError_t code = linearise_positions(p->payload[0], p->payload_size, p->n, stream);
    if (code != cudaSuccess)
        return cuda_status(code, doing, error);

    for (int word = sorted / 64; sorted < o->line_bits && 64 * word < o->line_bits; word++) {
        int begin = sorted > 64 * word ? sorted - 64 * word : 0;
        int end = o->line_bits - 64 * word < 64 ? o->line_bits - 64 * word : 64;
        struct bit_moves moves;
        ordering_moves_create(&moves, NULL, o, ORDERING_LINE, word);
        code = linearise_gather_words(&coordinates, p->payload[0], position_size, p->key[0], p->n,
                                      &moves, stream);
        if (code != cudaSuccess)
            return cuda_status(code, doing, error);
        if (device_pairs_sort(p, begin, end, x->pool, error) != STATUS_OK)
            return error->status;
        position_size = p->payload_size;
    }
    return STATUS_OK;
}

int device_coo_sorted_bits(const struct device_coo *x, const struct ordering *o)
{
    return x->sorted ? ordering_sorted_bits(&x->line, o) : 0;
}

struct linearise_coordinates device_coo_coordinates(const struct device_coo *x)
{
    struct linearise_coordinates c = {.order = x->order};
    for (int n = 0; n < x->order; n++)
        c.index[n] = x->index[n];
    return c;
}
