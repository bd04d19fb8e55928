/* Ranks that are threads, for tests: each does the same work on its end of a communicator. Include
 * it after cmocka.h. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include <omp.h>

#include "comm/comm.h"
#include "support/sanitized.h"

#define MOST_RANKS 7

#if SANITIZED /* as many as make a grid of two modes, and an odd number */
static const int rank_counts[] = {1, 3, 4};
#else
static const int rank_counts[] = {1, 2, 3, 4, 7};
#endif
#define RANK_COUNTS (sizeof rank_counts / sizeof *rank_counts)

/* Only the main thread asserts: work only stores its results. */
typedef void rank_work(struct comm *c, void *context, struct error *error);

struct rank_thread {
    struct comm *comm;
    rank_work *work;
    void *context;
    int threads;
    struct error *error;
};

static inline void *run_rank_thread(void *argument)
{
    struct rank_thread *r = argument;
    omp_set_num_threads(r->threads);
    r->work(r->comm, r->context, r->error);
    comm_finalize(r->comm);
    return NULL;
}

/* Runs work(comm, context of the rank, &error[rank]) on `ranks` threads; the context of rank k is
 * `size` bytes after that of rank k - 1. False if there is no memory for the communicator. */
static inline bool run_rank_threads(int ranks, rank_work *work, void *context, size_t size,
                                    struct error *error)
{
    struct error failure = {0};
    struct comm *comm[MOST_RANKS];
    struct rank_thread rank[MOST_RANKS];
    pthread_t thread[MOST_RANKS];
    omp_get_max_threads(); /* libomp 14: the first thread that calls it must not end */
    memset(error, 0, (size_t)ranks * sizeof *error);
    if (comm_threads(comm, ranks, &failure) != STATUS_OK)
        return false;
    for (int k = 0; k < ranks; k++) {
        rank[k] = (struct rank_thread){comm[k], work, (char *)context + (size_t)k * size, 1 + k % 2,
                                       &error[k]};
        assert_int_equal(pthread_create(&thread[k], NULL, run_rank_thread, &rank[k]), 0);
    }
    for (int k = 0; k < ranks; k++)
        assert_int_equal(pthread_join(thread[k], NULL), 0);
    return true;
}

static inline void assert_all_well(const struct error *error, int ranks)
{
    for (int k = 0; k < ranks; k++)
        if (error[k].status != STATUS_OK)
            fail_msg("rank %d of %d: %s", k, ranks, error[k].message);
}
