/* Ranks: every operation with every number of ranks, on the engines of this process; splits; and
 * that a rank which fails ends the others. */
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
#include "support/naive.h"

#define MOST 7

static const int sizes[] = {1, 2, 3, 4, 7};

/* What a rank does. Asserting is the main thread's: a rank says only whether all was right. */
typedef bool work(struct comm *c);

struct rank {
    struct comm *comm;
    work *work;
    bool right;
};

static void *run_rank(void *argument)
{
    struct rank *r = argument;
    r->right = r->work(r->comm);
    comm_close(r->comm);
    return NULL;
}

static void run_threads(int size, work *what)
{
    struct error error = {0};
    struct comm *comm[MOST];
    struct rank rank[MOST];
    pthread_t thread[MOST];
    assert_int_equal(comm_threads(comm, size, &error), STATUS_OK);
    for (int k = 0; k < size; k++) {
        assert_true(comm[k]->rank == k && comm[k]->size == size);
        rank[k] = (struct rank){comm[k], what, false};
        assert_int_equal(pthread_create(&thread[k], NULL, run_rank, &rank[k]), 0);
    }
    for (int k = 0; k < size; k++)
        assert_int_equal(pthread_join(thread[k], NULL), 0);
    for (int k = 0; k < size; k++)
        assert_true(rank[k].right);
}

/* On one rank alone, and on threads. */
static void run(work *what)
{
    struct error error = {0};
    struct comm *self = comm_self(&error);
    assert_true(self && self->rank == 0 && self->size == 1);
    assert_true(what(self));
    comm_close(self);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        run_threads(sizes[s], what);
}

/* A number of (rank, i), with many digits. */
static double number(int rank, uint64_t i)
{
    uint64_t seed = (uint64_t)rank * 1000003 + i;
    return (double)(naive_random(&seed) >> 11) / 0x1p53 - 0.5;
}

static double sum_of(int size, uint64_t i)
{
    double sum = number(0, i);
    for (int k = 1; k < size; k++)
        sum += number(k, i);
    return sum;
}

static bool sum(struct comm *c)
{
    static const uint64_t counts[] = {0, 1, 5, 4096, 10000};
    for (size_t n = 0; n < sizeof counts / sizeof *counts; n++) {
        struct error error = {0};
        double *x = malloc((counts[n] + 1) * sizeof *x);
        bool right = x != NULL;
        for (uint64_t i = 0; right && i < counts[n]; i++)
            x[i] = number(c->rank, i);
        right = right && comm_sum(c, x, counts[n], &error) == STATUS_OK;
        for (uint64_t i = 0; right && i < counts[n]; i++)
            right = x[i] == sum_of(c->size, i); /* to the bit */
        free(x);
        if (!right)
            return false;
    }
    return true;
}

static bool agree(struct comm *c)
{
    for (int loud = 0; loud < c->size; loud++) {
        struct error error = {0};
        int value = c->rank == loud ? 5 : -c->rank;
        if (comm_agree(c, &value, &error) != STATUS_OK || value != 5)
            return false;
    }
    return true;
}

static bool broadcast(struct comm *c)
{
    for (int root = 0; root < c->size; root++) {
        struct error error = {0};
        char text[32];
        memset(text, c->rank, sizeof text);
        if (c->rank == root)
            strcpy(text, "from the root");
        if (comm_broadcast(c, root, text, sizeof text, &error) != STATUS_OK ||
            strcmp(text, "from the root") != 0)
            return false;
    }
    return true;
}

/* Rows in ranges of different lengths, some of them empty. */
static void make_rows(const struct comm *c, uint64_t *first, int kind)
{
    first[0] = 0;
    for (int k = 0; k < c->size; k++)
        first[k + 1] = first[k] + (kind == 0   ? 10
                                   : kind == 1 ? (uint64_t)(k % 3)
                                   : k == 0    ? 999
                                               : 0);
}

static bool scatter_and_gather(struct comm *c)
{
    for (int kind = 0; kind < 3; kind++) {
        struct error error = {0};
        uint64_t first[MOST + 1], columns = kind == 2 ? 7 : 3;
        make_rows(c, first, kind);
        const struct comm_rows rows = {first, columns};
        uint64_t count = first[c->size] * columns;
        double *m = malloc((count + 1) * sizeof *m);
        bool right = m != NULL;
        for (uint64_t i = 0; right && i < count; i++)
            m[i] = number(c->rank, i);
        right = right && comm_reduce_scatter(c, m, &rows, &error) == STATUS_OK;
        for (uint64_t i = first[c->rank] * columns; right && i < first[c->rank + 1] * columns; i++)
            right = m[i] == sum_of(c->size, i);
        right = right && comm_all_gather(c, m, &rows, &error) == STATUS_OK;
        for (uint64_t i = 0; right && i < count; i++)
            right = m[i] == sum_of(c->size, i);
        free(m);
        if (!right)
            return false;
    }
    return true;
}

/* Rank a sends (a + 2 b) % 5 bytes to rank b. */
static uint64_t parcel_bytes(int from, int to)
{
    return (uint64_t)(from + 2 * to) % 5;
}

static bool exchange(struct comm *c)
{
    struct error error = {0};
    unsigned char send[5 * MOST] = {0}, receive[5 * MOST] = {0};
    uint64_t send_first[MOST + 1] = {0}, receive_first[MOST + 1] = {0};
    for (int k = 0; k < c->size; k++) {
        send_first[k + 1] = send_first[k] + parcel_bytes(c->rank, k);
        receive_first[k + 1] = receive_first[k] + parcel_bytes(k, c->rank);
        memset(send + send_first[k], 16 * c->rank + k, parcel_bytes(c->rank, k));
    }
    if (comm_exchange(c, send, send_first, receive, receive_first, &error) != STATUS_OK)
        return false;
    bool right = true;
    for (int k = 0; k < c->size; k++)
        for (uint64_t i = receive_first[k]; i < receive_first[k + 1]; i++)
            right = right && receive[i] == 16 * k + c->rank;
    return right && receive[receive_first[c->size]] == 0 && comm_check(c, &error) == STATUS_OK;
}

/* The rows and the columns of a grid of ranks; the halves work at their own pace. */
static bool split(struct comm *c)
{
    for (int modulus = 1; modulus <= c->size; modulus++) {
        struct error error = {0};
        struct comm *part;
        int color = c->rank % modulus, members = (c->size - color + modulus - 1) / modulus;
        if (comm_split(c, color, &part, &error) != STATUS_OK)
            return false;
        bool right = part->size == members && part->rank == c->rank / modulus;
        for (int round = 0; right && round <= color; round++) {
            double x = c->rank;
            right = comm_sum(part, &x, 1, &error) == STATUS_OK;
            double expected = 0;
            for (int k = color; k < c->size; k += modulus)
                expected += k;
            right = right && x == expected;
        }
        comm_close(part);
        if (!right || !sum(c))
            return false;
    }
    return true;
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
        enum status status = comm_sum(i == 0 ? part : c, &x, 1, &error);
        bool waits = i == 1 || c->rank % 2 == (c->size - 1) % 2; /* for the last rank */
        right = right && (c->size == 1 || !waits || status == STATUS_MEMORY);
        if (status != STATUS_OK)
            right = right && strstr(error.message, ": no memory left") != NULL;
    }
    comm_close(part);
    return right;
}

static void test_sum(void **state)
{
    (void)state;
    run(sum);
}

static void test_agree(void **state)
{
    (void)state;
    run(agree);
}

static void test_broadcast(void **state)
{
    (void)state;
    run(broadcast);
}

static void test_scatter_and_gather(void **state)
{
    (void)state;
    run(scatter_and_gather);
}

static void test_exchange(void **state)
{
    (void)state;
    run(exchange);
}

static void test_split(void **state)
{
    (void)state;
    run(split);
}

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
            comm_close(comm[i]);
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
    double x[3] = {1, 2, 3};
    const uint64_t first[] = {0, 1, 2, 3, 3};
    const struct comm_rows rows = {first, 1};
    if (comm_split(c, c->rank / 2, &part, &error) == STATUS_OK &&
        comm_sum(part, x, 3, &error) == STATUS_OK && comm_sum(c, x, 3, &error) == STATUS_OK)
        comm_reduce_scatter(c, x, &rows, &error);
    failed += error.status != STATUS_OK;
    comm_close(part);
    return error.status == STATUS_OK || error.status == STATUS_MEMORY ||
           error.status == STATUS_INTERNAL;
}

static void test_failing_allocations_of_ranks(void **state)
{
    (void)state;
    int failures = 0;
    for (long k = 9; k < 60; k++) { /* behind those of comm_threads */
        failed = 0;
        memory_hook_set(k);
        run_threads(4, may_fail);
        failures += failed > 0;
        assert_true(memory_hook_fired() == (failed > 0) || k < 12);
        memory_hook_set(-1);
    }
    assert_true(failures > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sum),
        cmocka_unit_test(test_agree),
        cmocka_unit_test(test_broadcast),
        cmocka_unit_test(test_scatter_and_gather),
        cmocka_unit_test(test_exchange),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_one_fails),
        cmocka_unit_test(test_failing_allocations),
        cmocka_unit_test(test_failing_allocations_of_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
