#include "base/threads.h"

#include <malloc.h>
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/memory.h"

/* Turns of libgomp's waiting loop, of about 20 ns to 50 ns each (libgomp's manual,
 * "GOMP_SPINCOUNT"): 300000 unless it is told otherwise. With 1000, threads sleep while one of them
 * solves for R = 40, and iterations of 0.4 ms take longer. */
#define TURNS "3000"

/* libgomp reads its environment before main, but after constructors of this priority: the Makefile
 * links libgomp into the program. */
__attribute__((constructor(101))) static void wait_briefly(void)
{
    if (!getenv("OMP_WAIT_POLICY"))
        setenv("GOMP_SPINCOUNT", TURNS, 0);
}

static void *wait_at(void *gate)
{
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/* Has as many threads at a time as OpenMP will have beside this one. */
static enum status try_threads(pthread_t *thread, int count, struct error *error)
{
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    int started = 0, code = 0;
    pthread_mutex_lock(&gate);
    while (started < count && (code = pthread_create(&thread[started], NULL, wait_at, &gate)) == 0)
        started++;
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    if (code)
        error_set(error, STATUS_MEMORY,
                  "%d threads cannot be started (%s): fewer (-t), or higher limits (ulimit -v, -u) "
                  "are needed",
                  count + 1, strerror(code));
    return error->status;
}

/* malloc reserves 64 MiB of addresses for each thread, which count where they are limited. */
static void save_addresses(void)
{
#ifdef __GLIBC__
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        mallopt(M_ARENA_MAX, 1);
#endif
}

enum status threads_start(struct error *error)
{
    int others = omp_get_max_threads() - 1;
    save_addresses();
    pthread_t *thread = memory_array((size_t)others, sizeof *thread, error);
    if (thread && try_threads(thread, others, error) == STATUS_OK) {
#pragma omp parallel
        (void)omp_get_thread_num(); /* OpenMP's threads stay */
    }
    memory_free(thread);
    return error->status;
}
