#include "backend/cuda/runtime/cuda_fault.h"

#include <stdatomic.h>

static atomic_long countdown = -1;
static atomic_bool fired, lasts, is_set;
static atomic_int failure;

void cuda_fault_set(long k, cudaError_t code, bool lasting)
{
    atomic_store(&is_set, false);
    atomic_store(&fired, false);
    atomic_store(&lasts, lasting);
    atomic_store(&failure, (int)code);
    atomic_store(&countdown, k);
    atomic_store(&is_set, k >= 0);
}

bool cuda_fault_fired(void)
{
    return atomic_load(&fired);
}

cudaError_t cuda_fault_answer(cudaError_t answer)
{
    if (!atomic_load_explicit(&is_set, memory_order_relaxed))
        return answer;
    long left = atomic_fetch_sub(&countdown, 1);
    if (left > 0 || (left < 0 && !atomic_load(&lasts)))
        return answer;
    atomic_store(&fired, true);
    return (cudaError_t)atomic_load(&failure);
}
