/* Ranks: every operation with every number of ranks, on the engines of this process; and that a
 * rank which fails ends the others. comm_mpi.bats tests ranks that are processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "comm/comm.h"
#include "support/comm_work.h"

static const int sizes[] = {1, 2, 3, 4, 7};

struct rank {
    struct comm *comm;
    comm_check_work *work;
    bool right;
};

static void *run_rank(void *argument)
{
    struct rank *r = argument;
    r->right = r->work(r->comm);
    comm_finalize(r->comm);
    return NULL;
}

static void run_threads(int size, comm_check_work *what)
{
    struct error error = {0};
    struct comm *comm[MOST];
    struct rank rank[MOST];
    pthread_t thread[MOST];
    assert_int_equal(comm_threads(comm, size, &error), STATUS_OK);
    for (int k = 0; k < size; k++) {
        assert_true(comm[k]->rank == k && comm[k]->size == size && comm[k]->shares_memory);
        rank[k] = (struct rank){comm[k], what, false};
        assert_int_equal(pthread_create(&thread[k], NULL, run_rank, &rank[k]), 0);
    }
    for (int k = 0; k < size; k++)
        assert_int_equal(pthread_join(thread[k], NULL), 0);
    for (int k = 0; k < size; k++)
        assert_true(rank[k].right);
}

/* On one rank alone, and on threads. */
static void run(comm_check_work *what)
{
    struct error error = {0};
    struct comm *self = comm_self(&error);
    assert_true(self && self->rank == 0 && self->size == 1);
    assert_true(what(self));
    comm_finalize(self);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        run_threads(sizes[s], what);
}

/* The last rank fails while others wait for it, in a split communicator as well as in the whole. */
static bool one_fails(struct comm *c)
{
    struct error error = {0};
    struct comm *part;
    if (comm_split(c, c->rank % 2, &part, &error) != STATUS_OK)
        return false;
    bool right = true;
    if (c->rank == c->size - 1) {
        struct error reason = {0};
        error_set(&reason, STATUS_MEMORY, "no memory left");
        comm_abort(c, &reason);
        right = comm_check(c, &error) == STATUS_MEMORY || c->size == 1;
    }
    for (int i = 0; i < 2; i++) {
        double x = 1;
        error = (struct error){0};
        enum status status = comm_allreduce_sum(i == 0 ? part : c, &x, 1, &error);
        bool waits = i == 1 || c->rank % 2 == (c->size - 1) % 2; /* for the last rank */
        right = right && (c->size == 1 || !waits || status == STATUS_MEMORY);
        if (status != STATUS_OK)
            right = right && strstr(error.message, ": no memory left") != NULL;
    }
    comm_finalize(part);
    return right;
}

#define TEST_WORK(name)                                                                            \
    static void test_##name(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        run(name);                                                                                 \
    }
COMM_WORKS(TEST_WORK)

static void test_one_fails(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++)
        run(one_fails);
}

/* Every array that opening takes may be refused. */
static void test_failing_allocations(void **state)
{
    (void)state;
    for (long k = 0, fired = 1; fired; k++) {
        struct error error = {0};
        struct comm *comm[4];
        memory_hook_set(k);
        enum status status = comm_threads(comm, 4, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        for (int i = 0; i < 4; i++) {
            assert_true(fired ? !comm[i] : comm[i] != NULL);
            comm_finalize(comm[i]);
        }
    }
}

/* Work in which one allocation, of whichever rank, is refused: no rank hangs, and where one fails
 * all do or have been done before. */
static atomic_int failed;

static bool may_fail(struct comm *c)
{
    struct error error = {0};
    struct comm *part = NULL;
    double x[3] = {1, 2, 3}, all[4];
    const uint64_t first[] = {0, 1, 2, 3, 3};
    const struct comm_rows rows = {first, 1};
    if (comm_split(c, c->rank / 2, &part, &error) == STATUS_OK &&
        comm_allreduce_sum(part, x, 3, &error) == STATUS_OK &&
        comm_allreduce_sum(c, x, 3, &error) == STATUS_OK &&
        comm_allgather(c, x, sizeof *x, all, &error) == STATUS_OK)
        comm_reduce_scatter(c, x, &rows, &error);
    failed += error.status != STATUS_OK;
    comm_finalize(part);
    return error.status == STATUS_OK || error.status == STATUS_MEMORY ||
           error.status == STATUS_INTERNAL;
}

static void test_failing_allocations_of_ranks(void **state)
{
    (void)state;
    int failures = 0;
    for (long k = 23; k < 84; k++) { /* after those of comm_threads */
        failed = 0;
        memory_hook_set(k);
        run_threads(4, may_fail);
        failures += failed > 0;
        assert_true(memory_hook_fired() == (failed > 0));
        memory_hook_set(-1);
    }
    assert_true(failures > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define ENTRY(name) cmocka_unit_test(test_##name),
        COMM_WORKS(ENTRY) cmocka_unit_test(test_one_fails),
        cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_failing_allocations_of_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
