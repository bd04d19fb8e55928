/* The life of MPI in this process: from its start to the end of the process, which must not leave
 * other processes waiting. */
#ifndef BLCO_MPI_LIFE_H
#define BLCO_MPI_LIFE_H

#include <stdbool.h>

#include "base/error.h"

/* Starts MPI, and lets MPI take part in the end of this process. To be called once, by the thread
 * that will make all calls of MPI. Where the other processes do not come for `patience` seconds,
 * the process ends with one line and STATUS_INPUT; of several that wait, the lowest one first.
 * STATUS_INTERNAL, STATUS_MEMORY. */
enum status mpi_life_start(double patience, int rank, struct error *error);

/* STATUS_OK where `code`, which a function of MPI has returned, is a success; otherwise
 * STATUS_INTERNAL with MPI's own words and `what` ("adding up"). */
enum status mpi_life_check(int code, const char *what, struct error *error);

/* The end of this process will end all processes, with its exit code or, where that is 0, the
 * status of `reason`. The first call counts. */
void mpi_life_abort(const struct error *reason);

/* The reason that the first mpi_life_abort gave; of STATUS_OK where there was none. */
const struct error *mpi_life_reason(void);

/* Whether the end of this process, if it fails, ends all processes: after mpi_life_abort, and as
 * long as not all processes have come to mpi_life_close. */
bool mpi_life_ends_all(void);

/* Whether this process tells its failure: not where all processes have come to mpi_life_close and
 * one of a lower rank has aborted, too. */
bool mpi_life_tells(void);

/* This process has no more work with the others. Waits some seconds for the others to say so, too,
 * so that their orderly end is known. */
void mpi_life_close(void);

#endif
