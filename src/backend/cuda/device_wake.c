#include "backend/cuda/device_wake.h"

#include <cuda_runtime.h>
#include <stdbool.h>
#include <stdlib.h>

#include "kernels/mttkrp/mttkrp.h"

static const char too_old[] = "the GPU is too old for this build of blco";

/* Whether this program has code for one of `count` GPUs. This takes no context. */
static bool has_code(int count)
{
    for (int device = 0; device < count; device++) {
        int major = 0, minor = 0;
        if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device))
            return true;
        if (cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device))
            return true;
        if (10 * major + minor >= mttkrp_oldest_capability())
            return true;
    }
    return false;
}

enum status device_available(struct error *error)
{
    int count = 0;
    /* Drivers before CUDA 12.2 load all device code at once unless told otherwise ("Lazy Loading"
     * in the CUDA C++ Programming Guide). */
    setenv("CUDA_MODULE_LOADING", "LAZY", 0);
    cudaError_t code = cudaGetDeviceCount(&count);
    if (code == cudaErrorInsufficientDriver)
        return error_set(error, STATUS_INPUT,
                         "no NVIDIA driver, or one that is too old for this CUDA");
    if (code == cudaErrorNoDevice || (code == cudaSuccess && count == 0))
        return error_set(error, STATUS_INPUT, "no NVIDIA GPU on this machine");
    if (code != cudaSuccess)
        return error_set(error, STATUS_INPUT, "no usable GPU: %s", cudaGetErrorString(code));
    return has_code(count) ? STATUS_OK : error_set(error, STATUS_INPUT, too_old);
}

static cudaError_t wake(int device, const atomic_bool *unwanted)
{
    /* Any kernel will do: an architecture that this binary has no code for shows here. */
    struct mttkrp_args args = {.vectors = 1};
    cudaError_t code = cudaSetDevice(device);
    if (code != cudaSuccess)
        return code;
    code = cudaFree(NULL); /* makes the context, where choosing the GPU has not done so */
    if (code != cudaSuccess || atomic_load(unwanted))
        return code;
    return mttkrp_prepare(&args);
}

enum status device_wake(int device, const atomic_bool *unwanted, struct error *error)
{
    cudaError_t code = wake(device, unwanted);
    (void)cudaGetLastError();
    if (code == cudaErrorNoKernelImageForDevice || code == cudaErrorInvalidDeviceFunction)
        return error_set(error, STATUS_INPUT, too_old);
    if (code != cudaSuccess)
        return error_set(error, STATUS_INPUT, "the GPU does not answer: %s",
                         cudaGetErrorString(code));
    return STATUS_OK;
}
