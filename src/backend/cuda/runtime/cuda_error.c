#include "backend/cuda/runtime/cuda_error.h"

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

/* Errors after which every call of the process fails and all of its device memory is lost: "the
 * process must be terminated and relaunched" (CUDA Runtime API, cudaError_t), or the GPU itself is
 * broken or gone. */
static bool is_lasting(cudaError_t code)
{
    switch (code) {
    case cudaErrorAssert:
    case cudaErrorContextIsDestroyed:
    case cudaErrorDevicesUnavailable:
    case cudaErrorECCUncorrectable:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalAddress:
    case cudaErrorIllegalInstruction:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorMisalignedAddress:
    case cudaErrorMpsClientTerminated:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorUnknown:
        return true;
    default:
        return false;
    }
}

enum status cuda_status(cudaError_t code, const char *what, struct error *error)
{
    int device = 0;
    if (atomic_load_explicit(&is_set, memory_order_relaxed)) {
        const long left = atomic_fetch_sub(&countdown, 1);
        if (left == 0 || (left < 0 && atomic_load(&lasts))) {
            atomic_store(&fired, true);
            code = (cudaError_t)atomic_load(&failure);
        }
    }
    if (code == cudaSuccess)
        return STATUS_OK;
    (void)cudaGetLastError();
    if (code == cudaErrorMemoryAllocation)
        return error_set(error, STATUS_MEMORY, "%s: the GPU is out of memory", what);
    if (is_lasting(code) && cudaGetDevice(&device) == cudaSuccess)
        return error_set(error, STATUS_INTERNAL,
                         "%s: GPU %d is lost, and all that was in its memory: %s: %s", what, device,
                         cudaGetErrorName(code), cudaGetErrorString(code));
    return error_set(error, STATUS_INTERNAL, "%s: the GPU answered %s: %s", what,
                     cudaGetErrorName(code), cudaGetErrorString(code));
}
