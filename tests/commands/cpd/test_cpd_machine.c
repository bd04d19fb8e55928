/* A run whose GPU turns out not to answer, while the tensor was read: the host takes its place, or
 * the run ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "commands/cpd/cpd_machine.h"

static enum status refuse(int device, const atomic_bool *unwanted, struct error *error)
{
    (void)device;
    (void)unwanted;
    return error_set(error, STATUS_INPUT, "the GPU does not answer: why");
}

static enum status wake(int device, const atomic_bool *unwanted, struct error *error)
{
    (void)device;
    (void)unwanted;
    return error->status;
}

static const struct backend_kind broken = {.name = "cuda", .wake = refuse};
static const struct backend_kind working = {.name = "cuda", .wake = wake};

/* A job that has chosen the kind, which wakes. */
static void begin(struct cpd_job *job, const struct backend_kind *kind, const char *backend)
{
    *job = (struct cpd_job){.kind = kind, .machine = "as it was"};
    job->settings.common.backend = backend;
    job->choice = (struct machine_choice){.common = &job->settings.common, .kind = kind};
    progress_init(&job->progress, NULL, PROGRESS_AUTO);
    backend_wake_begin(&job->wake, kind, 0);
}

/* Later runs of one job, of other ranks, find the same. */
static void host_takes_the_place(void **state)
{
    (void)state;
    static const char expected[] = "backend host (the GPU does not answer: why), ";
    static struct cpd_job job;
    begin(&job, &broken, "auto");
    for (int again = 0; again < 2; again++) {
        struct error error = {0};
        assert_int_equal(cpd_machine_wait(&job, &error), STATUS_OK);
        assert_ptr_equal(job.kind, &backend_host);
        assert_memory_equal(job.machine, expected, strlen(expected));
    }
    backend_wake_end(&job.wake);
}

static void run_on_cuda_ends(void **state)
{
    (void)state;
    static struct cpd_job job;
    struct error error = {0};
    begin(&job, &broken, "cuda");
    assert_int_equal(cpd_machine_wait(&job, &error), STATUS_INPUT);
    assert_string_equal(error.message, "backend cuda: the GPU does not answer: why");
    backend_wake_end(&job.wake);
}

static void gpu_that_answers_stays(void **state)
{
    (void)state;
    static struct cpd_job job;
    struct error error = {0};
    begin(&job, &working, "auto");
    assert_int_equal(cpd_machine_wait(&job, &error), STATUS_OK);
    assert_ptr_equal(job.kind, &working);
    assert_string_equal(job.machine, "as it was");
    backend_wake_end(&job.wake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_takes_the_place),
        cmocka_unit_test(run_on_cuda_ends),
        cmocka_unit_test(gpu_that_answers_stays),
    };
    return cmocka_run_group_tests_name("cpd_machine", tests, NULL, NULL);
}
