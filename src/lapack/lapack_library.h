/* LAPACK and OpenBLAS, loaded when they are first needed: OpenBLAS starts its threads when it is
 * loaded, which may never return under a limit of memory. It is loaded with one thread, because
 * blco has threads of its own. */
#pragma once

#include <lapacke.h>

#include "base/error.h"

/* Functions of LAPACKE ("The LAPACKE C Interface to LAPACK"). Those with "work" in their names take
 * their scratch arrays from the caller. */
struct lapack_library {
    __typeof__(LAPACKE_dpotrf) *dpotrf;
    __typeof__(LAPACKE_dpocon_work) *dpocon_work;
    __typeof__(LAPACKE_dtrtri) *dtrtri;
    __typeof__(LAPACKE_dsyevd_work) *dsyevd_work;
};

/* The functions, loaded by the first call; for all threads, to the end of the program. OpenBLAS
 * keeps one work buffer for one caller, and waits for ever where there is no memory for a second
 * one: one thread at a time calls the functions, between lapack_library_enter and
 * lapack_library_leave. NULL with STATUS_MEMORY where there is no memory for the libraries and that
 * buffer, with STATUS_INTERNAL where the libraries cannot be loaded. */
const struct lapack_library *lapack_library(struct error *error);

void lapack_library_enter(void);
void lapack_library_leave(void);
