/* MPI from MPI_Init to the end of this process, which must not leave other processes waiting. */
#ifndef BLCO_MPI_LIFE_H
#define BLCO_MPI_LIFE_H

#include <stdbool.h>

#include "base/error.h"

/* Initialises MPI, and finalizes it at the end of this process. Called once, by the thread that
 * will make all calls of MPI. Where the other processes do not start MPI within `patience` seconds,
 * the process prints one text line and ends with STATUS_INPUT; if several wait, the lowest one
 * first. STATUS_INTERNAL, STATUS_MEMORY. */
enum status mpi_life_init(double patience, int rank, struct error *error);

/* The status of `code`, which a function of MPI has returned: STATUS_OK, or STATUS_INTERNAL with
 * MPI's own message and `what` ("adding up"). */
enum status mpi_life_check(int code, const char *what, struct error *error);

/* Makes the end of this process end all processes, with its exit status or, where that is 0, the
 * status of `reason`. Only the first call counts. */
void mpi_life_abort(const struct error *reason);

/* The reason that the first mpi_life_abort gave; of STATUS_OK where there was none. */
const struct error *mpi_life_reason(void);

/* Whether the end of this process, if it fails, ends all processes: after mpi_life_abort, and until
 * all processes have called mpi_life_finalize. */
bool mpi_life_ends_all(void);

/* Whether this process prints its failure: not if all processes have called mpi_life_finalize and
 * one of a lower rank has aborted, too. */
bool mpi_life_tells(void);

/* Called when this process has no more work with the others. Waits some seconds for the others to
 * call it, too: then they have ended without a failure. */
void mpi_life_finalize(void);

#endif
