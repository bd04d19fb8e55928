/* Every GPU of the machine by its number: backends that are open at once on all of them, worked on
 * in turn by one thread, in memory and streamed, agree with the host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>

#include <cuda_runtime.h>

#include <cmocka.h>

#include "support/backends.h"

#define MOST   8 /* devices */
#define SWEEPS 3

static int count_devices(void)
{
    int count = 0;
    assert_int_equal(cudaGetDeviceCount(&count), cudaSuccess);
    return count < MOST ? count : MOST;
}

static double sweep(struct backend *b)
{
    struct error error = {0};
    struct backend_fit fit = {0};
    for (int n = 0; n < b->order; n++) {
        assert_int_equal(backend_mttkrp(b, n, &error), STATUS_OK);
        assert_int_equal(backend_update(b, n, &error), STATUS_OK);
    }
    assert_int_equal(backend_fit(b, b->order - 1, NULL, &fit, &error), STATUS_OK);
    return fit.value;
}

static void open_on(struct backend *b, const struct backend_kind *kind, int device,
                    const struct backend_options *setting, const struct coo *x,
                    const struct ktensor *k)
{
    struct error error = {0};
    struct backend_options options = *setting;
    options.device = device;
    if (backend_open(b, kind, x, &options, NULL, &error) != STATUS_OK)
        fail_msg("device %d: %s", device, error.message);
    assert_int_equal(backend_load(b, k, &error), STATUS_OK);
}

static void check_devices(const struct backend_options *setting, const struct coo *x,
                          const struct ktensor *k)
{
    struct backend host, b[MOST];
    struct error error = {0};
    struct ktensor model;
    int devices = count_devices();
    double expected = 0;
    assert_int_equal(ktensor_create(&model, &x->shape, k->rank, &error), STATUS_OK);
    open_on(&host, &backend_host, 0, &(struct backend_options){.problem.rank = k->rank}, x, k);
    for (int d = 0; d < devices; d++)
        open_on(&b[d], &backend_cuda, d, setting, x, k);
    for (int s = 0; s < SWEEPS; s++) {
        expected = sweep(&host);
        for (int d = devices - 1; d >= 0; d--)
            assert_true(fabs(sweep(&b[d]) - expected) < 1e-10);
    }
    for (int d = 0; d < devices; d++) {
        assert_int_equal(backend_store(&b[d], &model, &error), STATUS_OK);
        assert_true(fabsl(naive_fit(x, &model) - expected) < 1e-10L);
        assert_true(fabsl(1 - naive_fit(x, &model)) > 0);
        backend_close(&b[d]);
    }
    backend_close(&host);
    ktensor_free(&model);
}

static void test_all_at_once(void **state)
{
    (void)state;
    struct coo x;
    struct ktensor k;
    naive_random_coo(&x, &(struct shape){3, {60, 50, 900}}, 20000, 3, 1);
    create_model(&k, &x, 7, 1);
    for (enum flow flow = IN_MEMORY; flow < FLOWS; flow++) {
        struct backend_options setting = {.problem.rank = 7, .forced = {.replicas_at_once = true}};
        if (set_flow(&setting, flow, &backend_cuda, &x))
            check_devices(&setting, &x, &k);
    }
    assert_true(flowed > 0);
    ktensor_free(&k);
    coo_free(&x);
}

/* What a device has is its own: an array on one leaves the others' memory as it is. */
static void test_memory_is_the_devices(void **state)
{
    (void)state;
    struct error error = {0};
    const struct plan_tensor tensor = {.shape = {3, {60, 50, 900}}, .nnz = 20000};
    int devices = count_devices();
    for (int d = 0; d < devices; d++) {
        struct plan before[MOST], after;
        void *array;
        for (int o = 0; o < devices; o++) {
            const struct backend_options options = {.problem.rank = 7, .device = o};
            assert_int_equal(backend_plan(&before[o], &backend_cuda, &tensor, &options, &error),
                             STATUS_OK);
        }
        assert_int_equal(cudaSetDevice(d), cudaSuccess);
        assert_int_equal(cudaMalloc(&array, (size_t)4 << 30), cudaSuccess);
        for (int o = 0; o < devices; o++) {
            const struct backend_options options = {.problem.rank = 7, .device = o};
            assert_int_equal(backend_plan(&after, &backend_cuda, &tensor, &options, &error),
                             STATUS_OK);
            uint64_t taken = before[o].request.budget - after.request.budget;
            assert_true(o == d ? taken > (uint64_t)3 << 30 : taken < (uint64_t)1 << 30);
        }
        assert_int_equal(cudaSetDevice(d), cudaSuccess);
        cudaFree(array);
    }
}

static void test_no_such_device(void **state)
{
    (void)state;
    struct error error = {0};
    struct plan plan;
    struct backend_device device;
    int beyond = 0;
    const struct plan_tensor tensor = {.shape = {1, {1}}, .nnz = 1};
    assert_int_equal(cudaGetDeviceCount(&beyond), cudaSuccess);
    const struct backend_options options = {.problem.rank = 1, .device = beyond};
    assert_int_not_equal(backend_plan(&plan, &backend_cuda, &tensor, &options, &error), STATUS_OK);
    error = (struct error){0};
    assert_int_not_equal(backend_cuda.device(beyond, &device, &error), STATUS_OK);
    error = (struct error){0};
    assert_int_equal(backend_cuda.device(beyond - 1, &device, &error), STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_at_once),
        cmocka_unit_test(test_memory_is_the_devices),
        cmocka_unit_test(test_no_such_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
