/* Batches sorted by output row on the device against a sort on the host: stable, by the upper bits
 * where rows have more bits than are sorted by, from either word of an index. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <stdio.h>

#include <cmocka.h>

#include "backend/cuda/stream/device_stream.h"
#include "plan/plan.h"
#include "support/gpu_arrays.h"

/* A batch: word `field.word` of its indices on the host, both words on the device. */
struct batch {
    struct mttkrp_field field;
    uint32_t nnz;
    uint64_t *word;
    uint64_t *index[2];
};

/* Rows of so many bits, only a few different rows where `dense`; the bits around them differ too.
 */
static void make_batch(struct batch *b, uint32_t nnz, int bits, bool dense, uint64_t *seed)
{
    uint64_t mask = (UINT64_C(1) << bits) - 1;
    *b = (struct batch){.nnz = nnz, .field = {.mask = (uint32_t)mask}};
    b->field.word = (int)(naive_random(seed) % 2);
    b->field.shift = (int)(naive_random(seed) % (uint64_t)(65 - (bits ? bits : 1)));
    uint64_t *words[2];
    for (int w = 0; w < 2; w++) {
        words[w] = malloc(nnz * sizeof *words[w]);
        assert_non_null(words[w]);
        for (uint32_t i = 0; i < nnz; i++)
            words[w][i] = naive_random(seed);
        if (dense) /* a few hundred rows, with the same upper bits */
            for (uint32_t i = 0; i < nnz; i++)
                words[w][i] = (words[w][i] & ~(mask << b->field.shift)) |
                              ((words[w][i] % 300 & mask) << b->field.shift);
        b->index[w] = uploaded(words[w], nnz * sizeof *words[w]);
    }
    b->word = words[b->field.word];
    free(words[1 - b->field.word]);
}

static void free_batch(struct batch *b)
{
    free(b->word);
    cudaFree(b->index[0]);
    cudaFree(b->index[1]);
}

/* The key of nonzero i. */
static uint32_t key(const struct batch *b, int bits, uint32_t i)
{
    uint32_t row = (uint32_t)(b->word[i] >> b->field.shift) & b->field.mask;
    return bits > ROW_SORT_BITS ? row >> (bits - ROW_SORT_BITS) : row;
}

/* Ascending keys, ascending positions of equal keys, and each position once: the only such order.
 */
static void check_order(const struct batch *b, int bits, const uint32_t *position)
{
    uint8_t *seen = calloc(b->nnz, 1);
    assert_non_null(seen);
    for (uint32_t i = 0; i < b->nnz; i++) {
        assert_true(position[i] < b->nnz && !seen[position[i]]);
        seen[position[i]] = 1;
        if (i == 0)
            continue;
        uint32_t before = key(b, bits, position[i - 1]), here = key(b, bits, position[i]);
        if (before > here || (before == here && position[i - 1] > position[i]))
            fail_msg("%u nonzeros, rows of %d bits: number %u", b->nnz, bits, i);
    }
    free(seen);
}

static void check_batch(const struct row_sort *sort, const struct batch *b, int bits)
{
    struct mttkrp_args args = {.index = {b->index[0], b->index[1]}, .output = b->field};
    uint32_t *position = malloc(b->nnz * sizeof *position);
    assert_non_null(position);
    good(row_sort_launch(sort, &args, b->nnz, NULL));
    good(cudaMemcpy(position, args.position, b->nnz * sizeof *position, cudaMemcpyDeviceToHost));
    check_order(b, bits, position);
    free(position);
}

/* One nonzero to many, each in the room for the most. */
static void test_orders(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {1, 2, 50, 2048, 2049, 70001, 1 << 20, 3000017};
    static const int bits[] = {0, 1, 7, 8, 15, 16, 17, 23, 24, 31, 32};
    struct row_sort sort;
    struct error error = {0};
    uint64_t used = 0, seed = 1;
    assert_int_equal(device_batch_sort_open(&sort, 3000017, &used, &error), STATUS_OK);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t k = 0; k < sizeof bits / sizeof *bits; k++)
            for (int dense = 0; dense < 2; dense++) {
                struct batch b;
                if (sizes[s] > 1 << 20 && k % 3 != 0) /* time on the host */
                    continue;
                make_batch(&b, sizes[s], bits[k], dense, &seed);
                check_batch(&sort, &b, bits[k]);
                free_batch(&b);
            }
    device_batch_sort_close(&sort);
}

/* The memory plan counts on it. */
static void test_memory(void **state)
{
    (void)state;
    for (uint64_t nnz = 1; nnz < 1 << 25; nnz += nnz / 2 + 1) {
        struct row_sort sort;
        struct error error = {0};
        uint64_t used = 5;
        assert_int_equal(device_batch_sort_open(&sort, nnz, &used, &error), STATUS_OK);
        assert_in_range(used - 5, 16 * nnz, PLAN_SORT_BYTES * nnz + 16384);
        device_batch_sort_close(&sort);
    }
}

static void test_failing_allocations(void **state)
{
    (void)state;
    for (long k = 0; k < 5; k++) {
        struct row_sort sort;
        struct error error = {0};
        uint64_t used = 0;
        memory_hook_set(k);
        assert_int_equal(device_batch_sort_open(&sort, 1000, &used, &error), STATUS_MEMORY);
        memory_hook_set(-1);
        device_batch_sort_close(&sort);
    }
    struct row_sort sort;
    struct error error = {0};
    uint64_t used = 0;
    assert_int_equal(device_batch_sort_open(&sort, UINT64_C(1) << 33, &used, &error),
                     STATUS_MEMORY);
    device_batch_sort_close(&sort);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_orders),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
