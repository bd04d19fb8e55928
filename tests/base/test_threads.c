#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <omp.h>

#include "base/memory.h"
#include "base/machine.h"
#include "base/threads.h"

/* The status of threads_start for `threads` in a child process that may map `more` bytes more. */
static int start_with(int threads, uint64_t more, const char *says)
{
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct error error = {0};
        uint64_t mapped = system_number("/proc/self/status", "VmSize:") * 1024;
        struct rlimit limit = {mapped + more, RLIM_INFINITY};
        omp_set_num_threads(threads);
        enum status status = setrlimit(RLIMIT_AS, &limit) == 0 ? threads_start(&error) : 99;
        _exit(strstr(error.message, says) ? (int)status : 98);
    }
    int status;
    assert_true(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Before this process has threads, which a child would not have. */
static void test_refused(void **state)
{
    (void)state;
    assert_int_equal(start_with(300, UINT64_C(200) << 20, "300 threads cannot be started"),
                     STATUS_MEMORY);
    assert_int_equal(start_with(1, UINT64_C(200) << 20, ""), STATUS_OK);
}

static void test_no_room_for_the_list(void **state)
{
    (void)state;
    struct error error = {0};
    memory_hook_set(0);
    assert_int_equal(threads_start(&error), STATUS_MEMORY);
    memory_hook_set(-1);
}

static void test_started(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 8; threads++) {
        struct error error = {0};
        int met = 0;
        omp_set_num_threads(threads);
        assert_int_equal(threads_start(&error), STATUS_OK);
#pragma omp parallel reduction(+ : met)
        met++;
        assert_int_equal(met, threads);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_no_room_for_the_list),
        cmocka_unit_test(test_started),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
