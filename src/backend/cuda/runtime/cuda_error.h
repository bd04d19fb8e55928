/* Errors of the CUDA runtime as a status and a sentence. */
#ifndef BLCO_CUDA_ERROR_H
#define BLCO_CUDA_ERROR_H

#include <cuda_runtime.h>

#include "base/error.h"

/* STATUS_OK on success, STATUS_MEMORY where memory ran out, otherwise STATUS_INTERNAL. `what` is
 * the work that failed ("sorting the nonzeros"). An error that leaves the context intact is cleared
 * from the runtime, so that the next kernel launch does not report it again. */
enum status cuda_status(cudaError_t code, const char *what, struct error *error);

#endif
