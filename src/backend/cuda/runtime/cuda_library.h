/* Loads libraries of CUDA when a rank first needs them (CUDA's runtime is linked into the program).
 * cuBLAS and cuSOLVER have some hundred MB; loading them takes longer than decomposing a small
 * tensor. */
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

/* Why a call to a library has failed: the GPU's error where the GPU is lost, which every later call
 * gets, too; otherwise STATUS_OK. */
enum status cuda_library_gpu(bool call_failed, const char *what, struct error *error);

#endif
