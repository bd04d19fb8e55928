/* A GPU that refuses a stream or an event, fails a launch, or is lost during a run: each gives one
 * sentence, everything is freed, and a later run works as the first one did. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/device_queue.h"
#include "backend/cuda/runtime/device_rates.h"
#include "base/memory.h"
#include "support/backends.h"
#include "support/gpu_arrays.h"

#define RUNS  60                   /* of each kind of failure, at most about                  */
#define SLACK (UINT64_C(32) << 20) /* bytes that the driver may keep once it has them   */

static struct coo x;
static struct ktensor start;

static const struct fault {
    cudaError_t code;
    bool lasting;
    const char *says;
} faults[] = {
    {cudaErrorLaunchOutOfResources, false, "the GPU answered cudaErrorLaunchOutOfResources"},
    {cudaErrorLaunchFailure, true, "GPU 0 is lost"},
    {cudaErrorECCUncorrectable, true, "GPU 0 is lost"},
    {cudaErrorDevicesUnavailable, true, "GPU 0 is lost"},
};

/* Two sweeps, the fit, and columns rotated; the backend is closed while a fault lasts. No fault
 * begins in closing. */
static enum status run(const struct backend_options *setting, double *fit, struct error *error)
{
    struct backend_fit found = {.value = NAN};
    struct backend b;
    enum status status = backend_open(&b, &backend_cuda, &x, setting, NULL, error);
    bool is_open = status == STATUS_OK;
    if (status == STATUS_OK)
        status = backend_load(&b, &start, error);
    for (int step = 0; step < 2 * x.shape.order && status == STATUS_OK; step++) {
        status = backend_mttkrp(&b, step % x.shape.order, error);
        if (status == STATUS_OK)
            status = backend_update(&b, step % x.shape.order, error);
    }
    if (status == STATUS_OK)
        status = backend_fit(&b, x.shape.order - 1, NULL, &found, error);
    if (status == STATUS_OK)
        status = backend_rotate(&b, 0, error);
    *fit = found.value;
    if (status == STATUS_OK)
        cuda_fault_set(-1, cudaSuccess, false);
    if (is_open)
        backend_close(&b);
    return status;
}

static uint64_t free_bytes(void)
{
    size_t free_now = 0, all = 0;
    device_trim();
    good(cudaMemGetInfo(&free_now, &all));
    return free_now;
}

/* How many answers of the GPU a run takes. */
static long count_answers(const struct backend_options *setting, double *fit)
{
    struct error error = {0};
    long answers = 0, step = 4096;
    ok(run(setting, fit, &error), &error);
    for (; step > 0; step /= 2)
        for (bool fired = true; fired; answers += fired ? step : 0) {
            error = (struct error){0};
            double ignored;
            cuda_fault_set(answers + step - 1, cudaErrorLaunchOutOfResources, false);
            fired = run(setting, &ignored, &error) != STATUS_OK;
            cuda_fault_set(-1, cudaSuccess, false);
        }
    return answers;
}

/* True where the run got as far as the k-th answer: how many there are may differ a little. */
static bool check_fault(const struct backend_options *setting, const struct fault *fault, long k)
{
    struct error error = {0};
    double fit;
    cuda_fault_set(k, fault->code, fault->lasting);
    enum status status = run(setting, &fit, &error);
    cuda_fault_set(-1, cudaSuccess, false);
    if (status == STATUS_OK)
        return false;
    if (status != STATUS_INTERNAL || !strstr(error.message, fault->says) ||
        strchr(error.message, '\n'))
        fail_msg("answer %ld: status %d: %s", k, (int)status, error.message);
    return true;
}

static void check_faults(enum flow flow)
{
    struct backend_options setting = {.problem.rank = 5};
    double fit, again;
    assert_true(set_flow(&setting, flow, &backend_cuda, &x));
    long answers = count_answers(&setting, &fit);
    assert_in_range(answers, 50, 100000);
    uint64_t before = free_bytes();
    int runs = 0, failures = 0;
    for (size_t f = 0; f < COUNT(faults); f++)
        for (long k = (long)f; k < answers; k += 1 + answers / RUNS, runs++)
            failures += check_fault(&setting, &faults[f], k);
    assert_true(failures > runs * 9 / 10);
    assert_true(free_bytes() + SLACK > before);
    struct error error = {0};
    ok(run(&setting, &again, &error), &error);
    assert_true(fabs(again - fit) < 1e-9);
}

static void test_faults_in_memory(void **state)
{
    (void)state;
    check_faults(IN_MEMORY);
}

static void test_faults_streamed(void **state)
{
    (void)state;
    check_faults(IN_BATCHES);
}

/* Whichever array, queue or event is refused: an error, or a run that goes on with less. */
static void check_refusals(enum flow flow)
{
    struct backend_options setting = {.problem.rank = 5};
    int failures = 0;
    double fit, again;
    struct error error = {0};
    assert_true(set_flow(&setting, flow, &backend_cuda, &x));
    ok(run(&setting, &fit, &error), &error);
    uint64_t before = free_bytes();
    for (long k = 0, fired = 1; fired; k++) {
        error = (struct error){0};
        memory_hook_set(k);
        enum status status = run(&setting, &again, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        if (status == STATUS_OK)
            assert_true(fabs(again - fit) < 1e-9);
        else
            assert_true(fired && status == STATUS_MEMORY);
        failures += status == STATUS_MEMORY;
    }
    assert_true(failures > 20);
    assert_true(free_bytes() + SLACK > before);
}

static void test_refusals_in_memory(void **state)
{
    (void)state;
    check_refusals(IN_MEMORY);
}

static void test_refusals_streamed(void **state)
{
    (void)state;
    check_refusals(IN_BATCHES);
}

/* A refused queue or event leaves nothing to destroy, and nothing is destroyed twice. */
static void test_refused_queue(void **state)
{
    (void)state;
    cudaStream_t queue = NULL;
    cudaEvent_t event = NULL;
    memory_hook_set(0);
    assert_int_equal(device_queue_create(&queue, QUEUE_FIRST), cudaErrorMemoryAllocation);
    memory_hook_set(1);
    assert_int_equal(device_event_create(&event), cudaSuccess);
    device_event_destroy(event);
    event = NULL;
    assert_int_equal(device_event_create_timed(&event), cudaErrorMemoryAllocation);
    memory_hook_set(-1);
    assert_null(queue);
    assert_null(event);
    device_queue_destroy(queue);
    device_event_destroy(event);
    for (int p = QUEUE_LAST; p <= QUEUE_FIRST; p++) {
        good(device_queue_create(&queue, (enum device_queue_priority)p));
        device_queue_destroy(queue);
    }
}

/* The rates, too, end at once. */
static void test_faults_of_rates(void **state)
{
    (void)state;
    const struct shape shape = {1, {50}};
    struct device_rates_request request = {
        .shape = &shape, .row_bytes = 16, .vectors = 1, .memory = 100000000};
    int failures = 0;
    for (bool fired = true; fired; failures += fired) {
        struct error error = {0};
        struct backend_rates rates;
        cuda_fault_set(failures, cudaErrorLaunchFailure, true);
        enum status status = device_rates(&request, &rates, &error);
        fired = cuda_fault_fired();
        cuda_fault_set(-1, cudaSuccess, false);
        assert_int_equal(status, fired ? STATUS_INTERNAL : STATUS_OK);
        assert_true(!fired || strstr(error.message, "GPU 0 is lost"));
    }
    assert_in_range(failures, 5, 1000);
}

static int make_data(void **state)
{
    (void)state;
    const uint64_t dims[] = {50, 310, 400};
    naive_random_coo(&x, SHAPE(3, dims), 20000, 3, 1);
    create_model(&start, &x, 5, 7);
    return 0;
}

static int free_data(void **state)
{
    (void)state;
    ktensor_free(&start);
    coo_free(&x);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_faults_in_memory),   cmocka_unit_test(test_faults_streamed),
        cmocka_unit_test(test_refusals_in_memory), cmocka_unit_test(test_refusals_streamed),
        cmocka_unit_test(test_refused_queue),      cmocka_unit_test(test_faults_of_rates),
    };
    return cmocka_run_group_tests(tests, make_data, free_data);
}
