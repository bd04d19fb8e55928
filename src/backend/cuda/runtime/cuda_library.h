/* Libraries of CUDA beside its runtime, which is a part of the program: loaded when a rank first
 * needs them. cuBLAS and cuSOLVER bring some hundred MB with them and take longer to load than a
 * small tensor takes to decompose. */
#ifndef BLCO_CUDA_LIBRARY_H
#define BLCO_CUDA_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/shared_library.h"

/* Loads `file` (libcublas.so.13) and sets `functions` (count). The loader's places come first, then
 * $CUDA_HOME/lib64 and /usr/local/cuda/lib64. `need` says who needs it: "a rank above 64 needs
 * cuBLAS". STATUS_INPUT where the library is in none of these places, or lacks a function. */
enum status cuda_library_load(const char *file, const char *need,
                              const struct library_function *functions, size_t count,
                              struct error *error);

/* A call to a library counts as an answer of the GPU. STATUS_OK where the GPU works; where a call
 * has failed since the GPU is lost, the GPU's error, as every later call has it. */
enum status cuda_library_gpu(bool call_failed, const char *what, struct error *error);

#endif
