/* Work on ranks that are threads: every rank works once, and the failure of one is that of all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"
#include "comm/comm.h"
#include "support/rank_threads.h"

/* The results of the ranks; each writes into its own places. */
struct marks {
    int calls[MOST_RANKS], size[MOST_RANKS], threads[MOST_RANKS], ranks_of_sum[MOST_RANKS];
    pthread_t thread[MOST_RANKS];
    int failing[MOST_RANKS]; /* the status with which a rank fails, or 0 */
};

static enum status mark(struct comm *c, void *context, struct error *error)
{
    struct marks *m = context;
    double one = 1;
    m->calls[c->rank]++;
    m->size[c->rank] = c->size;
    m->threads[c->rank] = omp_get_max_threads();
    m->thread[c->rank] = pthread_self();
    if (comm_allreduce_sum(c, &one, 1, error) == STATUS_OK)
        m->ranks_of_sum[c->rank] = (int)one;
    return error->status;
}

/* Each rank has a thread and an end of one communicator. */
static void test_every_rank_works_once(void **state)
{
    (void)state;
    for (size_t s = 0; s < RANK_COUNTS; s++) {
        struct error error = {0};
        struct marks m = {0};
        assert_int_equal(comm_run_team(rank_counts[s], mark, &m, &error), STATUS_OK);
        assert_int_equal(error.status, STATUS_OK);
        for (int r = 0; r < MOST_RANKS; r++) {
            assert_int_equal(m.calls[r], r < rank_counts[s]);
            assert_int_equal(m.size[r], r < rank_counts[s] ? rank_counts[s] : 0);
            assert_int_equal(m.ranks_of_sum[r], r < rank_counts[s] ? rank_counts[s] : 0);
            for (int other = 0; other < r && r < rank_counts[s]; other++)
                assert_false(pthread_equal(m.thread[r], m.thread[other]));
        }
    }
}

/* The caller's threads are shared out evenly, and the caller keeps its number. */
static void test_threads_are_shared(void **state)
{
    (void)state;
    static const struct {
        int have, ranks, each;
    } cases[] = {{1, 1, 1}, {1, 3, 1}, {6, 1, 6}, {6, 2, 3}, {6, 3, 2}, {7, 3, 2}, {6, 7, 1}};
    int before = omp_get_max_threads();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct error error = {0};
        struct marks m = {0};
        omp_set_num_threads(cases[i].have);
        assert_int_equal(comm_run_team(cases[i].ranks, mark, &m, &error), STATUS_OK);
        for (int r = 0; r < cases[i].ranks; r++)
            assert_int_equal(m.threads[r], cases[i].each);
        assert_int_equal(omp_get_max_threads(), cases[i].have);
    }
    omp_set_num_threads(before);
}

/* A rank that is to fail does so; the others wait for it. */
static enum status fail_or_wait(struct comm *c, void *context, struct error *error)
{
    struct marks *m = context;
    double x = 1;
    m->calls[c->rank]++;
    if (m->failing[c->rank])
        return error_set(error, (enum status)m->failing[c->rank], "failure of %d", c->rank);
    return comm_allreduce_sum(c, &x, 1, error);
}

/* Whichever rank fails: all end, and the caller learns the reason. */
static void test_one_rank_fails(void **state)
{
    (void)state;
    for (size_t s = 0; s < RANK_COUNTS; s++)
        for (int bad = 0; bad < rank_counts[s]; bad++) {
            char expected[64];
            struct error error = {0};
            struct marks m = {0};
            m.failing[bad] = STATUS_OUTPUT;
            assert_int_equal(comm_run_team(rank_counts[s], fail_or_wait, &m, &error),
                             STATUS_OUTPUT);
            assert_int_equal(error.status, STATUS_OUTPUT);
            /* rank 0 knows of another rank's failure with that rank's number */
            snprintf(expected, sizeof expected, bad > 0 ? "rank %d: failure of %d" : "failure of 0",
                     bad, bad);
            assert_string_equal(error.message, expected);
            for (int r = 0; r < rank_counts[s]; r++)
                assert_int_equal(m.calls[r], 1);
        }
}

/* A phase ends with the failure of one rank: that rank has the message, and the caller gets it. */
static enum status end_phase(struct comm *c, void *context, struct error *error)
{
    const struct marks *m = context;
    if (m->failing[c->rank])
        error_set(error, (enum status)m->failing[c->rank], "failure of %d", c->rank);
    return comm_end_phase(c, error);
}

static void test_a_failure_in_a_phase(void **state)
{
    (void)state;
    for (int bad = 0; bad < 4; bad++) {
        char expected[64];
        struct error error = {0};
        struct marks m = {0};
        m.failing[bad] = STATUS_INPUT;
        assert_int_equal(comm_run_team(4, end_phase, &m, &error), STATUS_INPUT);
        snprintf(expected, sizeof expected, "rank %d: failure of %d", bad, bad);
        assert_string_equal(error.message, expected);
    }
}

/* Of several failures the caller gets that of the lowest rank. */
static void test_all_ranks_fail(void **state)
{
    (void)state;
    struct error error = {0};
    struct marks m = {.failing = {STATUS_INPUT, STATUS_MEMORY, STATUS_OUTPUT}};
    assert_int_equal(comm_run_team(3, fail_or_wait, &m, &error), STATUS_INPUT);
    assert_string_equal(error.message, "failure of 0");
}

/* A team that finds no memory does not begin, or all of it ends. */
static void test_failing_allocations(void **state)
{
    (void)state;
    int failures = 0;
    for (long i = 0, fired = 1; fired; i++) {
        struct error error = {0};
        struct marks m = {0};
        memory_hook_set(i);
        enum status status = comm_run_team(4, mark, &m, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        assert_int_equal(error.message[0] != '\0', fired);
        failures += (int)fired;
    }
    assert_true(failures > 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_rank_works_once), cmocka_unit_test(test_threads_are_shared),
        cmocka_unit_test(test_one_rank_fails),        cmocka_unit_test(test_all_ranks_fail),
        cmocka_unit_test(test_a_failure_in_a_phase),  cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests_name("comm_team", tests, NULL, NULL);
}
