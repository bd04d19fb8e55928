/* Queues of a GPU (CUDA streams) and the events in them. Each takes memory of the device and of the
 * host: their creation counts as an allocation of base/memory.h, whose hook lets it fail. */
#pragma once

#include <cuda_runtime.h>

/* Which queue's thread blocks start first where several wait. */
enum device_queue_priority { QUEUE_LAST, QUEUE_NORMAL, QUEUE_FIRST };

/* A queue or an event of the calling thread's device. A failure leaves *queue and *event as they
 * were; cudaErrorMemoryAllocation where memory runs out. No queue waits for the default one. */
cudaError_t device_queue_create(cudaStream_t *queue, enum device_queue_priority priority);
cudaError_t device_event_create(cudaEvent_t *event);
cudaError_t device_event_create_timed(cudaEvent_t *event);

/* Both accept NULL. */
void device_queue_destroy(cudaStream_t queue);
void device_event_destroy(cudaEvent_t event);

/* Later work in `queue` waits for the work that is now in `other`. Records `event` there. */
cudaError_t device_queue_follow(cudaStream_t queue, cudaStream_t other, cudaEvent_t event);

/* *seconds = the time between two timed events; 0 on failure. Waits for `end`. */
cudaError_t device_event_seconds(cudaEvent_t begin, cudaEvent_t end, double *seconds);
