/* Eigenvalues and eigenvectors of a small symmetric matrix. */
#pragma once

#include <stdint.h>

#include "base/error.h"

/* V = Q diag(w) Q' for symmetric V (n x n): w (n) ascends, and the rows of V become the
 * eigenvectors. STATUS_NUMERICAL where LAPACK finds none, STATUS_MEMORY; errors of lapack_library.
 */
enum status symmetric_eigen(double *v, uint64_t n, double *w, struct error *error);
