/* Errors of the CUDA runtime as a status and a sentence. */
#ifndef BLCO_CUDA_ERROR_H
#define BLCO_CUDA_ERROR_H

#include <cuda_runtime.h>

#include "base/error.h"

/* STATUS_OK on success, STATUS_MEMORY where memory ran out, otherwise STATUS_INTERNAL. `what` says
 * what was being done ("sorting the nonzeros"). cuda_status clears an error that does not break the
 * context from the runtime, so that the next kernel launch does not report it again. */
enum status cuda_status(cudaError_t code, const char *what, struct error *error);

#endif
