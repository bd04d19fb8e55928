#include "backend/cuda/tensor/device_pairs.h"

#include "backend/cuda/runtime/cuda_error.h"
#include "kernels/tensor/linearise.h"

static const char doing[] = "sorting the nonzeros";

/* Key and payload [i]. */
static enum status take_arrays(struct device_pairs *p, int i, const struct device_pool *pool,
                               struct error *error)
{
    if (!p->key[i])
        p->key[i] = device_pool_take(pool, p->n, sizeof *p->key[i], error);
    if (!p->key[i])
        return error->status;
    if (!p->payload[i])
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
    TRY(take_arrays(p, 1, pool, error));
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

int device_pairs_position_size(uint64_t nnz)
{
    return nnz <= UINT32_MAX ? 4 : 8;
}
