/* Signals that end a run: each in its own process, which must end as the test expects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "commands/cpd/cpd_signals.h"

static void wait_for(double seconds)
{
    struct timespec rest = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&rest, &rest) != 0)
        ;
}

/* How a process ends that runs `work`: its wait status. */
static int end_of(void (*work)(void))
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        for (int number = 1; number < 32; number++)
            signal(number, SIG_DFL);
        work();
        _exit(7);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void one_signal(void)
{
    cpd_signals_catch(100);
    raise(SIGHUP);
    if (cpd_interrupted == SIGHUP)
        _exit(8);
}

static void two_signals(void)
{
    cpd_signals_catch(100);
    raise(SIGINT);
    raise(SIGTERM);
    wait_for(20);
}

static void never_done(void)
{
    cpd_signals_catch(1);
    raise(SIGTERM);
    wait_for(20);
}

static void done_in_time(void)
{
    cpd_signals_catch(1);
    raise(SIGTERM);
    cpd_signals_done();
    wait_for(1.5);
    _exit(9);
}

static void ignored_before(void)
{
    signal(SIGHUP, SIG_IGN);
    cpd_signals_catch(100);
    raise(SIGHUP);
    if (cpd_interrupted == 0)
        _exit(10);
}

static void asks(void)
{
    cpd_signals_count_asks();
    raise(SIGUSR1);
    raise(SIGUSR1);
    if (cpd_asked == 2 && cpd_interrupted == 0)
        _exit(11);
}

static void exits_with(void (*work)(void), int code)
{
    int status = end_of(work);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), code);
}

static void dies_by(void (*work)(void), int number)
{
    int status = end_of(work);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), number);
}

static void test_first_signal(void **state)
{
    (void)state;
    exits_with(one_signal, 8);
    exits_with(ignored_before, 10);
}

static void test_second_signal(void **state)
{
    (void)state;
    dies_by(two_signals, SIGTERM);
}

static void test_patience(void **state)
{
    (void)state;
    dies_by(never_done, SIGTERM);
    exits_with(done_in_time, 9);
}

static void test_asking(void **state)
{
    (void)state;
    exits_with(asks, 11);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_signal),
        cmocka_unit_test(test_second_signal),
        cmocka_unit_test(test_patience),
        cmocka_unit_test(test_asking),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
