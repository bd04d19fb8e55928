/* The census of a tensor: counts of every row, and an even sample, for any pieces. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "support/naive.h"
#include "support/sanitized.h"
#include "tensor/coo_census.h"

/* A tensor in pieces of so many nonzeros. */
struct cut {
    const struct coo *x;
    uint64_t length;
};

static enum status each(void *pieces, coo_taker take, void *context, struct error *error)
{
    const struct cut *cut = pieces;
    for (uint64_t first = 0; first < cut->x->nnz; first += cut->length) {
        struct coo piece = *cut->x;
        uint64_t left = cut->x->nnz - first;
        piece.nnz = left < cut->length ? left : cut->length;
        for (int n = 0; n < piece.shape.order; n++)
            piece.index[n] += first;
        piece.value += first;
        TRY(take(context, &piece, error));
    }
    return STATUS_OK;
}

static void check_census(const struct coo_census *c, const struct coo *x, uint64_t most)
{
    uint64_t stride = x->nnz > most ? (x->nnz + most - 1) / most : 1;
    assert_int_equal(c->sample.nnz, (x->nnz + stride - 1) / stride);
    assert_true(c->sample.nnz <= most);
    for (uint64_t i = 0; i < c->sample.nnz; i++) {
        for (int n = 0; n < x->shape.order; n++)
            assert_int_equal(c->sample.index[n][i], x->index[n][i * stride]);
        assert_true(c->sample.value[i] == x->value[i * stride]);
    }
    for (int n = 0; n < x->shape.order; n++)
        for (uint64_t row = 0; row < x->shape.dims[n]; row++) {
            uint64_t expected = 0;
            for (uint64_t i = 0; i < x->nnz; i++)
                expected += x->index[n][i] == row;
            assert_int_equal(c->count[n][row], expected);
        }
}

static void test_census(void **state)
{
    (void)state;
    static const struct shape shape = {3, {30, 1, 70}};
    static const uint64_t lengths[] = {1, 7, 100, 1000}, most[] = {1, 10, 499, 500, 5000};
    struct coo x;
    struct coo_census c;
    struct error error = {0};
    naive_random_coo(&x, &shape, 500, 2, 1);
    for (size_t m = 0; m < sizeof most / sizeof *most; m++) {
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            struct cut cut = {&x, lengths[l]};
            struct coo_pieces pieces = {.shape = shape, .nnz = x.nnz, .each = each, .pieces = &cut};
            assert_int_equal(
                coo_pieces_census(&pieces, coo_census_stride(pieces.nnz, most[m]), 1, &c, &error),
                STATUS_OK);
            check_census(&c, &x, most[m]);
            coo_census_free(&c);
        }
        const struct coo_pieces one = coo_in_one_piece(&x);
        assert_int_equal(
            coo_pieces_census(&one, coo_census_stride(one.nnz, most[m]), 1, &c, &error), STATUS_OK);
        check_census(&c, &x, most[m]);
        coo_census_free(&c);
    }
    coo_free(&x);
}

/* Only every so many-th nonzero is counted, as so many; pieces of any length count the same. */
static void test_counting_some(void **state)
{
    (void)state;
    static const struct shape shape = {3, {30, 1, 70}};
    static const uint64_t lengths[] = {1, 7, 100, 1000};
    struct coo x;
    naive_random_coo(&x, &shape, 500, 2, 1);
    for (uint64_t every = 1; every < 600; every = 3 * every + 1)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            struct error error = {0};
            struct coo_census c;
            struct cut cut = {&x, lengths[l]};
            struct coo_pieces pieces = {.shape = shape, .nnz = x.nnz, .each = each, .pieces = &cut};
            assert_int_equal(coo_pieces_census(&pieces, 10, every, &c, &error), STATUS_OK);
            assert_int_equal(c.sample.nnz, (x.nnz + 9) / 10);
            for (int n = 0; n < 3; n++)
                for (uint64_t row = 0; row < shape.dims[n]; row++) {
                    uint64_t expected = 0;
                    for (uint64_t i = 0; i < x.nnz; i += every)
                        expected += x.index[n][i] == row ? every : 0;
                    assert_int_equal(c.count[n][row], expected);
                }
            coo_census_free(&c);
        }
    coo_free(&x);
}

/* Counts and sums of short modes and of long ones, whose nonzeros threads sort, in several pieces
 * if they are many; negative and unknown values do not count in sums. */
static void check_slices(const struct shape *shape, uint64_t nnz, uint64_t first, uint64_t every)
{
    struct coo x;
    struct error error = {0};
    uint64_t seed = nnz, *count[MAX_ORDER] = {NULL};
    assert_int_equal(coo_create(&x, shape, nnz, &error), STATUS_OK);
    for (uint64_t i = 0; i < nnz; i++) {
        const uint64_t random = naive_random(&seed);
        for (int n = 0; n < shape->order; n++)
            x.index[n][i] = (uint32_t)((random >> 8 * n) % shape->dims[n]);
        x.value[i] = random % 50 == 0 ? NAN : (double)(random >> 40) / 7 - 1000;
    }
    for (int n = 0; n < shape->order; n++)
        count[n] = calloc(shape->dims[n], sizeof *count[n]);
    assert_int_equal(coo_count_slices(&x, shape, first, every, count, &error), STATUS_OK);
    for (int n = 0; n < shape->order; n++) {
        const uint64_t slices = shape->dims[n];
        uint64_t *counted = calloc(slices, sizeof *counted), wrong = 0;
        double *sum = calloc(slices, sizeof *sum), *summed = calloc(slices, sizeof *summed);
        assert_int_equal(coo_sum_slices(sum, &x, n, &error), STATUS_OK);
        for (uint64_t i = first; i < nnz; i += every)
            counted[x.index[n][i]] += every;
        for (uint64_t i = 0; i < nnz; i++)
            summed[x.index[n][i]] += x.value[i] > 0 ? x.value[i] : 0;
        for (uint64_t i = 0; i < slices; i++)
            wrong += counted[i] != count[n][i] ||
                     !(fabs(sum[i] - summed[i]) <= 1e-12 * summed[i]); /* parts of short modes */
        assert_int_equal(wrong, 0);
        free(count[n]);
        free(counted);
        free(sum);
        free(summed);
    }
    coo_free(&x);
}

static void test_slices(void **state)
{
    (void)state;
    const struct shape shape = {4, {7, 3000000, 5000, 100}};
    for (uint64_t nnz = 1; nnz < 500000; nnz = 30 * nnz + 11)
        for (uint64_t every = 1; every < 20; every = 4 * every + 1)
            check_slices(&shape, nnz, every / 2, every);
    if (!SANITIZED)
        check_slices(&(struct shape){1, {9000000}}, (UINT64_C(1) << 24) + 70000, 0, 1);
}

static enum status refuse(void *pieces, coo_taker take, void *context, struct error *error)
{
    (void)pieces, (void)take, (void)context;
    return error_set(error, STATUS_INPUT, "damaged");
}

static void test_failures(void **state)
{
    (void)state;
    static const struct shape shape = {2, {30, 70}};
    struct coo x;
    struct coo_census c;
    struct error error = {0};
    struct coo_pieces pieces = {.shape = shape, .nnz = 10, .each = refuse};
    assert_int_equal(coo_pieces_census(&pieces, coo_census_stride(pieces.nnz, 5), 1, &c, &error),
                     STATUS_INPUT);
    assert_string_equal(error.message, "damaged");
    assert_null(c.count[0]);
    naive_random_coo(&x, &shape, 100, 2, 0);
    for (long k = 0, fired = 1; fired; k++) {
        error = (struct error){0};
        memory_hook_set(k);
        const struct coo_pieces one = coo_in_one_piece(&x);
        enum status status = coo_pieces_census(&one, coo_census_stride(one.nnz, 10), 1, &c, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        coo_census_free(&c);
    }
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_census),
        cmocka_unit_test(test_counting_some),
        cmocka_unit_test(test_slices),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
