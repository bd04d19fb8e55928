#include "backend/cuda/runtime/device_queue.h"

#include "base/memory.h"
#include "numerics/launchers.h"

cudaError_t device_queue_create(cudaStream_t *queue, enum device_queue_priority priority)
{
    int least = 0, greatest = 0; /* the device's priorities; 0 is the normal one */
    if (memory_hook_fails())
        return cudaErrorMemoryAllocation;
    if (priority != QUEUE_NORMAL)
        CUDA_TRY(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    return cudaStreamCreateWithPriority(queue, cudaStreamNonBlocking,
                                        priority == QUEUE_FIRST ? greatest : least);
}

static cudaError_t create_event(cudaEvent_t *event, unsigned flags)
{
    return memory_hook_fails() ? cudaErrorMemoryAllocation : cudaEventCreateWithFlags(event, flags);
}

cudaError_t device_event_create(cudaEvent_t *event)
{
    return create_event(event, cudaEventDisableTiming);
}

cudaError_t device_event_create_timed(cudaEvent_t *event)
{
    return create_event(event, cudaEventDefault);
}

void device_queue_destroy(cudaStream_t queue)
{
    if (queue)
        (void)cudaStreamDestroy(queue);
}

void device_event_destroy(cudaEvent_t event)
{
    if (event)
        (void)cudaEventDestroy(event);
}

cudaError_t device_queue_follow(cudaStream_t queue, cudaStream_t other, cudaEvent_t event)
{
    CUDA_TRY(cudaEventRecord(event, other));
    return cudaStreamWaitEvent(queue, event, 0);
}

cudaError_t device_event_seconds(cudaEvent_t begin, cudaEvent_t end, double *seconds)
{
    float ms = 0;
    *seconds = 0;
    CUDA_TRY(cudaEventSynchronize(end));
    CUDA_TRY(cudaEventElapsedTime(&ms, begin, end));
    *seconds = ms / 1e3;
    return cudaSuccess;
}
