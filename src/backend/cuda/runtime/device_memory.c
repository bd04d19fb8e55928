#include "backend/cuda/runtime/device_memory.h"

#include <stdbool.h>
#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "base/memory.h"
#include "base/number.h"

/* The array's size in bytes, at least 1; false where it overflows. */
static bool byte_size(uint64_t count, size_t size, uint64_t *bytes)
{
    if (__builtin_mul_overflow(count, (uint64_t)size, bytes))
        return false;
    if (*bytes == 0)
        *bytes = 1;
    return true;
}

/* The array, or NULL and the error. */
static void *checked(void *array, cudaError_t code, uint64_t count, size_t size, const char *memory,
                     struct error *error)
{
    if (code == cudaSuccess)
        return array;
    (void)cudaGetLastError();
    if (code == cudaErrorMemoryAllocation)
        error_set(error, STATUS_MEMORY, "out of %s memory: %s more were asked for", memory,
                  NUMBER_SIZE(number_whole((double)count * (double)size)));
    else
        cuda_status(code, "allocating memory", error);
    return NULL;
}

/* The device's own pool, or NULL where the device has none. */
static cudaError_t find_pool(int device, cudaMemPool_t *pool)
{
    int supported = 0;
    *pool = NULL;
    cudaError_t code = cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device);
    return code == cudaSuccess && supported ? cudaDeviceGetDefaultMemPool(pool, device) : code;
}

enum status device_copy(void *to, const void *from, size_t bytes, cudaStream_t stream,
                        const char *what, struct error *error)
{
    return cuda_status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream), what, error);
}

enum status device_fetch(void *host, const void *device, size_t bytes, cudaStream_t stream,
                         const char *what, struct error *error)
{
    cudaError_t code = cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream);
    return cuda_status(code == cudaSuccess ? cudaStreamSynchronize(stream) : code, what, error);
}

enum status device_send(void *device, const void *host, size_t bytes, cudaStream_t stream,
                        const char *what, struct error *error)
{
    cudaError_t code = cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream);
    return cuda_status(code == cudaSuccess ? cudaStreamSynchronize(stream) : code, what, error);
}

void device_trim(void)
{
    int device;
    cudaMemPool_t pool;
    (void)cudaDeviceSynchronize();
    if (cudaGetDevice(&device) == cudaSuccess && find_pool(device, &pool) == cudaSuccess && pool)
        (void)cudaMemPoolTrimTo(pool, 0);
}

void *device_array(uint64_t count, size_t size, struct error *error)
{
    void *array = NULL;
    uint64_t bytes;
    cudaError_t code = cudaErrorMemoryAllocation;
    if (byte_size(count, size, &bytes) && !memory_hook_fails()) {
        code = cudaMalloc(&array, bytes);
        if (code == cudaErrorMemoryAllocation) {
            device_trim();
            code = cudaMalloc(&array, bytes);
        }
    }
    return checked(array, code, count, size, "GPU", error);
}

enum status device_array_into(void *array, uint64_t count, size_t size, struct error *error)
{
    void *pointer = device_array(count, size, error);
    memcpy(array, &pointer, sizeof pointer);
    return error->status;
}

enum status device_copy_into(void *array, const void *host, uint64_t count, size_t size,
                             cudaStream_t stream, const char *what, struct error *error)
{
    void *copy = device_array(count, size, error);
    if (copy && device_send(copy, host, count * size, stream, what, error) != STATUS_OK) {
        device_free(copy);
        copy = NULL;
    }
    memcpy(array, &copy, sizeof copy);
    return error->status;
}

void device_free_all(void *const *array, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (array[i])
            (void)cudaFree(array[i]);
}

void *device_pinned_array(uint64_t count, size_t size, struct error *error)
{
    void *array = NULL;
    uint64_t bytes;
    cudaError_t code = cudaErrorMemoryAllocation;
    if (byte_size(count, size, &bytes) && !memory_hook_fails())
        code = cudaMallocHost(&array, bytes);
    return checked(array, code, count, size, "pinned host", error);
}

void device_pinned_free(void *array)
{
    if (array)
        (void)cudaFreeHost(array);
}

enum status device_pool_open(struct device_pool *p, int device, cudaStream_t stream, uint64_t bytes,
                             struct error *error)
{
    static const char doing[] = "opening a pool of memory";
    *p = (struct device_pool){.stream = stream};
    TRY(cuda_status(find_pool(device, &p->kept), doing, error));
    if (p->kept) { /* `work` gives nothing back to the device by itself */
        uint64_t most = UINT64_MAX;
        const struct cudaMemPoolProps properties = {
            .allocType = cudaMemAllocationTypePinned,
            .location = {.type = cudaMemLocationTypeDevice, .id = device}};
        cudaError_t code = memory_hook_fails() ? cudaErrorMemoryAllocation
                                               : cudaMemPoolCreate(&p->work, &properties);
        if (code == cudaSuccess)
            code = cudaMemPoolSetAttribute(p->work, cudaMemPoolAttrReleaseThreshold, &most);
        TRY(cuda_status(code, doing, error));
    }
    void *all = NULL;
    if (p->work && bytes > 0) {
        if (cudaMallocFromPoolAsync(&all, bytes, p->work, stream) == cudaSuccess)
            (void)cudaFreeAsync(all, stream);
        (void)cudaGetLastError(); /* no room for all of it: arrays will be taken one by one */
    }
    return STATUS_OK;
}

static void *take(const struct device_pool *p, cudaMemPool_t pool, uint64_t count, size_t size,
                  struct error *error)
{
    void *array = NULL;
    uint64_t bytes;
    cudaError_t code = cudaErrorMemoryAllocation;
    if (byte_size(count, size, &bytes) && !memory_hook_fails())
        code = pool ? cudaMallocFromPoolAsync(&array, bytes, pool, p->stream)
                    : cudaMalloc(&array, bytes);
    else
        pool = NULL;
    if (code == cudaErrorMemoryAllocation && pool) {
        (void)cudaDeviceSynchronize();
        (void)cudaMemPoolTrimTo(p->kept, 0);
        (void)cudaMemPoolTrimTo(p->work, 0);
        code = cudaMallocFromPoolAsync(&array, bytes, pool, p->stream);
    }
    return checked(array, code, count, size, "GPU", error);
}

void *device_pool_take(const struct device_pool *p, uint64_t count, size_t size,
                       struct error *error)
{
    return take(p, p->work, count, size, error);
}

void *device_pool_keep(const struct device_pool *p, uint64_t count, size_t size,
                       struct error *error)
{
    return take(p, p->kept, count, size, error);
}

void device_pool_give_all(const struct device_pool *p, void *const *array, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (array[i])
            (void)(p->work ? cudaFreeAsync(array[i], p->stream) : cudaFree(array[i]));
}

void device_pool_trim(struct device_pool *p)
{
    if (p->work) {
        (void)cudaStreamSynchronize(p->stream);
        (void)cudaMemPoolTrimTo(p->work, 0);
    }
}

void device_pool_close(struct device_pool *p)
{
    device_pool_trim(p);
    if (p->work)
        (void)cudaMemPoolDestroy(p->work);
    *p = (struct device_pool){0};
}
