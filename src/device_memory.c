#include "device_memory.h"

#include <cuda_runtime.h>
#include <stdbool.h>

#include "cuda_error.h"
#include "memory.h"

/* The array's size in bytes, at least 1; false where it overflows. */
static bool byte_size(uint64_t count, size_t size, uint64_t *bytes)
{
    if (__builtin_mul_overflow(count, (uint64_t)size, bytes))
        return false;
    if (*bytes == 0)
        *bytes = 1;
    return true;
}

static cudaError_t allocate(void **array, uint64_t count, size_t size)
{
    uint64_t bytes;
    *array = NULL;
    if (!byte_size(count, size, &bytes) || memory_hook_fails())
        return cudaErrorMemoryAllocation;
    cudaError_t code = cudaMalloc(array, bytes);
    if (code != cudaSuccess)
        (void)cudaGetLastError();
    return code;
}

/* The array, or NULL and the error. */
static void *checked(void *array, cudaError_t code, uint64_t count, size_t size, const char *memory,
                     struct error *error)
{
    if (code == cudaErrorMemoryAllocation)
        error_set(error, STATUS_MEMORY, "out of %s memory: %.3f GB more were asked for", memory,
                  (double)count * (double)size / 1e9);
    else
        cuda_status(code, "allocating memory", error);
    return array;
}

void *device_array(uint64_t count, size_t size, struct error *error)
{
    void *array;
    cudaError_t code = allocate(&array, count, size);
    return checked(array, code, count, size, "GPU", error);
}

void device_free(void *array)
{
    if (array)
        (void)cudaFree(array);
}

void *pinned_array(uint64_t count, size_t size, struct error *error)
{
    void *array = NULL;
    uint64_t bytes;
    cudaError_t code = cudaErrorMemoryAllocation;
    if (byte_size(count, size, &bytes) && !memory_hook_fails())
        code = cudaMallocHost(&array, bytes);
    if (code != cudaSuccess) {
        (void)cudaGetLastError();
        array = NULL;
    }
    return checked(array, code, count, size, "pinned host", error);
}

void pinned_free(void *array)
{
    if (array)
        (void)cudaFreeHost(array);
}

void *device_spares_take(struct device_spares *s, uint64_t count, size_t size, struct error *error)
{
    uint64_t bytes;
    if (byte_size(count, size, &bytes)) {
        for (int i = 0; i < s->count; i++) {
            if (s->spare[i].bytes == bytes) {
                void *array = s->spare[i].array;
                s->spare[i] = s->spare[--s->count];
                return array;
            }
        }
    }
    void *array;
    cudaError_t code = allocate(&array, count, size);
    if (code == cudaErrorMemoryAllocation && s->count > 0) {
        device_spares_free(s);
        code = allocate(&array, count, size);
    }
    return checked(array, code, count, size, "GPU", error);
}

void device_spares_give(struct device_spares *s, void *array, uint64_t count, size_t size)
{
    uint64_t bytes;
    if (!array)
        return;
    if (s->count == DEVICE_SPARES || !byte_size(count, size, &bytes)) {
        device_free(array);
        return;
    }
    s->spare[s->count].array = array;
    s->spare[s->count++].bytes = bytes;
}

void device_spares_free(struct device_spares *s)
{
    while (s->count > 0)
        device_free(s->spare[--s->count].array);
}
