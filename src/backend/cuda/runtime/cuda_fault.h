/* Tests only: lets a GPU seem to fail. */
#ifndef BLCO_CUDA_FAULT_H
#define BLCO_CUDA_FAULT_H

#include <cuda_runtime.h>
#include <stdbool.h>

/* After the next k answers of the GPU (codes passed to cuda_status), one answer is replaced by
 * `code`, and if `lasting` all later ones; a negative k switches this off. cuda_fault_fired:
 * whether an answer was replaced since the last cuda_fault_set. */
void cuda_fault_set(long k, cudaError_t code, bool lasting);
bool cuda_fault_fired(void);

/* For cuda_error.c: counts an answer, and returns it or its replacement. */
cudaError_t cuda_fault_answer(cudaError_t answer);

#endif
