#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/least.h"
#include "base/memory.h"
#include "comm/comm_add.h"
#include "comm/comm_plugin.h"

/* --- MPI from MPI_Init to the end of this process, which must not leave other processes waiting.
 * --- */

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

/* The status of `code`, which a function of MPI has returned: STATUS_OK, or STATUS_INTERNAL with
 * MPI's own message and `what` ("adding up"). */
static enum status mpi_life_check(int code, const char *what, struct error *error)
{
    if (code == MPI_SUCCESS)
        return STATUS_OK;
    char text[MPI_MAX_ERROR_STRING] = "";
    int length;
    MPI_Error_string(code, text, &length);
    return error_set(error, STATUS_INTERNAL, "MPI failed in %s: %s", what, text);
}

/* Whether the end of this process, if it fails, ends all processes: after mpi_life_abort, and until
 * all processes have called mpi_life_finalize. */
static bool mpi_life_ends_all(void)
{
    return !life.all_finalized || life.reason.status != STATUS_OK;
}

/* Whether this process prints its failure: not if all processes have called mpi_life_finalize and
 * one of a lower rank has aborted, too. */
static bool mpi_life_tells(void)
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

/* Makes the end of this process end all processes, with its exit status or, where that is 0, the
 * status of `reason`. Only the first call counts. */
static void mpi_life_abort(const struct error *reason)
{
    if (life.reason.status == STATUS_OK)
        life.reason = *reason;
}

/* Called when this process has no more work with the others. Waits some seconds for the others to
 * call it, too: then they have ended without a failure. */
static void mpi_life_finalize(void)
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

/* --- The operations of ranks. --- */

/* Ranks that are processes, by MPI: the plugin blco-mpi.so. Sums are added here, in the order of
 * the ranks; MPI_Reduce would choose an order of its own. */

#define PIECE  ((uint64_t)64 << 20) /* bytes of a message at most: MPI counts them in an int   */
#define BUFFER ((uint64_t)4 << 20)  /* doubles of all ranks, about, that wait to be added up   */
#define LEAST  ((uint64_t)4096)     /* doubles of one rank there, however many ranks there are */

/* A rank's end. */
struct member {
    struct comm comm;
    MPI_Comm mpi;
    bool is_world;
    void **array;   /* (size) where the rows to be added are; owned */
    double *buffer; /* rows of the others, owned                    */
    uint64_t buffer_length;
    MPI_Request *request; /* of the messages of an exchange; owned */
    size_t requests;      /* for which there is room               */
    MPI_Win *window;      /* (windows) of allocate_shared; owned    */
    size_t windows;
};

/* After a failed operation: the other ranks wait for this one, so its process ends them. */
static enum status fail(struct error *error)
{
    mpi_life_abort(error);
    return error->status;
}

/* Every operation begins here and fails if this process has aborted: no other rank will take part.
 */
static enum status begin(struct error *error)
{
    if (life.reason.status == STATUS_OK)
        return STATUS_OK;
    return error_set(error, life.reason.status, "%s", life.reason.message);
}

/* Passes on what a function of MPI has returned. */
static enum status finish(int code, const char *what, struct error *error)
{
    return mpi_life_check(code, what, error) == STATUS_OK ? STATUS_OK : fail(error);
}

static size_t pieces(uint64_t size)
{
    return (size_t)((size + PIECE - 1) / PIECE);
}

/* Starts sending or receiving a parcel, in pieces, which arrive in the order in which they are
 * sent. *count is the number of requests so far. */
static int post(struct member *m, bool sends, int rank, struct comm_parcel parcel, size_t *count)
{
    int code = MPI_SUCCESS;
    for (uint64_t at = 0; at < parcel.size && code == MPI_SUCCESS; at += PIECE) {
        char *bytes = parcel.bytes + at;
        int size = (int)least_of(parcel.size - at, PIECE);
        MPI_Request *request = &m->request[(*count)++];
        code = sends ? MPI_Isend(bytes, size, MPI_BYTE, rank, 0, m->mpi, request)
                     : MPI_Irecv(bytes, size, MPI_BYTE, rank, 0, m->mpi, request);
    }
    return code;
}

/* Each rank begins with its neighbours, so that not all ranks send to the same one at once. */
static enum status exchange(struct comm *c, struct error *error)
{
    struct member *m = c->state;
    int code = MPI_SUCCESS, size = c->size, rank = c->rank;
    size_t count = 0, needed = 0;
    TRY(begin(error));
    c->sent[rank].size = c->received[rank].size = 0;
    for (int k = 0; k < size; k++)
        needed += pieces(c->sent[k].size) + pieces(c->received[k].size);
    if (needed > m->requests) { /* before the first is sent: a message cannot be called back */
        if (memory_resize(&m->request, needed, sizeof *m->request, error) != STATUS_OK)
            return fail(error);
        m->requests = needed;
    }
    for (int d = 1; d < size && code == MPI_SUCCESS; d++) {
        int from = (rank - d + size) % size;
        code = post(m, false, from, c->received[from], &count);
    }
    for (int d = 1; d < size && code == MPI_SUCCESS; d++) {
        int to = (rank + d) % size;
        code = post(m, true, to, c->sent[to], &count);
    }
    if (code == MPI_SUCCESS)
        code = MPI_Waitall((int)count, m->request, MPI_STATUSES_IGNORE);
    return finish(code, "exchanging", error);
}

/* In rounds: in each a rank sends up to `most` doubles of the rows of every other rank. */
static enum status reduce_scatter(struct comm *c, double *x, const struct comm_rows *rows,
                                  struct error *error)
{
    struct member *m = c->state;
    const uint64_t size = (uint64_t)c->size, most = BUFFER / size > LEAST ? BUFFER / size : LEAST;
    double *own = x + rows->first[c->rank] * rows->columns;
    uint64_t longest = 0;
    for (uint64_t k = 0; k < size; k++) {
        uint64_t length = (rows->first[k + 1] - rows->first[k]) * rows->columns;
        longest = length > longest ? length : longest;
    }
    const uint64_t needed = least_of(longest, most) * size;
    if (needed > m->buffer_length) {
        memory_free(m->buffer);
        m->buffer_length = 0;
        m->buffer = memory_array(needed, sizeof *m->buffer, error);
        if (!m->buffer)
            return fail(error);
        m->buffer_length = needed;
    }
    TRY(begin(error));
    for (uint64_t at = 0; at < longest; at += most) {
        for (uint64_t k = 0; k < size; k++) {
            uint64_t start = rows->first[k] * rows->columns;
            uint64_t length = rows->first[k + 1] * rows->columns - start;
            length = at < length ? least_of(length - at, most) : 0;
            c->sent[k] = (struct comm_parcel){(char *)(x + start + at), length * sizeof *x};
        }
        const uint64_t bytes = c->sent[c->rank].size, mine = bytes / sizeof *x;
        for (uint64_t k = 0; k < size; k++) {
            m->array[k] = k == (uint64_t)c->rank ? own + at : m->buffer + k * mine;
            c->received[k] = (struct comm_parcel){m->array[k], bytes};
        }
        TRY(exchange(c, error));
        if (mine > 0)
            comm_add_up(own + at, m->array, c->size, 0, mine);
    }
    return STATUS_OK;
}

static enum status check(struct comm *c, struct error *error)
{
    (void)c;
    return begin(error);
}

static void abort_all(struct comm *c, const struct error *reason)
{
    (void)c;
    mpi_life_abort(reason);
}

static void free_member(struct member *m)
{
    memory_free(m->window, m->request, m->buffer, m->array);
    comm_free_arrays(&m->comm);
    memory_free(m);
}

/* After an abort the others do not take part in freeing windows and the communicator. */
static void finalize_member(struct comm *c)
{
    struct member *m = c->state;
    for (size_t i = 0; i < m->windows && life.reason.status == STATUS_OK; i++)
        MPI_Win_free(&m->window[i]);
    if (m->mpi != MPI_COMM_NULL && life.reason.status == STATUS_OK)
        MPI_Comm_free(&m->mpi);
    if (m->is_world)
        mpi_life_finalize();
    free_member(m);
}

/* All of it is in rank 0's part of the window. A host without room for it does not end the ranks,
 * which may do without. */
static enum status allocate_shared(struct comm *c, size_t bytes, void **memory, struct error *error)
{
    struct member *m = c->state;
    MPI_Win window;
    MPI_Aint size;
    int unit;
    const bool own = c->rank == 0;
    memory_resize(&m->window, m->windows + 1, sizeof *m->window, error);
    TRY(comm_allreduce_error(c, error));
    int code = MPI_Win_allocate_shared(own ? (MPI_Aint)bytes : 0, 1, MPI_INFO_NULL, m->mpi, memory,
                                       &window);
    if (code == MPI_SUCCESS) {
        m->window[m->windows++] = window;
        code = MPI_Win_shared_query(window, 0, &size, &unit, memory);
    }
    if (mpi_life_check(code, "sharing memory", error) == STATUS_OK && own)
        memset(*memory, 0, bytes);
    return comm_allreduce_error(c, error);
}

static enum status split(struct comm *c, int color, struct comm **part, struct error *error);

static const struct comm_engine engine = {.exchange = exchange,
                                          .reduce_scatter = reduce_scatter,
                                          .check = check,
                                          .split = split,
                                          .allocate_shared = allocate_shared,
                                          .abort = abort_all,
                                          .finalize = finalize_member};

/* m->comm's rank, size and place on the host, as m->mpi has them. */
static int find_place(struct member *m)
{
    MPI_Comm host;
    int code = MPI_Comm_set_errhandler(m->mpi, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_rank(m->mpi, &m->comm.rank);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_size(m->mpi, &m->comm.size);
    if (code == MPI_SUCCESS)
        code =
            MPI_Comm_split_type(m->mpi, MPI_COMM_TYPE_SHARED, m->comm.rank, MPI_INFO_NULL, &host);
    if (code != MPI_SUCCESS)
        return code;
    MPI_Comm_rank(host, &m->comm.local_rank);
    MPI_Comm_size(host, &m->comm.local_size);
    return MPI_Comm_free(&host);
}

/* The member of the ranks of `whole` that give the same color, in their order. */
static enum status open_member(struct member **to, MPI_Comm whole, int color, int rank,
                               struct error *error)
{
    struct member *m = memory_zeros(1, sizeof *m, error);
    if (!m)
        return fail(error);
    m->mpi = MPI_COMM_NULL;
    m->comm = (struct comm){.engine = &engine, .state = m};
    int code = MPI_Comm_split(whole, color, rank, &m->mpi);
    if (code == MPI_SUCCESS)
        code = find_place(m);
    TRY_OR(failed, finish(code, "splitting", error));
    m->array = memory_zeros((size_t)m->comm.size, sizeof *m->array, error);
    comm_create_arrays(&m->comm, error);
    if (error->status != STATUS_OK)
        fail(error);
    TRY_OR(failed, error->status);
    *to = m;
    return STATUS_OK;
failed:
    free_member(m);
    return error->status;
}

static enum status split(struct comm *c, int color, struct comm **part, struct error *error)
{
    struct member *m, *whole = c->state;
    TRY(begin(error));
    TRY(open_member(&m, whole->mpi, color, c->rank, error));
    *part = &m->comm;
    return STATUS_OK;
}

/* Initialises MPI, and finalizes it at the end of this process. Called once, by the thread that
 * will make all calls of MPI. Where the other processes do not start MPI within `patience` seconds,
 * the process prints one text line and ends with STATUS_INPUT; if several wait, the lowest one
 * first. STATUS_INTERNAL, STATUS_MEMORY. */
static enum status init_world(struct comm **c, double patience, int place, struct error *error)
{
    struct member *m;
    int rank = 0, provided;
    *c = NULL;
    TRY(start(patience, place, &provided, error));
    life.ending = MPI_REQUEST_NULL;
    if (on_exit(end, NULL) != 0)
        return error_set(error, STATUS_INTERNAL, "no handler for the end of the process");
    if (provided < MPI_THREAD_FUNNELED)
        return error_set(error, STATUS_INTERNAL, "MPI cannot work beside the threads of blco");
    TRY(mpi_life_check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "starting",
                       error));
    TRY(finish(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "starting", error));
    TRY(open_member(&m, MPI_COMM_WORLD, 0, rank, error));
    m->is_world = true;
    *c = &m->comm;
    return STATUS_OK;
}

const struct comm_plugin comm_plugin = {.version = BLCO_VERSION " (" BLCO_COMMIT ")",
                                        .init = init_world,
                                        .ends_all = mpi_life_ends_all,
                                        .tells = mpi_life_tells};
