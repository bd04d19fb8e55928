#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/least.h"
#include "base/memory.h"
#include "base/threads.h"
#include "comm/comm.h"
#include "comm/comm_add.h"

#define YIELDS 32                  /* of a rank before it sleeps: others are mostly about to come */
#define SUMMED (UINT64_C(1) << 16) /* numbers that a thread sums at a time */

/* Memory of comm_allocate_shared. */
struct shared {
    struct shared *next; /* of the team */
    max_align_t bytes[];
};

/* The ranks of a communicator, which meet for every operation. */
struct team {
    struct team *next;     /* of the hub */
    struct shared *shared; /* owned, to the end */
    int size, arrived;
    _Atomic uint64_t meetings; /* that are over                     */
    void **array;              /* (size): one from each rank; owned */
    pthread_cond_t changed;    /* a meeting is over, or all is aborted */
};

/* Common to all communicators that come from one comm_threads. One lock serves them all: ranks meet
 * a few times in an iteration. */
struct hub {
    pthread_mutex_t lock;
    atomic_bool aborted;
    struct error reason;
    int size;           /* ranks                          */
    int users;          /* ranks that have not ended theirs */
    struct team *teams; /* owned, to the end              */
};

/* A rank's end. */
struct member {
    struct comm comm;
    struct hub *hub;
    struct team *team;
    bool is_root; /* made by comm_threads, not by comm_split */
};

static struct team *new_team(struct hub *hub, int size, struct error *error)
{
    struct team *team = memory_zeros(1, sizeof *team, error);
    void **array = team ? memory_zeros((size_t)size, sizeof *array, error) : NULL;
    if (!array) {
        memory_free(team);
        return NULL;
    }
    *team = (struct team){.size = size, .array = array};
    pthread_cond_init(&team->changed, NULL);
    pthread_mutex_lock(&hub->lock);
    team->next = hub->teams;
    hub->teams = team;
    pthread_mutex_unlock(&hub->lock);
    return team;
}

static void free_hub(struct hub *hub)
{
    while (hub->teams) {
        struct team *next = hub->teams->next;
        while (hub->teams->shared) {
            struct shared *rest = hub->teams->shared->next;
            memory_free(hub->teams->shared);
            hub->teams->shared = rest;
        }
        pthread_cond_destroy(&hub->teams->changed);
        memory_free(hub->teams->array, hub->teams);
        hub->teams = next;
    }
    pthread_mutex_destroy(&hub->lock);
    memory_free(hub);
}

static bool is_over(const struct hub *hub, const struct team *team, uint64_t meeting,
                    bool heed_abort)
{
    return team->meetings != meeting || (heed_abort && hub->aborted);
}

/* Waits for all ranks of the team, or, with heed_abort, for an abort; the caller holds the lock.
 * Returns true if all ranks have arrived. */
static bool wait_for_all(struct hub *hub, struct team *team, bool heed_abort)
{
    uint64_t meeting = team->meetings;
    if (heed_abort && hub->aborted)
        return false;
    if (++team->arrived == team->size) {
        team->arrived = 0;
        team->meetings++;
        pthread_cond_broadcast(&team->changed);
        return true;
    }
    pthread_mutex_unlock(&hub->lock);
    for (int i = 0; i < YIELDS && !is_over(hub, team, meeting, heed_abort); i++)
        sched_yield();
    pthread_mutex_lock(&hub->lock);
    while (!is_over(hub, team, meeting, heed_abort))
        pthread_cond_wait(&team->changed, &hub->lock);
    return team->meetings != meeting;
}

/* The list of all ranks' arrays, which does not change until `leave`; NULL after an abort. */
static void **meet(struct comm *c, void *mine, struct error *error)
{
    struct member *m = c->state;
    pthread_mutex_lock(&m->hub->lock);
    m->team->array[c->rank] = mine;
    const bool all = wait_for_all(m->hub, m->team, true);
    if (!all)
        error_set(error, m->hub->reason.status, "%s", m->hub->reason.message);
    pthread_mutex_unlock(&m->hub->lock);
    return all ? m->team->array : NULL;
}

/* Called after a meeting in which all ranks took part. Until the last rank is here, some rank may
 * still read the others' arrays. So this waits for all, even after an abort; all do arrive, because
 * a rank waits for nothing between the two calls. */
static void leave(struct comm *c)
{
    struct member *m = c->state;
    pthread_mutex_lock(&m->hub->lock);
    wait_for_all(m->hub, m->team, false);
    pthread_mutex_unlock(&m->hub->lock);
}

static void abort_all(struct comm *c, const struct error *reason)
{
    struct member *m = c->state;
    pthread_mutex_lock(&m->hub->lock);
    if (!m->hub->aborted && m->hub->size > 1) { /* else no other rank waits */
        m->hub->aborted = true;
        m->hub->reason = *reason;
        error_prefix(&m->hub->reason, "rank %d: ", c->rank);
    }
    for (struct team *team = m->hub->teams; team; team = team->next)
        pthread_cond_broadcast(&team->changed);
    pthread_mutex_unlock(&m->hub->lock);
}

/* The sums replace this rank's rows, which no other rank reads. */
static enum status reduce_scatter(struct comm *c, double *m, const struct comm_rows *rows,
                                  struct error *error)
{
    uint64_t first = rows->first[c->rank] * rows->columns;
    uint64_t end = rows->first[c->rank + 1] * rows->columns;
    void **array = meet(c, m, error);
    if (!array)
        return error->status;
#pragma omp parallel for schedule(static) if (end > first + SUMMED)
    for (uint64_t at = first; at < end; at += SUMMED)
        comm_add_up(m + at, array, c->size, at, least_of(SUMMED, end - at));
    leave(c);
    return STATUS_OK;
}

static enum status exchange(struct comm *c, struct error *error)
{
    void **array = meet(c, c->sent, error);
    if (!array)
        return error->status;
    for (int k = 0; k < c->size; k++) {
        const struct comm_parcel *from = (const struct comm_parcel *)array[k] + c->rank;
        if (k != c->rank)
            memory_copy(c->received[k].bytes, from->bytes, from->size);
    }
    leave(c);
    return STATUS_OK;
}

static enum status check(struct comm *c, struct error *error)
{
    struct member *m = c->state;
    pthread_mutex_lock(&m->hub->lock);
    if (m->hub->aborted)
        error_set(error, m->hub->reason.status, "%s", m->hub->reason.message);
    pthread_mutex_unlock(&m->hub->lock);
    return error->status;
}

static void free_member(struct member *m)
{
    if (m)
        comm_free_arrays(&m->comm);
    memory_free(m);
}

static void finalize_member(struct comm *c)
{
    struct member *m = c->state;
    struct hub *hub = m->hub;
    pthread_mutex_lock(&hub->lock);
    hub->users -= m->is_root;
    bool last = m->is_root && hub->users == 0;
    pthread_mutex_unlock(&hub->lock);
    free_member(m);
    if (last)
        free_hub(hub);
}

/* Rank 0 allocates it for all. */
static enum status allocate_shared(struct comm *c, size_t bytes, void **memory, struct error *error)
{
    struct team *team = ((struct member *)c->state)->team;
    if (c->rank == 0) {
        struct shared *shared = memory_zeros(1, sizeof *shared + bytes, error);
        if (shared) {
            shared->next = team->shared;
            team->shared = shared;
        }
    }
    TRY(comm_allreduce_error(c, error));
    *memory = team->shared->bytes;
    return comm_allreduce_error(c, error); /* before rank 0 allocates more */
}

static enum status split(struct comm *c, int color, struct comm **part, struct error *error);

static const struct comm_engine engine = {.exchange = exchange,
                                          .reduce_scatter = reduce_scatter,
                                          .check = check,
                                          .split = split,
                                          .allocate_shared = allocate_shared,
                                          .abort = abort_all,
                                          .finalize = finalize_member};

static struct member *new_member(struct hub *hub, int rank, int size, struct error *error)
{
    struct member *m = memory_zeros(1, sizeof *m, error);
    if (!m)
        return NULL;
    m->hub = hub;
    m->comm = (struct comm){.engine = &engine,
                            .rank = rank,
                            .size = size,
                            .local_rank = rank,
                            .local_size = size,
                            .shares_memory = true,
                            .state = m};
    if (comm_create_arrays(&m->comm, error) == STATUS_OK)
        return m;
    free_member(m);
    return NULL;
}

static enum status split(struct comm *c, int color, struct comm **part, struct error *error)
{
    struct hub *hub = ((struct member *)c->state)->hub;
    int first = -1, rank = 0, size = 0; /* of the group that gives this color: its lowest rank, this
                                         * rank's place in it, how many they are */
    void **array = meet(c, &color, error);
    if (!array)
        return error->status;
    for (int k = 0; k < c->size; k++) {
        if (*(const int *)array[k] != color)
            continue;
        first = first < 0 ? k : first;
        rank += k < c->rank;
        size++;
    }
    leave(c);
    /* The group's team, which its lowest rank makes and sends to the others. */
    struct member *m = new_member(hub, rank, size, error);
    struct team *team = m && first == c->rank ? new_team(hub, size, error) : NULL;
    if (error->status != STATUS_OK)
        abort_all(c, error);
    else if ((array = meet(c, team, error))) {
        m->team = array[first];
        leave(c);
        *part = &m->comm;
        return STATUS_OK;
    }
    free_member(m);
    return error->status;
}

enum status comm_threads(struct comm **comm, int size, struct error *error)
{
    struct hub *hub = memory_zeros(1, sizeof *hub, error);
    memset(comm, 0, (size_t)size * sizeof *comm);
    if (!hub)
        return error->status;
    pthread_mutex_init(&hub->lock, NULL);
    hub->size = size;
    struct team *team = new_team(hub, size, error);
    if (!team)
        goto failed;
    for (int k = 0; k < size; k++) {
        struct member *m = new_member(hub, k, size, error);
        if (!m)
            goto failed;
        m->team = team;
        m->is_root = true;
        hub->users++;
        comm[k] = &m->comm;
    }
    return STATUS_OK;
failed:
    if (hub->users == 0)
        free_hub(hub);
    for (int k = 0; k < size; k++) {
        comm_finalize(comm[k]);
        comm[k] = NULL;
    }
    return error->status;
}

struct comm *comm_self(struct error *error)
{
    struct comm *c;
    comm_threads(&c, 1, error);
    return c;
}

/* --- A function run on ranks that are threads. --- */

struct team_member {
    struct comm *comm; /* owned */
    comm_work *work;
    void *context;
    int threads; /* of OpenMP */
    pthread_t thread;
    struct error error;
};

static void *run_member(void *argument)
{
    struct team_member *m = argument;
    omp_set_num_threads(m->threads);
    if (m->work(m->comm, m->context, &m->error) != STATUS_OK)
        comm_abort(m->comm, &m->error);
    comm_finalize(m->comm);
    return NULL;
}

enum status comm_run_team(int size, comm_work *work, void *context, struct error *error)
{
    int threads = omp_get_max_threads() / size, started = 0;
    TRY(threads_can_end(error));
    struct team_member *member = memory_zeros((size_t)size, sizeof *member, error);
    struct comm **comm = memory_array((size_t)size, sizeof *comm, error);
    TRY_OR(done, error->status);
    TRY_OR(done, comm_threads(comm, size, error));
    for (int r = 0; r < size; r++)
        member[r] = (struct team_member){.comm = comm[r],
                                         .work = work,
                                         .context = context,
                                         .threads = threads > 1 ? threads : 1};
    while (started < size &&
           pthread_create(&member[started].thread, NULL, run_member, &member[started]) == 0)
        started++;
    if (started < size)
        error_set(error, STATUS_MEMORY, "no thread could be started for rank %d", started);
    for (int r = started; r < size; r++) { /* a rank without a thread ends the others */
        comm_abort(member[r].comm, error);
        comm_finalize(member[r].comm);
    }
    for (int r = 0; r < started; r++)
        pthread_join(member[r].thread, NULL);
    for (int r = 0; r < started; r++) { /* the first failure that has a message, else the first */
        const struct error *own = &member[r].error;
        const bool tells_more = error->message[0] == '\0' && own->message[0] != '\0';
        if (own->status != STATUS_OK && (error->status == STATUS_OK || tells_more))
            *error = *own;
    }
done:
    memory_free(comm, member);
    return error->status;
}
