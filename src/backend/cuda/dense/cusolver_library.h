/* The functions of cuSOLVER that blco calls (NVIDIA: cuSOLVER, chapter "cuSolverDN"). */
#ifndef BLCO_CUSOLVER_LIBRARY_H
#define BLCO_CUSOLVER_LIBRARY_H

#include <cusolverDn.h>

#include "base/error.h"

struct cusolver_library {
    __typeof__(cusolverDnCreate) *create;
    __typeof__(cusolverDnDestroy) *destroy;
    __typeof__(cusolverDnSetStream) *set_stream;
    __typeof__(cusolverDnDpotrf_bufferSize) *dpotrf_room;
    __typeof__(cusolverDnDpotrf) *dpotrf;
    __typeof__(cusolverDnDpotri_bufferSize) *dpotri_room;
    __typeof__(cusolverDnDpotri) *dpotri;
    __typeof__(cusolverDnDsyevd_bufferSize) *dsyevd_room;
    __typeof__(cusolverDnDsyevd) *dsyevd;
};

/* The functions, loaded by the first call; for all threads, to the end of the program. NULL with
 * STATUS_INPUT where cuSOLVER cannot be loaded. */
const struct cusolver_library *cusolver_library(struct error *error);

/* STATUS_OK on success, STATUS_MEMORY where memory ran out, otherwise STATUS_INTERNAL. `what` says
 * what was being done. */
enum status cusolver_status(cusolverStatus_t code, const char *what, struct error *error);

#endif
