/* Waking a GPU: only the chosen one, and not before it is chosen. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cuda.h>
#include <dlfcn.h>

#include <cmocka.h>

#include "backend/backend_kind.h"

static int devices;
static CUresult (*get_state)(CUdevice device, unsigned *flags, int *active);

/* Whether this process has a context on the device. */
static bool is_awake(int device)
{
    unsigned flags = 0;
    int active = 0;
    assert_int_equal(get_state(device, &flags, &active), CUDA_SUCCESS);
    return active != 0;
}

/* The driver itself is asked: the runtime might make a context in order to answer. */
static int find_driver(void **state)
{
    (void)state;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    void *function = driver ? dlsym(driver, "cuDevicePrimaryCtxGetState") : NULL;
    memcpy(&get_state, &function, sizeof function);
    return function ? 0 : -1;
}

/* Comes first: no context is there yet. */
static void test_looking_wakes_none(void **state)
{
    (void)state;
    struct error error = {0};
    const struct backend_kind *kind;
    assert_int_equal(backend_choose(&kind, "cuda", NULL, &error), STATUS_OK);
    assert_int_equal(backend_cuda.devices(&devices, &error), STATUS_OK);
    for (int d = 0; d < devices; d++)
        assert_false(is_awake(d));
}

/* The last GPU, which on a machine of several is not the first. */
static void test_one_wakes(void **state)
{
    (void)state;
    struct error error = {0};
    struct backend_wake w = {0};
    backend_wake_begin(&w, &backend_cuda, devices - 1);
    assert_int_equal(backend_wake_wait(&w, &error), STATUS_OK);
    for (int d = 0; d < devices; d++)
        assert_int_equal(is_awake(d), d == devices - 1);
    backend_wake_end(&w);
}

static void test_no_such_gpu(void **state)
{
    (void)state;
    struct error error = {0};
    struct backend_wake w = {0};
    backend_wake_begin(&w, &backend_cuda, devices);
    assert_int_equal(backend_wake_wait(&w, &error), STATUS_INPUT);
    assert_string_equal(error.message, "the GPU does not answer: invalid device ordinal");
    backend_wake_end(&w);
    assert_int_equal(backend_wake_now(&backend_cuda, devices - 1, &(struct error){0}), STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_looking_wakes_none),
        cmocka_unit_test(test_one_wakes),
        cmocka_unit_test(test_no_such_gpu),
    };
    return cmocka_run_group_tests_name("device_wake", tests, find_driver, NULL);
}
