/* Iterations until a backend has chosen its kernels. */
#ifndef BLCO_BENCH_WARM_UP_H
#define BLCO_BENCH_WARM_UP_H

#include "backend/backend.h"

#define BENCH_MOST_WARM_UP 1000 /* calls, at most, while a mode is still trying kernels */

/* Makes iterations of ALS from the model that the backend has loaded, until it has chosen the
 * kernels of all modes; *fit = the fit of the last one. Every rank calls it, and all make the same
 * number of iterations. Errors as cpals_sweep and comm_allreduce_max. */
enum status bench_warm_up(struct backend *b, struct backend_fit *fit, struct error *error);

#endif
