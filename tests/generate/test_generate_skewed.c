/* Skewed tensors: the number of nonzeros, distinct places, the same result for any threads and any
 * memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <math.h>
#include <omp.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "generate/generate.h"
#include "support/lines.h"
#include "support/generated.h"
#include "support/sanitized.h"
#include "tensor/ordering.h"

static enum status take_nothing(void *context, struct coo *piece, struct error *error)
{
    (void)context;
    (void)piece;
    (void)error;
    return STATUS_OK;
}

static const struct generate_run plenty = {.seed = 1, .memory = PLENTY, .take = take_nothing};

/* Strictly ascending along the alto line, hence distinct, and within the lengths. */
static void check_line(const struct coo *x)
{
    struct ordering alto;
    uint64_t line[2][MAX_LINE_WORDS] = {{0}};
    ordering_create(&alto, ORDERING_ALTO, &x->shape, 64);
    for (uint64_t i = 0; i < x->nnz; i++) {
        uint32_t coordinate[MAX_ORDER];
        uint64_t *own = line[i % 2], *before = line[(i + 1) % 2];
        for (int n = 0; n < x->shape.order; n++) {
            coordinate[n] = x->index[n][i];
            assert_true(coordinate[n] < x->shape.dims[n]);
        }
        encode_line(&alto, coordinate, own);
        int word = MAX_LINE_WORDS - 1;
        while (word > 0 && own[word] == before[word])
            word--;
        if (i > 0 && own[word] <= before[word])
            fail_msg("nonzero %ju does not follow the one before", (uintmax_t)i);
    }
}

/* Every way of drawing at once. */
static const struct generate_spec mixed = {{4, {500, 300, 70000, 40}},
                                           200000,
                                           {.exponent = {0.5, 1.0, GENERATE_EVEN, 0.8},
                                            .pool = 20000,
                                            .pool_modes = 3,
                                            .pool_exponent = 0.7,
                                            .run_mode = 3,
                                            .run_fraction = 0.3,
                                            .run_length = 3}};

static void test_count(void **state)
{
    (void)state;
    static const struct generate_spec specs[] = {
        {{1, {10}}, 7, {.exponent = {1.5}}},
        {{1, {10}}, 10, {.exponent = {1.5}}},
        {{3, {1, 1, 1}}, 1, {.exponent = {0}}},
        {{3, {40, 1, 30}}, 1200, {.exponent = {2, 2, 2}}},               /* every place       */
        {{3, {40, 20, 30}}, 23999, {.exponent = {2, 0, GENERATE_EVEN}}}, /* all but one       */
        {{3, {100, 100, 100}}, 50000, {.exponent = {6, 8, 4}}},          /* frequent ones used up */
        {{3, {100, 200, 10}}, 5000, {.pool = 3, .pool_modes = 3}},       /* 30 places in the pool */
        {{5, {3000000, 500000, 17, 4000000, 2000}}, 100000, {.exponent = {0.5}}}, /* 92 bits */
        {{4, {MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH}}, 100000, {.exponent = {1, 0, 1, 0}}},
        {{5, {MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH}},
         9000,
         {.exponent = {1, 0}}}, /* 160 bits */
        {{4, {MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH}},
         1000,
         {.pool = 1, .pool_modes = 15}}, /* one place in the pool */
        {{16, {2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3}}, 30000, {.exponent = {0}}},
        {{3, {70, 70, 70}}, 343000, {.exponent = {2, 0.5, 1}}},       /* sampled, every place */
        {{3, {300, 400, 100}}, 500000, {.pool = 3, .pool_modes = 3}}, /* 300 of many in the pool */
        {{2, {100000, 90000}}, 300000, {.exponent = {8, 1}}},         /* a row and a bit        */
        {{2, {5000, 5000}},
         300000,
         {.exponent = {1, 1}, .pool = 9000, .pool_modes = 3}}, /* no rest */
        {{3, {50, 60, 5}},
         14000,
         {.run_mode = 2, .run_fraction = 1, .run_length = 1e9, .run_scattered = true}},
    };
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i += SANITIZED_THREADS ? 3 : 1) {
        struct coo x = skewed(&specs[i], 3);
        check_line(&x);
        coo_free(&x);
    }
}

static void test_threads_and_memory_do_not_matter(void **state)
{
    (void)state;
    int before = omp_get_max_threads();
    struct generate_spec specs[] = {mixed, mixed};
    specs[1].nnz = 400000; /* made in several ranges of the line where memory is short */
    for (int i = 0; i < 2; i++) {
        omp_set_num_threads(1);
        struct coo x = skewed(&specs[i], 9);
        check_line(&x);
        for (int threads = 2 + i; threads <= 3; threads++) {
            omp_set_num_threads(threads);
            struct coo y = skewed_within(&specs[i], 9, UINT64_C(25000000));
            assert_true(same_tensor(&x, &y));
            coo_free(&y);
        }
        coo_free(&x);
    }
    omp_set_num_threads(before);
}

/* A taker that fails ends the generator, with its own message. */
static enum status refuse(void *context, struct coo *piece, struct error *error)
{
    ++*(int *)context;
    return error_set(error, STATUS_OUTPUT, "no room for %ju nonzeros", (uintmax_t)piece->nnz);
}

static void test_refusing_taker(void **state)
{
    (void)state;
    int calls = 0;
    struct error error = {0};
    const struct generate_run run = {1, UINT64_C(40000000), refuse, &calls, NULL};
    assert_int_equal(generate_skewed(&mixed, &run, &error), STATUS_OUTPUT);
    assert_int_equal(calls, 1);
    assert_non_null(strstr(error.message, "no room for"));
}

static void test_seeds_differ(void **state)
{
    (void)state;
    struct coo x = skewed(&mixed, 1), y = skewed(&mixed, 2);
    assert_false(same_tensor(&x, &y));
    coo_free(&x);
    coo_free(&y);
}

static void test_counts_as_values(void **state)
{
    (void)state;
    struct coo x = skewed(&mixed, 1);
    double ones = 0, sum = 0;
    for (uint64_t i = 0; i < x.nnz; i++) {
        assert_true(x.value[i] >= 1 && x.value[i] <= 64 && x.value[i] == floor(x.value[i]));
        ones += x.value[i] == 1;
        sum += x.value[i];
    }
    check_near(ones / (double)x.nnz, 0.5, 0.01);
    check_near(sum / (double)x.nnz, 2, 0.02);
    coo_free(&x);
}

static void test_presets(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int order;
        uint64_t nnz, dims[4];
    } published[] = {
        {"uber", 4, 3309490, {183, 24, 1140, 1717}},
        {"nips", 4, 3101609, {2482, 2862, 14036, 17}},
        {"chicago", 4, 5330673, {6186, 24, 77, 32}},
        {"vast", 3, 26021945, {165427, 11374, 2}},
        {"darpa", 3, 28436033, {22476, 22476, 23776223}},
        {"enron", 4, 54202099, {6066, 5699, 244268, 1176}},
        {"nell2", 3, 76879419, {12092, 9184, 28818}},
        {"fb-m", 3, 99546551, {23344784, 23344784, 166}},
        {"flickr", 4, 112890310, {319686, 28153045, 1607191, 731}},
        {"delicious", 4, 140126181, {532924, 17262471, 2480308, 1443}},
        {"nell1", 3, 143599552, {2902330, 2143368, 25495389}},
        {"amazon", 3, 1741809018, {4821207, 1774269, 1805187}},
        {"patents", 3, 3596640708, {46, 239172, 239172}},
        {"reddit", 3, 4687474081, {8211298, 176962, 8116559}},
    };
    size_t count = sizeof published / sizeof published[0], listed = 0;
    for (const struct generate_recipe *p = generate_presets; p->name; p++, listed++) {
        struct generate_spec small;
        struct error error = {0};
        size_t i = 0;
        while (i < count && strcmp(published[i].name, p->name) != 0)
            i++;
        assert_true(i < count);
        assert_int_equal(generate_read(&small, p, &error), STATUS_OK);
        assert_int_equal(small.shape.order, published[i].order);
        assert_int_equal(small.nnz, published[i].nnz);
        for (int n = 0; n < small.shape.order; n++)
            assert_int_equal(small.shape.dims[n], published[i].dims[n]);
        small.nnz = 3000;
        struct coo x = skewed(&small, 1);
        check_line(&x);
        coo_free(&x);
    }
    assert_int_equal(listed, count);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct generate_spec specs[] = {
        {{2, {3, 3}}, 10, {.exponent = {0}}},
        {{2, {3, 3}}, 0, {.exponent = {0}}},
        {{2, {100, 100}}, 5, {.exponent = {0, -0.5}}},
        {{2, {100, 100}}, 5, {.exponent = {0, GENERATE_MOST_SKEW + 1}}},
        {{2, {100, 100}}, 5, {.exponent = {0, NAN}}},
        {{2, {100, 100}}, 5, {.pool = 4, .pool_modes = 1, .pool_exponent = GENERATE_EVEN}},
        {{2, {100, 100}}, 5, {.pool = MAX_NNZ + 1, .pool_modes = 1}},
    };
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        struct error error = {0};
        assert_int_equal(generate_skewed(&specs[i], &plenty, &error), STATUS_INPUT);
        assert_true(error.message[0]);
    }
    struct error error = {0};
    const struct generate_run little = {.seed = 1, .memory = 1 << 20, .take = take_nothing};
    assert_int_equal(generate_skewed(&mixed, &little, &error), STATUS_MEMORY);
}

static void test_allocation_failures(void **state)
{
    (void)state;
    static const struct generate_spec crowded = {
        {3, {20, 10, 10}}, 1500, {.exponent = {3, 1, 0.5}, .pool = 50, .pool_modes = 3}};
    int fired = 1;
    for (long k = 0; fired; k++) {
        struct error error = {0};
        memory_hook_set(k);
        enum status status = generate_skewed(&crowded, &plenty, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_count),
        cmocka_unit_test(test_threads_and_memory_do_not_matter),
        cmocka_unit_test(test_refusing_taker),
        cmocka_unit_test(test_seeds_differ),
        cmocka_unit_test(test_counts_as_values),
        cmocka_unit_test(test_presets),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
