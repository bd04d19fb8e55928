/* Mode groups on the device against mode groups on the host: the same choice, the same numbers of
 * tuples, the same reduced tensor. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/cuda/tensor/device_mode_groups.h"
#include "support/gpu_pool.h"

/* Mode n's coordinates, from d's lines or coordinates. */
static uint32_t *coordinates(const struct device_coo *d, int n)
{
    if (!d->line)
        return downloaded(d->index[n], d->nnz, sizeof(uint32_t));
    uint64_t *line = downloaded(d->line, d->nnz, sizeof *line);
    uint32_t *index = malloc(d->nnz * sizeof *index + 1);
    assert_non_null(index);
    for (uint64_t i = 0; i < d->nnz; i++)
        index[i] = (uint32_t)(line[i] >> d->ordering.place[n][0] &
                              ((UINT64_C(1) << d->ordering.mode_bits[n]) - 1));
    free(line);
    return index;
}

static void compare(const struct device_coo *d, const struct coo *expected)
{
    assert_int_equal(d->shape.order, expected->shape.order);
    assert_int_equal(d->nnz, expected->nnz);
    assert_memory_equal(d->shape.dims, expected->shape.dims,
                        (size_t)d->shape.order * sizeof *d->shape.dims);
    assert_int_equal(d->line != NULL, d->ordering.line_bits <= 64);
    assert_false(d->sorted);
    for (int n = 0; n < d->shape.order; n++) {
        uint32_t *index = coordinates(d, n);
        assert_memory_equal(index, expected->index[n], d->nnz * sizeof *index);
        free(index);
    }
    double *value = downloaded(d->value, d->nnz, sizeof *value);
    assert_memory_equal(value, expected->value, d->nnz * sizeof *value);
    free(value);
}

static void check_apply(const struct coo *x, const struct mode_groups *g)
{
    struct error error = {0};
    struct grouped_tensor expected;
    struct device_grouped_tensor grouped;
    struct device_coo d;
    assert_int_equal(mode_groups_apply(&expected, g, x, &error), STATUS_OK);
    upload_coo(&d, x);
    if (device_mode_groups_apply(&grouped, g, &d, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    compare(&d, &expected.reduced);
    for (int k = 0; k < g->groups; k++) {
        const struct coo *tuples = &expected.tuples[k];
        int size = mode_groups_size(g, k);
        if (size == 1) {
            assert_null(grouped.tuples[k].value);
            assert_null(grouped.coordinate[g->first[k]]);
            continue;
        }
        compare(&grouped.tuples[k], tuples);
        for (int n = 0; n < size; n++) {
            uint32_t *index =
                downloaded(grouped.coordinate[g->first[k] + n], tuples->nnz, sizeof *index);
            assert_memory_equal(index, tuples->index[n], tuples->nnz * sizeof *index);
            free(index);
        }
    }
    device_mode_groups_free(&grouped, &pool);
    device_coo_free(&d);
    grouped_tensor_free(&expected);
}

static void test_all_groupings(void **state)
{
    (void)state;
    static const uint64_t dims[] = {7, 64, 1, 33, 90};
    static const uint64_t nonzeros[] = {1, 2, 900, 150000};
    for (int order = 2; order <= 5; order++)
        for (int i = 0; i < 4; i++) {
            struct coo x;
            naive_random_coo(&x, SHAPE(order, dims), nonzeros[i], (uint64_t)(order + i), i % 2);
            for (unsigned cuts = 0; cuts < 1u << (order - 1); cuts++) {
                struct mode_groups g;
                mode_groups_from_cuts(&g, order, cuts);
                check_apply(&x, &g);
            }
            coo_free(&x);
        }
}

/* Lines of more than 64 bits, before and after the reduction and before only; a map of 2^30 bits.
 */
static void test_long_lines(void **state)
{
    (void)state;
    static const uint64_t dims[][5] = {
        {MAX_LENGTH, 30, 40, MAX_LENGTH, 3},
        {1 << 15, 1 << 15, 1 << 15, 1 << 15, 1 << 5},
    };
    static const struct mode_groups groupings[] = {
        {.groups = 4, .first = {0, 1, 3, 4, 5}},
        {.groups = 3, .first = {0, 2, 4, 5}},
        {.groups = 4, .first = {0, 1, 2, 3, 5}},
    };
    struct coo x;
    naive_random_coo(&x, SHAPE(5, dims[0]), 70000, 1, 1);
    check_apply(&x, &groupings[0]);
    coo_free(&x);
    naive_random_coo(&x, SHAPE(5, dims[1]), 70000, 2, 1);
    check_apply(&x, &groupings[1]);
    check_apply(&x, &groupings[2]);
    coo_free(&x);
}

/* The host's counts are exact too where the first modes are short. */
static void test_choice(void **state)
{
    (void)state;
    struct error error = {0};
    uint64_t seed = 4;
    int grouped = 0, plain = 0;
    for (int i = 0; i < 60; i++) {
        int order = 2 + i % 5;
        uint64_t dims[MAX_ORDER];
        struct coo x;
        struct device_coo d;
        struct mode_groups expected, g;
        for (int n = 0; n < order; n++)
            dims[n] = 2 + naive_random(&seed) % (n == order - 1 ? 3000 : i % 3 ? 40 : 700);
        naive_random_coo(&x, SHAPE(order, dims), 1 + naive_random(&seed) % 200000, seed, i % 2);
        uint64_t cache = UINT64_C(1) << naive_random(&seed) % 28;
        const struct gather_cost cost = {256, cache, MODE_GROUPS_BEYOND_CACHE};
        assert_int_equal(mode_groups_choose(&expected, &x, &cost, &error), STATUS_OK);
        upload_coo(&d, &x);
        assert_int_equal(device_mode_groups_choose(&g, &d, 256, cache, &error), STATUS_OK);
        assert_int_equal(g.groups, expected.groups);
        assert_memory_equal(g.first, expected.first, (size_t)(g.groups + 1) * sizeof *g.first);
        *(g.groups < order ? &grouped : &plain) += 1;
        device_coo_free(&d);
        coo_free(&x);
    }
    assert_true(grouped > 5 && plain > 5);
}

static enum status try_groups(const struct coo *x, const struct mode_groups *g)
{
    struct error error = {0};
    struct device_coo d;
    struct device_grouped_tensor grouped;
    struct mode_groups chosen;
    if (device_coo_upload(&d, x, &staging, &pool, &error) != STATUS_OK)
        return error.status;
    if (device_mode_groups_choose(&chosen, &d, 256, 1 << 20, &error) == STATUS_OK &&
        device_mode_groups_apply(&grouped, g, &d, &error) == STATUS_OK)
        device_mode_groups_free(&grouped, &pool);
    else
        assert_int_equal(error.status, STATUS_MEMORY);
    device_coo_free(&d);
    return error.status;
}

static void test_failing_allocations(void **state)
{
    (void)state;
    static const uint64_t dims[][4] = {{7, 5, 11, 64}, {MAX_LENGTH, 30, 40, MAX_LENGTH}};
    static const struct mode_groups middle = {.groups = 3, .first = {0, 1, 3, 4}};
    for (int t = 0; t < 2; t++) {
        struct coo x;
        naive_random_coo(&x, SHAPE(4, dims[t]), 2000, 3, 1);
        int failures = 0;
        for (long k = 0, fired = 1; fired; k++) {
            memory_hook_set(k);
            enum status status = try_groups(&x, &middle);
            fired = memory_hook_fired();
            memory_hook_set(-1);
            assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
            failures += (int)fired;
        }
        assert_true(failures > 8);
        coo_free(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_groupings),
        cmocka_unit_test(test_long_lines),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
