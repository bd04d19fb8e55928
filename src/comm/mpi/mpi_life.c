#include "comm/mpi/mpi_life.h"

#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

#define PATIENCE         5.0 /* seconds that mpi_life_finalize waits for the other processes    */
#define PATIENCE_TO_TELL 5   /* seconds in which another process prints the failure and ends us */
#define PATIENCE_ABORTED 2.0 /* after an abort: perhaps all ranks have found the same failure   */
#define MOST_PAUSE       5   /* seconds in which a lower rank that waits ends first             */

static struct {
    struct error reason; /* of an abort */
    bool finalized;      /* mpi_life_finalize has been called                              */
    bool all_finalized;  /* by all processes, and none has aborted                         */
    MPI_Request ending;  /* the allreduce in which all processes meet at the end           */
    int mine, lowest;    /* there: this process's rank if it has aborted, else the number of
                          * processes; the least of all                                    */
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
    return !life.all_finalized || life.reason.status != STATUS_OK;
}

bool mpi_life_tells(void)
{
    int size;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return !life.all_finalized || life.lowest == size || life.lowest == life.mine;
}

/* The end of the process, after main. MPI_Finalize waits for all processes, so it is called only if
 * they arrive there, too: if all have finalized; or if this process has, with success, since a
 * process that fails ends all. */
static void end(int code, void *unused)
{
    (void)unused;
    bool success = life.finalized && life.reason.status == STATUS_OK && code == STATUS_OK;
    int reason = life.reason.status != STATUS_OK ? (int)life.reason.status : STATUS_INTERNAL;
    if (!mpi_life_tells())
        sleep(PATIENCE_TO_TELL);
    if (mpi_life_ends_all() && !success)
        MPI_Abort(MPI_COMM_WORLD, code ? code : reason);
    MPI_Wait(&life.ending, MPI_STATUS_IGNORE);
    MPI_Finalize();
}

/* A thread that waits beside the one in which MPI_Init runs: no other call of MPI is allowed
 * meanwhile. */
struct watch {
    pthread_t thread;
    pthread_mutex_t gate; /* closed until MPI has started */
    double seconds, pause;
};

/* The launcher ends the other processes during the pause. */
static void *watch_start(void *watch)
{
    struct watch *w = watch;
    struct timespec end;
    char text[256];
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += (time_t)(w->seconds + w->pause);
    if (pthread_mutex_timedlock(&w->gate, &end) == ETIMEDOUT) {
        int length = snprintf(text, sizeof text,
                              "%s: waited %.0f s for the other processes: all that the launcher "
                              "starts must run the same command\n",
                              program_invocation_short_name, w->seconds);
        if (write(STDERR_FILENO, text, (size_t)length) >= 0)
            _exit(STATUS_INPUT);
        _exit(STATUS_INTERNAL);
    }
    pthread_mutex_unlock(&w->gate);
    return NULL;
}

/* Starts MPI while a thread watches how long that takes. */
static enum status start(double patience, int rank, int *provided, struct error *error)
{
    struct watch w = {.gate = PTHREAD_MUTEX_INITIALIZER,
                      .seconds = patience,
                      .pause = rank < MOST_PAUSE ? rank : MOST_PAUSE};
    pthread_mutex_lock(&w.gate);
    if (pthread_create(&w.thread, NULL, watch_start, &w) != 0)
        return error_set(error, STATUS_MEMORY, "no thread can be started");
    int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, provided);
    pthread_mutex_unlock(&w.gate);
    pthread_join(w.thread, NULL);
    return mpi_life_check(code, "starting", error);
}

enum status mpi_life_init(double patience, int rank, struct error *error)
{
    int provided;
    TRY(start(patience, rank, &provided, error));
    life.ending = MPI_REQUEST_NULL;
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

void mpi_life_finalize(void)
{
    int met = 0;
    double start = clock_now();
    life.finalized = true;
    bool aborted = life.reason.status != STATUS_OK;
    double patience = aborted ? PATIENCE_ABORTED : PATIENCE;
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    life.mine = aborted ? rank : size;
    if (MPI_Iallreduce(&life.mine, &life.lowest, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD,
                       &life.ending) != MPI_SUCCESS)
        return;
    while (MPI_Test(&life.ending, &met, MPI_STATUS_IGNORE) == MPI_SUCCESS && !met &&
           clock_now() - start < patience)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    life.all_finalized = met != 0;
}
