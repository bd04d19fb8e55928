/* MTTKRP by tiles against the definition, for orders, ranks, tiles, lowest modes and both
 * precisions; twice with the same bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/cuda/mttkrp/device_mttkrp.h"
#include "support/gpu_pool.h"

/* The factor matrices of a model on the device, and M full of NaN. */
struct case_factors {
    struct ktensor k;
    struct device_factors f;
    uint64_t ld;
};

static void make_factors(struct case_factors *c, const struct shape *shape, uint64_t rank,
                         enum precision precision, uint64_t seed)
{
    struct error error = {0};
    uint64_t longest = 0;
    ok(ktensor_create(&c->k, shape, rank, &error), &error);
    c->ld = row_length(rank, precision, 0);
    const size_t bytes = precision_bytes(precision);
    c->f = (struct device_factors){.shape = *shape,
                                   .precision = precision,
                                   .vectors = (uint32_t)(c->ld * bytes / VECTOR_BYTES),
                                   .copies = 1};
    for (int n = 0; n < shape->order; n++) {
        const uint64_t rows = shape->dims[n];
        void *matrix = random_matrix(rows, rank, c->ld, precision, seed + (uint64_t)n);
        for (uint64_t i = 0; i < rows; i++)
            for (uint64_t r = 0; r < rank; r++)
                c->k.factor[n][i * rank + r] = entry(matrix, i * c->ld + r, precision);
        c->f.factor[n] = uploaded(matrix, rows * c->ld * bytes);
        free(matrix);
        longest = rows > longest ? rows : longest;
    }
    c->f.m = uploaded(NULL, longest * c->ld * bytes);
}

static void free_factors(struct case_factors *c)
{
    for (int n = 0; n < c->f.shape.order; n++)
        cudaFree(c->f.factor[n]);
    cudaFree(c->f.m);
    ktensor_free(&c->k);
}

static void compare(const struct coo *x, const struct case_factors *c, int mode, const void *m)
{
    const uint64_t rows = x->shape.dims[mode], rank = c->k.rank;
    const bool single = c->f.precision == PRECISION_SINGLE;
    long double *expected = host_array(rows * rank, sizeof *expected);
    double *found = host_array(rows * rank, sizeof *found);
    naive_mttkrp(x, &c->k, mode, expected);
    for (uint64_t i = 0; i < rows * rank; i++)
        found[i] = entry(m, i / rank * c->ld + i % rank, c->f.precision);
    near(found, expected, rows * rank, single ? 2e-5 : 1e-12);
    memory_free(expected);
    memory_free(found);
}

static void run_case(struct device_tiles *t, const struct coo *x, uint64_t rank,
                     enum precision precision, uint64_t seed)
{
    struct error error = {0};
    struct case_factors c;
    make_factors(&c, &x->shape, rank, precision, seed);
    ok(device_tiles_prepare(t, c.f.vectors, &pool, &error), &error);
    const uint64_t bytes = x->shape.dims[t->mode] * c.ld * precision_bytes(precision);
    void *m[2];
    for (int k = 0; k < 2; k++) {
        ok(device_tiles_run(t, &c.f, pool.stream, &error), &error);
        m[k] = downloaded(c.f.m, bytes, 1);
    }
    compare(x, &c, t->mode, m[0]);
    assert_int_equal(error.status, STATUS_OK);
    /* columns beyond the rank are NaN, with any bits */
    for (uint64_t i = 0; i < x->shape.dims[t->mode]; i++)
        assert_memory_equal((char *)m[0] + i * c.ld * precision_bytes(precision),
                            (char *)m[1] + i * c.ld * precision_bytes(precision),
                            rank * precision_bytes(precision));
    free(m[0]);
    free(m[1]);
    free_factors(&c);
}

static void check_tiles(const struct coo *x, int mode, const struct tile *tile, uint64_t seed)
{
    const enum precision precision =
        (mode + tile->mode[0]) % 2 ? PRECISION_DOUBLE : PRECISION_SINGLE;
    const int any = (int)(naive_random(&seed) % (uint64_t)x->shape.order);
    const int lowest = any == mode || tile_has(tile, any) ? -1 : any;
    const struct device_blco_options options = {
        .kind = mode, .precision = precision, .last = true, .tile = tile, .lowest = &lowest};
    struct error error = {0};
    struct device_coo d;
    struct device_tensor tensor;
    struct device_tiles t = {.tensor = &tensor, .mode = mode};
    upload_coo(&d, x);
    ok(device_coo_sort(&d, &error), &error);
    ok(device_tensor_build(&tensor, &d, &options, &error), &error);
    for (int r = 0; r < 3; r++)
        run_case(&t, x, ranks[naive_random(&seed) % COUNT(ranks)], precision, seed);
    device_tiles_free(&t);
    device_tensor_free(&tensor);
    device_coo_free(&d);
}

/* Tiles of each other mode, alone and with each third one. */
static void check_tensor(const struct shape *shape, uint64_t nnz, uint64_t seed)
{
    static const int tile_bits[] = {2, 4, 9};
    struct coo x;
    naive_random_coo(&x, shape, nnz, seed, (int)(seed % 2));
    for (int mode = 0; mode < shape->order; mode++)
        for (int first = 0; first < shape->order; first++)
            for (int second = 0; second < shape->order; second++) {
                const int modes = second == first ? 1 : 2;
                const struct tile tile = {.modes = modes,
                                          .mode = {first, second},
                                          .bits = tile_bits[naive_random(&seed) % 3] + 1 - modes};
                if (mode != first && mode != second)
                    check_tiles(&x, mode, &tile, naive_random(&seed));
            }
    coo_free(&x);
}

static void test_against_the_definition(void **state)
{
    (void)state;
    check_tensor(SHAPE(2, ((uint64_t[]){900, 5000})), 60000, 1);
    check_tensor(SHAPE(3, ((uint64_t[]){300, 2000, 77})), 100000, 2);
    check_tensor(SHAPE(3, ((uint64_t[]){1, 513, 512})), 20000, 3);
    check_tensor(SHAPE(4, ((uint64_t[]){60, 1500, 7, 1})), 50000, 4);
    check_tensor(SHAPE(5, ((uint64_t[]){30, 40, 1100, 5, 6})), 15000, 5);
    check_tensor(SHAPE(7, ((uint64_t[]){9, 8, 700, 5, 6, 1, 3})), 5000, 6);
    check_tensor(SHAPE(3, ((uint64_t[]){5000, 4, 3})), 1, 7);
}

/* An allocation that fails is STATUS_MEMORY, and nothing stays. */
static void test_failing_allocations(void **state)
{
    (void)state;
    const struct tile tile = {.modes = 1, .mode = {1}, .bits = 4};
    const struct device_blco_options options = {.kind = 0, .tile = &tile};
    struct coo x;
    struct device_coo d;
    int failures = 0;
    naive_random_coo(&x, SHAPE(3, ((uint64_t[]){300, 2000, 77})), 20000, 8, 0);
    upload_coo(&d, &x);
    for (long k = 0, fired = 1; fired; k++) {
        struct error error = {0};
        struct device_tensor tensor;
        struct device_tiles t = {.tensor = &tensor};
        memory_hook_set(k);
        enum status status = device_tensor_build(&tensor, &d, &options, &error);
        if (status == STATUS_OK)
            status = device_tiles_prepare(&t, 8, &pool, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        if (status != STATUS_OK) {
            assert_true(fired && status == STATUS_MEMORY);
            assert_int_equal(t.vectors, 0);
            failures++;
        }
        device_tiles_free(&t);
        device_tensor_free(&tensor);
    }
    assert_true(failures > 10);
    device_coo_free(&d);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_the_definition),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
