/* Building on the device against the host: the same bits in every word, value and block. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "backend/cuda/tensor/device_pairs.h"
#include "kernels/tensor/linearise.h"
#include "support/gpu_pool.h"
#include "support/packed_tensors.h"
#include "tensor/ordering.h"

#define SHAPES   64
#define MOST_NNZ 200000

/* The cases that were met, so that a test misses none of those that it is there for. */
struct met {
    int blocks, one_block, two_words, one_word_cut, long_lines, longer_lines;
};

static void compare_index(const struct device_blco *b, const struct blco *expected)
{
    for (int w = 0; w < expected->ordering.words; w++) {
        uint64_t *index = downloaded(b->index[w], b->nnz, sizeof *index);
        assert_memory_equal(index, expected->index[w], b->nnz * sizeof *index);
        free(index);
    }
    for (int w = expected->ordering.words; w < 2; w++)
        assert_null(b->index[w]);
}

static void compare_values(const struct device_blco *b, const struct blco *expected,
                           enum precision precision)
{
    void *value = downloaded(b->value, b->nnz, precision_bytes(precision));
    if (precision == PRECISION_DOUBLE)
        assert_memory_equal(value, expected->value, b->nnz * sizeof(double));
    const float *narrow = value;
    for (uint64_t i = 0; precision == PRECISION_SINGLE && i < b->nnz; i++)
        if (narrow[i] != (float)expected->value[i])
            fail_msg("value %llu", (unsigned long long)i);
    free(value);
}

static void compare_blocks(const struct device_blco *b, const struct blco *expected)
{
    assert_int_equal(b->nblocks, expected->nblocks);
    for (uint64_t i = 0; i < b->nblocks; i++) {
        assert_int_equal(b->block[i].first, expected->block[i].first);
        assert_int_equal(b->block[i].count, expected->block[i].count);
        assert_memory_equal(b->block[i].base, expected->block[i].base,
                            (size_t)b->shape.order * sizeof *b->block[i].base);
    }
}

static void compare_ordering(const struct ordering *o, const struct ordering *expected)
{
    assert_int_equal(o->kind, expected->kind);
    assert_int_equal(o->cut, expected->cut);
    assert_int_equal(o->words, expected->words);
    for (int n = 0; n < o->order; n++) {
        assert_int_equal(o->field[n].word, expected->field[n].word);
        assert_int_equal(o->field[n].shift, expected->field[n].shift);
        assert_int_equal(o->field[n].mask, expected->field[n].mask);
    }
}

static void note(struct met *met, const struct blco *b, int index_bits)
{
    met->blocks += b->nblocks > 1;
    met->one_block += b->nblocks == 1;
    met->two_words += index_bits == 0 && b->ordering.words == 2;
    met->one_word_cut += index_bits == 0 && b->ordering.words == 1 && b->nblocks > 1;
    met->long_lines += b->ordering.line_bits > 64 && b->ordering.line_bits <= 128;
    met->longer_lines += b->ordering.line_bits > 128;
}

/* Builds on both sides from x, whose nonzeros are in d. */
static void check_build(const struct coo *x, struct device_coo *d, int kind, int index_bits,
                        enum precision precision, bool last, struct met *met)
{
    struct error error = {0};
    struct blco expected;
    struct device_blco b;
    struct blco_options options = {.kind = kind, .index_bits = index_bits};
    assert_int_equal(blco_build(&expected, x, &options, &error), STATUS_OK);
    const struct device_blco_options wanted = {
        .kind = kind, .index_bits = index_bits, .precision = precision, .last = last};
    if (device_blco_build(&b, d, &wanted, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(b.shape.order, x->shape.order);
    assert_int_equal(b.nnz, x->nnz);
    assert_memory_equal(b.shape.dims, expected.shape.dims,
                        (size_t)x->shape.order * sizeof *b.shape.dims);
    compare_ordering(&b.ordering, &expected.ordering);
    compare_index(&b, &expected);
    compare_values(&b, &expected, precision);
    compare_blocks(&b, &expected);
    note(met, &expected, index_bits);
    device_blco_free(&b);
    blco_free(&expected);
}

/* All orderings, from nonzeros as they came and sorted; the last ordering uses the nonzeros up. */
static void check_tensor(const struct coo *x, uint64_t *seed, struct met *met)
{
    static const int index_bits[] = {0, 5, 64, 128};
    struct error error = {0};
    struct device_coo d;
    upload_coo(&d, x);
    for (int sorted = 0; sorted < 2; sorted++) {
        if (sorted)
            assert_int_equal(device_coo_sort(&d, &error), STATUS_OK);
        for (int kind = ORDERING_ALTO; kind < x->shape.order; kind++)
            check_build(x, &d, kind, index_bits[naive_random(seed) % 4],
                        naive_random(seed) % 2 ? PRECISION_DOUBLE : PRECISION_SINGLE, false, met);
    }
    check_build(x, &d, (int)(naive_random(seed) % (uint64_t)(x->shape.order + 1)) - 1, 0,
                naive_random(seed) % 2 ? PRECISION_DOUBLE : PRECISION_SINGLE, true, met);
    device_coo_free(&d);
}

static uint64_t random_nnz(uint64_t *seed)
{
    uint64_t most = UINT64_C(1) << naive_random(seed) % 18;
    uint64_t nnz = most + naive_random(seed) % most;
    return nnz < MOST_NNZ ? nnz : MOST_NNZ;
}

static void test_random_tensors(void **state)
{
    (void)state;
    static const int bits[] = {12, 30, 50, 64, 66, 90, 126, 180, 300};
    struct met met = {0};
    uint64_t seed = 1;
    for (int i = 0; i < SHAPES; i++) {
        int order = i % 9 < 8 ? i % 9 + 1 : 16;
        uint64_t dims[MAX_ORDER];
        struct coo x;
        random_lengths(&seed, order, bits[naive_random(&seed) % 9], dims);
        naive_random_coo(&x, SHAPE(order, dims), random_nnz(&seed), naive_random(&seed), i % 2);
        check_tensor(&x, &seed, &met);
        coo_free(&x);
    }
    assert_true(met.blocks > 20 && met.one_block > 20);
    assert_true(met.long_lines > 20 && met.longer_lines > 20);
}

/* index_bits 0 where 64 bits leave few nonzeros in a block, and where they leave many. */
static void test_choice_of_words(void **state)
{
    (void)state;
    static const uint64_t dims[][3] = {
        {1 << 22, 1 << 22, 1 << 22},
        {1 << 28, 1 << 27, 1 << 26},
        {1 << 23, 1 << 22, 5},
    };
    struct met met = {0};
    for (int i = 0; i < 3; i++) {
        struct coo x;
        struct device_coo d;
        naive_random_coo(&x, SHAPE(3, dims[i]), MOST_NNZ, 5, 0);
        upload_coo(&d, &x);
        for (int kind = ORDERING_ALTO; kind < 3; kind++)
            check_build(&x, &d, kind, 0, PRECISION_DOUBLE, false, &met);
        device_coo_free(&d);
        coo_free(&x);
    }
    assert_true(met.two_words >= 3 && met.one_word_cut >= 3);
}

static void test_small_tensors(void **state)
{
    (void)state;
    static const uint64_t ones[MAX_ORDER] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const uint64_t full[4] = {MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH};
    struct met met = {0};
    uint64_t seed = 2;
    for (uint64_t nnz = 0; nnz < 3; nnz++) {
        struct coo x;
        naive_random_coo(&x, SHAPE(16, ones), nnz, 3, 0);
        check_tensor(&x, &seed, &met);
        coo_free(&x);
        naive_random_coo(&x, SHAPE(2, full), nnz, 4, 0);
        check_tensor(&x, &seed, &met);
        coo_free(&x);
        naive_random_coo(&x, SHAPE(4, full), nnz, 5, 0);
        check_tensor(&x, &seed, &met);
        coo_free(&x);
    }
}

/* The device has what the host has. */
static void check_upload(const struct coo *x)
{
    struct device_coo d;
    upload_coo(&d, x);
    assert_int_equal(cudaDeviceSynchronize(), cudaSuccess);
    double *value = downloaded(d.value, d.nnz, sizeof *value);
    assert_memory_equal(value, x->value, d.nnz * sizeof *value);
    uint64_t *line = downloaded(d.line, d.nnz, sizeof *line);
    for (uint64_t i = 0; i < x->nnz; i++) {
        uint64_t expected = 0;
        for (int n = 0; n < x->shape.order; n++)
            expected |= (uint64_t)x->index[n][i] << d.ordering.place[n][0];
        if (line[i] != expected)
            fail_msg("line %llu", (unsigned long long)i);
    }
    free(line);
    free(value);
    device_coo_free(&d);
}

/* Lines of few bits and of all, of modes that have bits and that have none. */
static void test_lines(void **state)
{
    (void)state;
    static const uint64_t dims[][5] = {
        {9, 80, 20, 40, 1},           {90, 80, 100, 40, 9},
        {300, 1, 1 << 17, 300, 5},    {1 << 10, 1 << 12, 1 << 20, 2, 3},
        {1 << 20, 1 << 17, 7, 9, 90}, {MAX_LENGTH, 90, 1 << 17, 2, 9}};
    for (int t = 0; t < 6; t++)
        for (uint64_t nnz = 1; nnz <= MOST_NNZ; nnz = nnz * 53 + 970) {
            struct coo x;
            naive_random_coo(&x, SHAPE(5, dims[t]), nnz, nnz, 1);
            check_upload(&x);
            coo_free(&x);
        }
}

/* So many that every thread's staging buffers are used several times over. */
static void test_many_nonzeros(void **state)
{
    (void)state;
    static const uint64_t dims[][3] = {{1 << 8, 1 << 7, 1 << 9}, {1 << 28, 1 << 27, 1 << 29}};
    const uint64_t nnz = 5000000;
    struct error error = {0};
    struct met met = {0};
    uint64_t seed = 3;
    for (int t = 0; t < 2; t++) {
        struct coo x;
        assert_int_equal(coo_create(&x, SHAPE(3, dims[t]), nnz, &error), STATUS_OK);
        for (uint64_t i = 0; i < nnz; i++) { /* distinct: an odd factor modulo 2^24 */
            uint32_t line = (uint32_t)(i * 10368889) & 0xffffff, spread = t ? 1 << 20 : 1;
            x.index[0][i] = (line & 0xff) * spread;
            x.index[1][i] = (line >> 8 & 0x7f) * spread;
            x.index[2][i] = (line >> 15) * spread;
            x.value[i] = (double)i + 0.1;
        }
        check_tensor(&x, &seed, &met);
        coo_free(&x);
    }
}

/* The nonzeros' positions along the line, in 8 bytes each, and the first word of the index and the
 * flags that these positions lead to. */
static void by_position(const struct device_coo *d, const struct ordering *o, int position_size,
                        uint64_t *position, uint64_t *word, uint8_t *flag)
{
    struct error error = {0};
    struct array_pairs p;
    struct bit_moves moves;
    struct tuples_nonzeros coordinates = device_coo_tuples(d);
    const uint32_t above[MAX_ORDER] = {~0xfffffu, ~0xfffu, ~0xffu};
    assert_int_equal(device_pairs_take(&p, d->nnz, position_size, d->pool, &error), STATUS_OK);
    assert_int_equal(device_coo_sort_positions(&p, d, o, &error), STATUS_OK);
    void *host = downloaded(p.value[0], d->nnz, (size_t)position_size);
    for (uint64_t i = 0; i < d->nnz; i++)
        position[i] = position_size == 4 ? ((uint32_t *)host)[i] : ((uint64_t *)host)[i];
    free(host);

    ordering_moves_create(&moves, NULL, o, ORDERING_INDEX, 0);
    assert_int_equal(linearise_gather_words(&coordinates, p.value[0], position_size, p.key[0],
                                            d->nnz, &moves, NULL),
                     cudaSuccess);
    assert_int_equal(cudaMemcpy(word, p.key[0], d->nnz * sizeof *word, cudaMemcpyDeviceToHost),
                     cudaSuccess);
    uint8_t *device_flag = (void *)p.key[0];
    assert_int_equal(linearise_flag_coordinates(&coordinates, above, p.value[0], position_size,
                                                device_flag, p.key[1], d->nnz, NULL),
                     cudaSuccess);
    assert_int_equal(cudaMemcpy(flag, device_flag, d->nnz, cudaMemcpyDeviceToHost), cudaSuccess);
    device_pairs_give(&p, d->pool);
}

/* Positions of 8 bytes, which only tensors too large for a test need, lead to the same result as
 * positions of 4 bytes. */
static void test_wide_positions(void **state)
{
    (void)state;
    static const uint64_t dims[3] = {1 << 28, 1 << 27, 1 << 26};
    enum { NNZ = 50000 };
    static uint64_t position[2][NNZ], word[2][NNZ];
    static uint8_t flag[2][NNZ];
    struct coo x;
    struct device_coo d;
    naive_random_coo(&x, SHAPE(3, dims), NNZ, 7, 1);
    upload_coo(&d, &x);
    for (int kind = ORDERING_ALTO; kind < 3; kind++) {
        struct ordering o;
        ordering_create(&o, kind, SHAPE(3, dims), 128);
        for (int wide = 0; wide < 2; wide++)
            by_position(&d, &o, wide ? 8 : 4, position[wide], word[wide], flag[wide]);
        assert_memory_equal(position[0], position[1], x.nnz * sizeof *position[0]);
        assert_memory_equal(word[0], word[1], x.nnz * sizeof *word[0]);
        assert_memory_equal(flag[0], flag[1], x.nnz);
    }
    device_coo_free(&d);
    coo_free(&x);
}

/* Upload, sort, build: a step that fails leaves its result empty, but a sort that fails leaves the
 * nonzeros as they were. Returns the status of the step that failed. */
static enum status try_steps(const struct coo *x, int index_bits)
{
    struct error error = {0}, sort_error = {0};
    struct device_coo d;
    struct device_blco b;
    if (device_coo_upload(&d, x, &staging, &pool, &error) != STATUS_OK) {
        assert_null(d.value);
        assert_null(d.line);
        return error.status;
    }
    device_coo_sort(&d, &sort_error);
    assert_int_equal(d.sorted, sort_error.status == STATUS_OK);
    const struct device_blco_options options = {
        .kind = 1, .index_bits = index_bits, .precision = PRECISION_DOUBLE};
    if (device_blco_build(&b, &d, &options, &error) == STATUS_OK) {
        struct met met = {0};
        if (!memory_hook_fired()) /* the host's build is not to be failed */
            memory_hook_set(-1);
        check_build(x, &d, 1, index_bits, PRECISION_DOUBLE, false, &met);
        device_blco_free(&b);
    } else {
        assert_null(b.index[0]);
        assert_null(b.value);
        assert_null(b.block);
    }
    device_coo_free(&d);
    return sort_error.status != STATUS_OK ? sort_error.status : error.status;
}

/* With a pool of its own, so that all memory is given back. */
static enum status try_build(const struct coo *x, int index_bits)
{
    struct error error = {0};
    enum status status = device_pool_open(&pool, 0, staging.stream, 0, &error);
    if (status == STATUS_OK)
        status = try_steps(x, index_bits);
    device_pool_close(&pool);
    return status;
}

static uint64_t free_memory(void)
{
    size_t available, total;
    assert_int_equal(cudaMemGetInfo(&available, &total), cudaSuccess);
    return available;
}

static void test_failing_allocations(void **state)
{
    (void)state;
    device_pool_close(&pool);
    static const uint64_t dims[][3] = {{1 << 10, 1 << 12, 1 << 14}, {1 << 25, 1 << 26, 1 << 27}};
    for (int t = 0; t < 4; t++) {
        struct coo x;
        int index_bits = t / 2 ? 20 : 0;
        naive_random_coo(&x, SHAPE(3, dims[t % 2]), MOST_NNZ, 6, 0);
        assert_int_equal(try_build(&x, index_bits), STATUS_OK);
        uint64_t before = free_memory();
        int failures = 0, fired = 1;
        for (long k = 0; fired; k++) {
            memory_hook_set(k);
            enum status status = try_build(&x, index_bits);
            fired = memory_hook_fired();
            memory_hook_set(-1);
            assert_true(status == STATUS_OK || status == STATUS_MEMORY);
            failures += status == STATUS_MEMORY;
        }
        assert_in_range(failures, 5, 100);
        assert_true(free_memory() + MOST_NNZ * sizeof(double) > before);
        coo_free(&x);
    }
    struct error error = {0};
    assert_int_equal(device_pool_open(&pool, 0, staging.stream, 0, &error), STATUS_OK);
}

/* After every failing allocation the staging can be closed. */
static void test_failing_staging(void **state)
{
    (void)state;
    struct error error = {0};
    struct device_staging s;
    memory_hook_set(0);
    assert_int_equal(device_staging_open(&s, 0, NULL, &error), STATUS_MEMORY);
    memory_hook_set(-1);
    device_staging_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small_tensors),       cmocka_unit_test(test_random_tensors),
        cmocka_unit_test(test_choice_of_words),     cmocka_unit_test(test_many_nonzeros),
        cmocka_unit_test(test_wide_positions),      cmocka_unit_test(test_lines),
        cmocka_unit_test(test_failing_allocations), cmocka_unit_test(test_failing_staging),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
