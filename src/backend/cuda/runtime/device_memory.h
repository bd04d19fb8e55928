/* Arrays in device memory and in pinned host memory. */
#pragma once

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Device memory is that of the calling thread's device (device_use in device_info.h). */

/* An uninitialised device array of `count` elements of `size` bytes; never NULL for count 0. NULL
 * and STATUS_MEMORY where the size overflows or the device has no room. Freed by device_free. */
void *device_array(uint64_t count, size_t size, struct error *error);

/* The same into *array, a pointer to any type. */
enum status device_array_into(void *array, uint64_t count, size_t size, struct error *error);

/* Frees arrays of device_array or device_pool_take that no work on the device uses any more, each
 * of which may be NULL: device_free(a, b, c). */
#define device_free(...)                                                                           \
    device_free_all((void *const[]){__VA_ARGS__},                                                  \
                    sizeof((void *const[]){__VA_ARGS__}) / sizeof(void *))
void device_free_all(void *const *array, size_t count);

/* Queues a copy on the device, or between it and the host. `what`: the work that fails where this
 * does (cuda_error.h). */
enum status device_copy(void *to, const void *from, size_t bytes, cudaStream_t stream,
                        const char *what, struct error *error);

/* Copies `bytes` of a device array to the host when the stream has made them; waits for the stream.
 */
enum status device_fetch(void *host, const void *device, size_t bytes, cudaStream_t stream,
                         const char *what, struct error *error);

/* Copies `bytes` of the host to a device array when the stream gets there; waits for the stream:
 * cudaMemcpy returns before the copy has arrived, and no other stream waits for that. */
enum status device_send(void *device, const void *host, size_t bytes, cudaStream_t stream,
                        const char *what, struct error *error);

/* device_array_into and device_send together; *array is NULL on failure. */
enum status device_copy_into(void *array, const void *host, uint64_t count, size_t size,
                             cudaStream_t stream, const char *what, struct error *error);

/* Returns memory that the device's own pool keeps unused to the device. Waits for all work on the
 * device. */
void device_trim(void);

/* As device_array, in pinned host memory, which copy engines can reach. Freed by
 * device_pinned_free.
 */
void *device_pinned_array(uint64_t count, size_t size, struct error *error);
void device_pinned_free(void *array);

/* Device arrays in the order of one stream: an array that is handed back serves the next request at
 * once. Neither step waits for the device or asks the driver, which for a large array would take as
 * long as a kernel that fills it. Arrays that stay come from another pool than working arrays, so
 * that a small array that stays does not block the room of large ones. */
struct device_pool {
    cudaStream_t stream;
    cudaMemPool_t work; /* owned; NULL where the device has no pools: every array is the driver's */
    cudaMemPool_t kept; /* the device's own; NULL likewise                                        */
};

/* A pool of the device of this number, for work on `stream`. If there is room, `bytes` (0 for none)
 * for working arrays are taken from the driver in one step: many small requests would take longer
 * than the work itself. These bytes stay together until the last array among them is freed.
 * STATUS_INTERNAL where the device does not answer. */
enum status device_pool_open(struct device_pool *p, int device, cudaStream_t stream, uint64_t bytes,
                             struct error *error);

/* As device_array, for work on the pool's stream. Handed back by device_pool_give, or freed by
 * device_free, before the pool is closed. */
void *device_pool_take(const struct device_pool *p, uint64_t count, size_t size,
                       struct error *error);

/* As device_pool_take, for an array that stays and is small compared with the working arrays. */
void *device_pool_keep(const struct device_pool *p, uint64_t count, size_t size,
                       struct error *error);

/* Hands arrays back when the stream gets there, each of which may be NULL: device_pool_give(p, a,
 * b). */
#define device_pool_give(p, ...)                                                                   \
    device_pool_give_all(p, (void *const[]){__VA_ARGS__},                                          \
                         sizeof((void *const[]){__VA_ARGS__}) / sizeof(void *))
void device_pool_give_all(const struct device_pool *p, void *const *array, size_t count);

/* Waits for the stream and gives unused memory back to the device. Accepts a zeroed pool, as does
 * device_pool_close. */
void device_pool_trim(struct device_pool *p);

void device_pool_close(struct device_pool *p);
