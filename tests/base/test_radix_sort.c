#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <omp.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/radix_sort.h"
#include "support/naive.h"

struct pair {
    uint64_t key, payload;
};

static int compare_pairs(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->payload < y->payload ? -1 : x->payload > y->payload;
}

/* The payload is the place before the sort, so the naive result by (key, payload) is the stable
 * one. `offset` shifts the arrays against cache lines. */
static void check_sort(const uint64_t *key, uint64_t n, int bits, uint64_t offset)
{
    struct error error = {0};
    uint64_t *k = malloc((n + offset + 1) * sizeof *k), *p = malloc((n + offset + 1) * sizeof *p);
    struct pair *expected = malloc((n + 1) * sizeof *expected);
    for (uint64_t i = 0; i < n; i++) {
        k[offset + i] = key[i];
        p[offset + i] = i;
        expected[i] = (struct pair){key[i], i};
    }
    qsort(expected, n, sizeof *expected, compare_pairs);
    assert_int_equal(radix_sort(k + offset, p + offset, n, &error), STATUS_OK);
    for (uint64_t i = 0; i < n; i++)
        if (k[offset + i] != expected[i].key || p[offset + i] != expected[i].payload)
            fail_msg("n %lu, bits %d: wrong at %lu", n, bits, i);
    free(k);
    free(p);
    free(expected);
}

static void test_every_width(void **state)
{
    (void)state;
    static uint64_t key[40000];
    static const uint64_t lengths[] = {0, 1, 2, 3, 25, 1000, 16384, 16385, 40000};
    uint64_t seed = 1;
    for (int bits = 0; bits <= 64; bits += 4)
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            for (uint64_t i = 0; i < lengths[l]; i++)
                key[i] = bits ? naive_random(&seed) >> (64 - bits) : 0;
            check_sort(key, lengths[l], bits, lengths[l] % 5);
        }
}

/* Distributions that make buckets empty, full, or deep: few keys, sorted, reversed, one bucket
 * nearly everything, keys that differ in single far bits. */
static uint64_t shaped_key(int shape, uint64_t i, uint64_t *seed)
{
    uint64_t random = naive_random(seed);
    switch (shape) {
    case 0:
        return random % 3;
    case 1:
        return i;
    case 2:
        return 1000000 - i;
    case 3:
        return random % 100 ? random >> 40 : random;
    case 4:
        return (random & 1) << 63 | (random & 2) << 30 | (random & 4) >> 2;
    case 5:
        return UINT64_C(0x123456789abcdef0);
    default:
        return random >> (random & 63);
    }
}

static void test_shapes_and_threads(void **state)
{
    (void)state;
    uint64_t n = 150000, seed = 2;
    uint64_t *key = malloc(n * sizeof *key);
    int threads = omp_get_max_threads();
    for (int shape = 0; shape <= 6; shape++) {
        for (uint64_t i = 0; i < n; i++)
            key[i] = shaped_key(shape, i, &seed);
        for (int t = 1; t <= 3; t++) {
            omp_set_num_threads(t);
            check_sort(key, n, 64, (uint64_t)t);
        }
    }
    omp_set_num_threads(threads);
    free(key);
}

/* Keys whose lowest bits hold the place before the sort, so that stability shows in them; moved
 * from where they stand in other words, with bits around them that do not belong to them. */
static void check_moved(int shape, uint64_t n, int low, int bits)
{
    struct error error = {0};
    const struct bit_moves moves = {
        2, {{0xfff, 52, 0}, {((UINT64_C(1) << bits) - 1) & ~0xfffull, 7, 0}}};
    uint64_t *from = malloc(5 * (n + 1) * sizeof *from), *payload = from + n + 1;
    uint64_t *k = payload + n + 1, *p = k + n + 1, *before = p + n + 1, seed = 5;
    struct pair *expected = malloc((n + 1) * sizeof *expected);
    for (uint64_t i = 0; i < n; i++) {
        from[i] = before[i] = shaped_key(shape, i, &seed);
        payload[i] = i;
        uint64_t moved = 0;
        for (int m = 0; m < moves.count; m++)
            moved |= bit_move_apply(moves.move[m], from[i]);
        k[i] = moved;
        expected[i] = (struct pair){moved >> low, i};
    }
    qsort(expected, n, sizeof *expected, compare_pairs);
    uint64_t *keys = malloc((n + 1) * sizeof *keys);
    memcpy(keys, k, n * sizeof *k);
    assert_int_equal(radix_sort_moved(&(struct sort_keys){&moves, low, bits},
                                      (struct pairs){from, payload}, (struct pairs){k, p}, n,
                                      &error),
                     STATUS_OK);
    for (uint64_t i = 0; i < n; i++)
        if (p[i] != expected[i].payload || k[i] != keys[p[i]])
            fail_msg("shape %d, n %lu, bits %d to %d: wrong at %lu", shape, n, low, bits, i);
    assert_memory_equal(from, before, n * sizeof *from);
    free(from);
    free(expected);
    free(keys);
}

static void test_moved(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {0, 1, 2, 30, 16384, 16385, 90000};
    static const int ranges[][2] = {{0, 13},  {0, 50},  {3, 40},  {12, 30},
                                    {30, 45}, {20, 20}, {50, 50}, {44, 50}};
    int threads = omp_get_max_threads();
    for (int shape = 0; shape <= 6; shape++)
        for (size_t r = 0; r < sizeof ranges / sizeof *ranges; r++)
            for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
                omp_set_num_threads(1 + (int)(l % 3));
                check_moved(shape, lengths[l], ranges[r][0], ranges[r][1]);
            }
    omp_set_num_threads(threads);
}

static void test_allocation_failures(void **state)
{
    (void)state;
    enum { N = 1000 };
    uint64_t key[N], payload[N], failures = 0;
    for (long k = 0;; k++) {
        struct error error = {0};
        for (uint64_t i = 0; i < N; i++) {
            key[i] = N - i;
            payload[i] = i;
        }
        memory_hook_set(k);
        enum status status = radix_sort(key, payload, N, &error);
        int fired = memory_hook_fired();
        memory_hook_set(-1);
        if (!fired) {
            assert_int_equal(status, STATUS_OK);
            assert_int_equal(key[0], 1);
            break;
        }
        failures++;
        assert_int_equal(status, STATUS_MEMORY);
        for (uint64_t i = 0; i < N; i++) {
            assert_int_equal(key[i], N - i);
            assert_int_equal(payload[i], i);
        }
    }
    assert_true(failures > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_width),
        cmocka_unit_test(test_shapes_and_threads),
        cmocka_unit_test(test_moved),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
