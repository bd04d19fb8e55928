#include "comm/mpi/mpi_life.h"

#include <mpi.h>
#include <stdlib.h>
#include <time.h>

#include "base/clock.h"

#define PATIENCE 5.0 /* seconds that mpi_life_close waits for the others */

static struct {
    struct error reason; /* of an abort */
    bool closed;         /* mpi_life_close has been called           */
    bool all_closed;     /* by all processes, and none has aborted   */
    MPI_Request closing; /* the barrier at which all processes close */
} life;

enum status mpi_life_check(int code, const char *what, struct error *error)
{
    if (code == MPI_SUCCESS)
        return STATUS_OK;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    MPI_Error_string(code, text, &length);
    return error_set(error, STATUS_INTERNAL, "MPI failed in %s: %s", what, text);
}

bool mpi_life_ends_all(void)
{
    return !life.all_closed;
}

/* The end of the process, after main. MPI_Finalize waits for all processes. So it is called only
 * where the others come, too: all have closed; or this process has, with success, and a process
 * that fails ends all. */
static void end(int code, void *unused)
{
    (void)unused;
    bool success = life.closed && life.reason.status == STATUS_OK && code == STATUS_OK;
    int reason = life.reason.status != STATUS_OK ? (int)life.reason.status : STATUS_INTERNAL;
    if (mpi_life_ends_all() && !success)
        MPI_Abort(MPI_COMM_WORLD, code ? code : reason);
    MPI_Wait(&life.closing, MPI_STATUS_IGNORE);
    MPI_Finalize();
}

enum status mpi_life_start(struct error *error)
{
    int provided;
    if (mpi_life_check(MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided), "starting",
                       error) != STATUS_OK)
        return error->status;
    life.closing = MPI_REQUEST_NULL;
    if (on_exit(end, NULL) != 0)
        return error_set(error, STATUS_INTERNAL, "no handler for the end of the process");
    if (provided < MPI_THREAD_FUNNELED)
        return error_set(error, STATUS_INTERNAL, "MPI cannot work beside the threads of blco");
    return mpi_life_check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "starting",
                          error);
}

void mpi_life_abort(const struct error *reason)
{
    if (life.reason.status == STATUS_OK)
        life.reason = *reason;
}

const struct error *mpi_life_reason(void)
{
    return &life.reason;
}

void mpi_life_close(void)
{
    int met = 0;
    double start = clock_now();
    life.closed = true;
    if (life.reason.status != STATUS_OK ||
        MPI_Ibarrier(MPI_COMM_WORLD, &life.closing) != MPI_SUCCESS)
        return;
    while (MPI_Test(&life.closing, &met, MPI_STATUS_IGNORE) == MPI_SUCCESS && !met &&
           clock_now() - start < PATIENCE)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    life.all_closed = met != 0;
}
