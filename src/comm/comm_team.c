#include "comm/comm_team.h"

#include <omp.h>
#include <pthread.h>
#include <stdbool.h>

#include "base/memory.h"
#include "base/threads.h"

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

/* *error = the first failure that has a message, else the first one. */
static void take_failure(struct error *error, const struct error *member)
{
    bool tells_more = error->message[0] == '\0' && member->message[0] != '\0';
    if (member->status != STATUS_OK && (error->status == STATUS_OK || tells_more))
        *error = *member;
}

/* A rank without a thread ends the others. */
static void run_members(struct team_member *member, int size, struct error *error)
{
    int started = 0;
    while (started < size &&
           pthread_create(&member[started].thread, NULL, run_member, &member[started]) == 0)
        started++;
    if (started < size)
        error_set(error, STATUS_MEMORY, "no thread could be started for rank %d", started);
    for (int r = started; r < size; r++) {
        comm_abort(member[r].comm, error);
        comm_finalize(member[r].comm);
    }
    for (int r = 0; r < started; r++)
        pthread_join(member[r].thread, NULL);
    for (int r = 0; r < started; r++)
        take_failure(error, &member[r].error);
}

enum status comm_run_team(int size, comm_work *work, void *context, struct error *error)
{
    int threads = omp_get_max_threads() / size;
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
    run_members(member, size, error);
done:
    memory_free(comm);
    memory_free(member);
    return error->status;
}
