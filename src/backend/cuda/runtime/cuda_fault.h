/* Tests only: failures of a GPU that nothing else brings about when a test wants them. */
#ifndef BLCO_CUDA_FAULT_H
#define BLCO_CUDA_FAULT_H

#include <cuda_runtime.h>
#include <stdbool.h>

/* The device's answer after the next `k` that cuda_error.h turns into a status becomes `code`, and
 * so do all answers after it where `lasting`; a negative k switches this off. cuda_fault_fired says
 * whether an answer has become `code` since the last cuda_fault_set. */
void cuda_fault_set(long k, cudaError_t code, bool lasting);
bool cuda_fault_fired(void);

/* For cuda_error.c: counts an answer; what becomes of it. */
cudaError_t cuda_fault_answer(cudaError_t answer);

#endif
