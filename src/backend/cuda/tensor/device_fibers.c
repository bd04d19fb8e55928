#include "backend/cuda/tensor/device_fibers.h"

#include "backend/cuda/runtime/cuda_error.h"
#include "kernels/tensor/tuples.h"
#include "numerics/fiber_sample.h"
#include "plan/fiber_choice.h"

static const char doing[] = "counting fibers on the GPU";

enum status device_fibers_count_parts(double *tuples, const struct tuples_parts *parts,
                                      const struct device_coo *x, struct error *error)
{
    const uint64_t kinds = (uint64_t)parts->kinds, words = kinds * FIBER_MAP_WORDS;
    const int skipped = fiber_skipped_bits(x->nnz);
    const struct tuples_nonzeros nonzeros = device_coo_tuples(x);
    const cudaStream_t stream = x->pool->stream;
    uint32_t marked[MAX_ORDER], *count = NULL;
    uint64_t *bits = device_pool_take(x->pool, words, sizeof *bits, error);
    if (!bits)
        goto done;
    count = device_pool_take(x->pool, kinds, sizeof *count, error);
    if (!count)
        goto done;
    TRY_OR(done, cuda_status(cudaMemsetAsync(bits, 0, words * sizeof *bits, stream), doing, error));
    TRY_OR(done,
           cuda_status(cudaMemsetAsync(count, 0, kinds * sizeof *count, stream), doing, error));
    TRY_OR(done,
           cuda_status(tuples_count_parts(&nonzeros, parts, skipped, x->nnz, bits, count, stream),
                       doing, error));
    TRY_OR(done, device_fetch(marked, count, kinds * sizeof *count, stream, doing, error));
    for (uint64_t k = 0; k < kinds; k++)
        tuples[k] = fiber_estimate(marked[k], skipped);
done:
    device_pool_give(x->pool, bits);
    device_pool_give(x->pool, count);
    return error->status;
}

enum status device_fibers_count(double *fibers, const struct device_coo *x, struct error *error)
{
    struct tuples_parts parts = {.order = x->shape.order, .kinds = x->shape.order};
    for (int n = 0; n < x->shape.order; n++)
        parts.dropped[n][n] = TUPLES_ALL_BITS;
    return device_fibers_count_parts(fibers, &parts, x, error);
}
