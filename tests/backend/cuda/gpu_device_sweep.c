/* The tensors of a sweep, with mode groups and without, against the host's orderings and mode
 * groups; less is built if memory runs out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/scratch.h"

#include "backend/cuda/device_sweep.h"
#include "support/blco_files.h"
#include "support/gpu_pool.h"

#define ORDER 4

static struct rank_rows alone; /* of the tensor under test */

static void compare(const void *device, const void *host, uint64_t bytes)
{
    void *copy = downloaded(device, bytes, 1);
    assert_memory_equal(copy, host, bytes);
    free(copy);
}

static void check_ordering(const struct device_tensor *t, const struct coo *x, int kind)
{
    struct error error = {0};
    struct blco expected;
    struct blco_options options = {.kind = kind};
    assert_int_equal(blco_build(&expected, x, &options, &error), STATUS_OK);
    assert_int_equal(t->blco.nnz, x->nnz);
    compare(t->blco.index[0], expected.index[0], x->nnz * sizeof(uint64_t));
    compare(t->blco.value, expected.value, x->nnz * sizeof(double));
    blco_free(&expected);
}

static void check_sweep(const struct device_sweep *sweep, const struct coo *x)
{
    const struct device_orderings *s = &sweep->orderings;
    const struct mode_groups *groups = &s->sweep.groups;
    struct error error = {0};
    struct grouped_tensor expected;
    assert_int_equal(mode_groups_apply(&expected, groups, x, &error), STATUS_OK);
    for (int g = 0; g < groups->groups; g++) {
        const struct coo *tuples = &expected.tuples[g];
        int first = groups->first[g], size = mode_groups_size(groups, g);
        check_ordering(&s->ordered[g], &expected.reduced, g);
        assert_int_equal(s->tuples[g], expected.reduced.shape.dims[g]);
        assert_int_equal(s->product[g] != NULL, size > 1);
        assert_int_equal(s->partial[g] != NULL, size > 1);
        for (int k = 0; k < size && size > 1; k++) {
            check_ordering(&s->tuple_tensor[first + k], tuples, k);
            compare(s->coordinate[first + k], tuples->index[k], tuples->nnz * sizeof(uint32_t));
        }
    }
    grouped_tensor_free(&expected);
}

/* From the arrays of x, or from its file unless that is NULL. */
static enum status open_sweep(struct device_sweep *s, const struct coo *x,
                              const struct blco_file *file)
{
    struct error error = {0};
    struct plan plan;
    struct plan_request request = {.tensor = {.shape = x->shape, .nnz = x->nnz},
                                   .rank = 32,
                                   .row_bytes = 32 * sizeof(double),
                                   .budget = UINT64_C(1) << 32,
                                   .copies = 32,
                                   .short_mode = 132,
                                   .cache_bytes = UINT64_C(50) << 20,
                                   .group = true};
    plan_make(&plan, &request);
    struct coo shape = {.shape = x->shape, .nnz = x->nnz};
    const struct tensor_source source = {.x = file ? &shape : x, .file = file, .ranks = &alone};
    return device_sweep_open(s, &source, &plan, &staging, NULL, &error);
}

/* Every allocation fails once: fewer orderings or no mode groups are built, or there is an error.
 */
static void check_failures(const struct coo *x, const struct blco_file *file)
{
    int recovered = 0, failures = 0;
    for (long k = 0, fired = 1; fired; k++) {
        struct device_sweep s;
        memory_hook_set(k);
        enum status status = open_sweep(&s, x, file);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        if (status == STATUS_OK) {
            if (s.orderings.alto.blco.nnz == 0)
                check_sweep(&s, x);
            recovered += (int)fired;
            device_sweep_close(&s);
        } else {
            assert_int_equal(status, STATUS_MEMORY);
            failures++;
        }
    }
    assert_true(recovered > 10 && failures > 3);
}

static void check_source(const struct coo *x, const struct blco_file *file, int groups)
{
    struct device_sweep s;
    assert_int_equal(open_sweep(&s, x, file), STATUS_OK);
    assert_int_equal(s.orderings.sweep.groups.groups, groups);
    assert_true(!file || s.orderings.norm_sq > 0);
    check_sweep(&s, x);
    device_sweep_close(&s);
    check_failures(x, file);
}

static void check_tensor(const uint64_t *dims, uint64_t nnz, int groups)
{
    struct error error = {0};
    struct external_sort_report report;
    struct blco_file file;
    struct coo x;
    struct process_grid grid;
    struct comm *self = comm_self(&error);
    naive_random_coo(&x, SHAPE(ORDER, dims), nnz, 1, 0);
    assert_int_equal(process_grid_alone(&grid, &x.shape, &error), STATUS_OK);
    assert_int_equal(rank_rows_open(&alone, self, &grid, &error), STATUS_OK);
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    assert_int_equal(blco_file_open(&file, scratch_path("x.blco"), &error), STATUS_OK);
    check_source(&x, NULL, groups);
    check_source(&x, &file, groups);
    blco_file_close(&file);
    rank_rows_close(&alone);
    process_grid_free(&grid);
    comm_finalize(self);
    coo_free(&x);
}

static void test_groups(void **state)
{
    (void)state;
    static const uint64_t few[] = {9, 8, 9, 8}, more[] = {70, 50, 300, 40};
    check_tensor(few, 4000, 2);
    check_tensor(more, 60000, 2);
}

static void test_no_groups(void **state)
{
    (void)state;
    static const uint64_t dims[] = {70000, 50000, 30000, 4};
    check_tensor(dims, 60000, ORDER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_groups, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_no_groups, scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
