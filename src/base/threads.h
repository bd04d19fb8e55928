/* The threads of OpenMP. A constructor sets how long an idle thread looks for work before it
 * sleeps: a few times as long as sleeping and waking take, because a busy machine has other work
 * for the core. OMP_WAIT_POLICY and GOMP_SPINCOUNT override it. */
#pragma once

#include "base/error.h"

/* Starts as many threads as omp_get_max_threads says. STATUS_MEMORY where the system refuses a
 * thread, for which OpenMP itself would end the program, or where a thread has a tiny stack.
 * STATUS_INPUT where OpenMP cannot read a variable of the environment, such as
 * OMP_NUM_THREADS. The main thread calls it before it starts other threads. */
enum status threads_start(struct error *error);

/* Checks that the calling thread, the program's first one, has a stack that every command fits.
 * STATUS_MEMORY. */
enum status threads_check_first(struct error *error);

/* Loads the library that a thread needs to end, OpenMP's too. Otherwise a thread that ends when
 * memory or files have run out would abort the program. STATUS_MEMORY. */
enum status threads_can_end(struct error *error);
