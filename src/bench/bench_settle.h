/* Iterations until a backend has chosen its kernels. */
#ifndef BLCO_BENCH_SETTLE_H
#define BLCO_BENCH_SETTLE_H

#include "backend/backend.h"

#define BENCH_MOST_WARMUP 1000 /* calls, at most, while a mode is still trying kernels */

/* Makes iterations of ALS from the model that the backend has loaded, until the backend has settled
 * on the kernels of all modes; *fit = that of the last one. Of several ranks every rank calls it,
 * and all make the same number. Errors as cpals_sweep and comm_allreduce_max. */
enum status bench_settle(struct backend *b, struct backend_fit *fit, struct error *error);

#endif
