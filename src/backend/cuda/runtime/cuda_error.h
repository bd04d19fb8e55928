/* Errors of the CUDA runtime as a status and a sentence. */
#pragma once

#include <cuda_runtime.h>
#include <stdbool.h>

#include "base/error.h"

/* STATUS_OK on success, STATUS_MEMORY where memory ran out, otherwise STATUS_INTERNAL. `what` is
 * the work that failed ("sorting the nonzeros"). An error that leaves the context intact is cleared
 * from the runtime, so that the next kernel launch does not report it again. */
enum status cuda_status(cudaError_t code, const char *what, struct error *error);

/* Tests only: lets a GPU seem to fail. After the next k answers of the GPU (codes passed to
 * cuda_status), one answer is replaced by `code`, and if `lasting` all later ones; a negative k
 * switches this off. cuda_fault_fired: whether an answer was replaced since the last
 * cuda_fault_set. */
void cuda_fault_set(long k, cudaError_t code, bool lasting);
bool cuda_fault_fired(void);
