/* The threads of OpenMP. How long an idle one of them looks for work before it sleeps is set before
 * main: a few times what it takes to sleep and to wake, since a busy machine has other use for the
 * processor. OMP_WAIT_POLICY and GOMP_SPINCOUNT override it. */
#ifndef BLCO_THREADS_H
#define BLCO_THREADS_H

#include "base/error.h"

/* Starts as many threads as omp_get_max_threads says. STATUS_MEMORY where the system refuses one of
 * them, for which OpenMP itself would end the program, or where one has a tiny stack. STATUS_INPUT
 * where OpenMP cannot read a variable of the environment, OMP_NUM_THREADS for one. To be called by
 * the main thread before it has threads beside OpenMP's. */
enum status threads_start(struct error *error);

/* Loads what the end of a thread needs (of OpenMP, too, which unwinds its stack), so that no thread
 * ends the program where no memory or file is left for that. STATUS_MEMORY. */
enum status threads_can_end(struct error *error);

#endif
