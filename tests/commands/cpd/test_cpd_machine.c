/* A run whose GPU turns out not to answer, while the tensor was read: the host takes its place, or
 * the run ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "commands/cpd/cpd_job.h"

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

/* A run that has chosen the kind, which wakes, and what it shows. */
struct waking {
    struct cpd_inputs in;
    struct backend_wake wake;
    struct progress progress;
    char *shown;
    size_t length;
};

static void begin(struct waking *r, const struct backend_kind *kind, const char *backend)
{
    *r = (struct waking){.in.settings.common.backend = backend};
    r->in.choice = (struct machine_choice){.common = &r->in.settings.common, .kind = kind};
    progress_init(&r->progress, open_memstream(&r->shown, &r->length), PROGRESS_LINES);
    backend_wake_begin(&r->wake, kind, 0);
}

static enum status await(struct waking *r, struct error *error)
{
    cpd_machine_wait(&r->in, &r->wake, &r->progress, error);
    fflush(r->progress.stream);
    return error->status;
}

static void end(struct waking *r)
{
    backend_wake_end(&r->wake);
    fclose(r->progress.stream);
    free(r->shown);
}

/* That is shown once; later ranks of -r find the same. */
static void host_takes_the_place(void **state)
{
    (void)state;
    static struct waking r;
    size_t length = 0;
    begin(&r, &broken, "auto");
    for (int again = 0; again < 2; again++) {
        struct error error = {0};
        assert_int_equal(await(&r, &error), STATUS_OK);
        assert_ptr_equal(r.in.choice.kind, &backend_host);
        assert_non_null(strstr(r.shown, ": backend host (the GPU does not answer: why), "));
        assert_true(again == 0 || r.length == length);
        length = r.length;
    }
    end(&r);
}

static void run_on_cuda_ends(void **state)
{
    (void)state;
    static struct waking r;
    struct error error = {0};
    begin(&r, &broken, "cuda");
    assert_int_equal(await(&r, &error), STATUS_INPUT);
    assert_string_equal(error.message, "backend cuda: the GPU does not answer: why");
    end(&r);
}

static void gpu_that_answers_stays(void **state)
{
    (void)state;
    static struct waking r;
    struct error error = {0};
    begin(&r, &working, "auto");
    assert_int_equal(await(&r, &error), STATUS_OK);
    assert_ptr_equal(r.in.choice.kind, &working);
    assert_int_equal(r.length, 0);
    end(&r);
}

/* Several ranks wake their GPUs themselves. */
static void nothing_wakes(void **state)
{
    (void)state;
    static struct waking r;
    struct error error = {0};
    begin(&r, &working, "auto");
    backend_wake_end(&r.wake);
    r.wake = (struct backend_wake){.error.status = STATUS_OK};
    assert_int_equal(await(&r, &error), STATUS_OK);
    assert_ptr_equal(r.in.choice.kind, &working);
    assert_int_equal(r.length, 0);
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_takes_the_place),
        cmocka_unit_test(run_on_cuda_ends),
        cmocka_unit_test(gpu_that_answers_stays),
        cmocka_unit_test(nothing_wakes),
    };
    return cmocka_run_group_tests_name("cpd_machine", tests, NULL, NULL);
}
