#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <pthread.h>

#include "backend/host/host_dense_inverse.h"
#include "lapack/lapack_library.h"
#include "base/memory.h"
#include "base/machine.h"

#define THREADS 4
#define RANK    150
#define ROUNDS  20

static uint64_t status_number(const char *key)
{
    return system_number("/proc/self/status", key);
}

/* In a child process, so that the library is not yet loaded: no memory for it is an error. */
static void test_no_room(void **state)
{
    (void)state;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct error error = {0};
        struct rlimit limit = {status_number("VmSize:") * 1024 + ((rlim_t)200 << 20),
                               RLIM_INFINITY};
        alarm(20);
        bool is_refused = setrlimit(RLIMIT_AS, &limit) == 0 && lapack_library(&error) == NULL &&
                          error.status == STATUS_MEMORY && strstr(error.message, "OpenBLAS");
        struct error again = {0};
        bool stays = lapack_library(&again) == NULL && again.status == STATUS_MEMORY;
        _exit(is_refused && stays ? 0 : 1);
    }
    int status;
    assert_true(waitpid(child, &status, 0) == child && WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* Loading starts no thread. */
static void test_one_thread(void **state)
{
    (void)state;
    struct error error = {0};
    uint64_t threads = status_number("Threads:");
    setenv("OPENBLAS_NUM_THREADS", "7", 1);
    assert_non_null(lapack_library(&error));
    assert_true(status_number("Threads:") == threads);
    assert_ptr_equal(lapack_library(&error), lapack_library(&error));
}

static pthread_barrier_t ready;

static void *invert(void *failures)
{
    struct error error = {0};
    double *v = memory_array((size_t)RANK * RANK, sizeof *v, &error);
    pthread_barrier_wait(&ready); /* all threads are there */
    pthread_barrier_wait(&ready); /* the limit is set      */
    for (int round = 0; round < ROUNDS && v; round++) {
        bool is_singular = round % 2;
        for (int i = 0; i < RANK; i++)
            for (int j = 0; j < RANK; j++)
                v[i * RANK + j] = is_singular ? 1.0 : i == j ? 2.0 : 0.0;
        struct host_dense_inverse p;
        if (host_dense_inverse_create(&p, v, RANK, PRECISION_DOUBLE, &error) == STATUS_OK)
            *(int *)failures += p.rank_of_v != (is_singular ? 1 : RANK);
        host_dense_inverse_free(&p);
    }
    *(int *)failures += error.status != STATUS_OK;
    memory_free(v);
    return NULL;
}

/* Several threads solve where there is no memory for another buffer of OpenBLAS. */
static void solve_in_little_memory(void)
{
    struct error error = {0};
    pthread_t thread[THREADS];
    int failures[THREADS] = {0}, all = 0;
    alarm(20); /* an end, where OpenBLAS waits for memory */
    if (!lapack_library(&error) || pthread_barrier_init(&ready, NULL, THREADS + 1) != 0)
        _exit(2);
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, invert, &failures[i]) != 0)
            _exit(3);
    pthread_barrier_wait(&ready);
    struct rlimit limit = {status_number("VmSize:") * 1024 + ((rlim_t)100 << 20), RLIM_INFINITY};
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        _exit(4);
    pthread_barrier_wait(&ready);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        all += failures[i];
    }
    _exit(all ? 5 : 0);
}

static void test_one_buffer(void **state)
{
    (void)state;
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        solve_in_little_memory();
    int status;
    assert_true(waitpid(child, &status, 0) == child && WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_room),
        cmocka_unit_test(test_one_buffer),
        cmocka_unit_test(test_one_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
