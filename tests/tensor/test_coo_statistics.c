#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <math.h>
#include <omp.h>

#include <cmocka.h>

#include "base/memory.h"
#include "support/naive.h"
#include "tensor/coo_statistics.h"

#define PLENTY (UINT64_C(1) << 30)

/* A tensor in memory that is handed over `length` nonzeros at a time. */
struct cut {
    const struct coo *x;
    uint64_t length;
    int calls; /* of each_cut() */
};

static enum status each_cut(void *pieces, coo_taker take, void *context, struct error *error)
{
    struct cut *cut = pieces;
    const struct coo *x = cut->x;
    cut->calls++;
    for (uint64_t begin = 0; begin < x->nnz && error->status == STATUS_OK; begin += cut->length) {
        struct coo piece = *x;
        piece.nnz = x->nnz - begin < cut->length ? x->nnz - begin : cut->length;
        for (int n = 0; n < x->shape.order; n++)
            piece.index[n] = x->index[n] + begin;
        piece.value = x->value + begin;
        take(context, &piece, error);
    }
    return error->status;
}

static enum status cut_statistics(struct cut *cut, uint64_t memory, struct coo_statistics *s,
                                  struct error *error)
{
    struct coo_pieces pieces = {
        .shape = cut->x->shape, .nnz = cut->x->nnz, .each = each_cut, .pieces = cut};
    return coo_pieces_statistics(&pieces, memory, s, NULL, error);
}

static int compare_indices(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Counts equal neighbours in a sorted copy of the indices. */
static void naive_slices(const struct coo *x, int n, uint64_t *empty, uint64_t *largest)
{
    uint32_t *index = malloc((x->nnz + 1) * sizeof *index);
    assert_non_null(index);
    memcpy(index, x->index[n], x->nnz * sizeof *index);
    qsort(index, x->nnz, sizeof *index, compare_indices);
    *empty = x->shape.dims[n];
    *largest = 0;
    for (uint64_t i = 0, first = 0; i < x->nnz; i++) {
        if (i == 0 || index[i] != index[i - 1]) {
            --*empty;
            first = i;
        }
        *largest = i + 1 - first > *largest ? i + 1 - first : *largest;
    }
    free(index);
}

static void check_against_naive(const struct coo *x, const struct coo_statistics *s)
{
    long double norm_sq = 0;
    double least = INFINITY, largest = -INFINITY;
    int all_integer = 1;
    uint64_t known = 0, zeros = 0;
    for (uint64_t i = 0; i < x->nnz; i++) {
        if (isnan(x->value[i]))
            continue;
        known++;
        zeros += x->value[i] == 0;
        norm_sq += (long double)x->value[i] * x->value[i];
        least = fmin(least, x->value[i]);
        largest = fmax(largest, x->value[i]);
        all_integer &= x->value[i] == trunc(x->value[i]);
    }
    assert_true(fabsl((long double)s->norm * s->norm - norm_sq) <= 1e-13L * norm_sq);
    assert_true(s->least == (known ? least : 0) && s->largest == (known ? largest : 0));
    assert_int_equal(s->listed.unknown, x->nnz - known);
    assert_int_equal(s->listed.zeros, zeros);
    assert_int_equal(s->all_integer, all_integer);
    for (int n = 0; n < x->shape.order; n++) {
        uint64_t empty, fullest;
        naive_slices(x, n, &empty, &fullest);
        assert_int_equal(s->empty_slices[n], empty);
        assert_int_equal(s->largest_slice[n], fullest);
    }
}

/* Whatever the pieces, the memory and the threads, the same bits as in one piece. */
static void check_all_ways(const struct coo *x)
{
    static const uint64_t lengths[] = {1, 100, NORM_CHUNK, NORM_CHUNK + 1, 3 * NORM_CHUNK, 1 << 30},
                          memories[] = {3000, 100000, PLENTY};
    struct error error = {0};
    struct coo_statistics whole, s;
    struct coo borrowed = *x;
    const struct coo_pieces one = coo_in_one_piece(&borrowed);
    assert_int_equal(coo_pieces_statistics(&one, PLENTY, &whole, NULL, &error), STATUS_OK);
    check_against_naive(x, &whole);
    uint64_t counters = 0;
    for (int n = 0; n < x->shape.order; n++)
        counters += slice_counts_bytes(x->shape.dims[n], x->nnz, 0);
    int threads = omp_get_max_threads();
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (size_t m = 0; m < sizeof memories / sizeof *memories; m++) {
            if ((1 + x->nnz / lengths[l]) * (1 + counters / memories[m]) > 100)
                continue; /* too many pieces, too many times */
            struct cut cut = {.x = x, .length = lengths[l]};
            omp_set_num_threads((int)((l + m) % 3) + 1);
            assert_int_equal(cut_statistics(&cut, memories[m], &s, &error), STATUS_OK);
            assert_memory_equal(&s, &whole, sizeof s);
            if (memories[m] == PLENTY)
                assert_int_equal(cut.calls, 1);
            else if (counters > memories[m])
                assert_true(cut.calls > 1);
        }
    omp_set_num_threads(threads);
}

/* Modes of one index, of fewer indices than nonzeros, of more, and of so many more that only those
 * that occur are counted. */
static void test_any_pieces_memory_and_threads(void **state)
{
    (void)state;
    static const uint64_t dims[5] = {1, 30, 700, 40000, MAX_LENGTH};
    static const uint64_t lengths[] = {0, 1, 500, 20000};
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (int kind = 0; kind < 5; kind++) {
            const uint64_t unknown = kind < 2 ? 0 : kind < 4 ? 3 : 1; /* every third, or all */
            struct coo x;
            naive_random_coo(&x, SHAPE(5, dims), lengths[l], 9, 1);
            for (uint64_t i = 0; kind % 2 && i < x.nnz; i++)
                x.value[i] = (double)(i % 11) - 3;
            for (uint64_t i = 0; unknown && i < x.nnz; i += unknown)
                x.value[i] = COO_UNKNOWN;
            check_all_ways(&x);
            coo_free(&x);
        }
}

/* A few nonzeros in the longest modes take next to nothing. */
static void test_long_modes_of_few_nonzeros(void **state)
{
    (void)state;
    assert_true(slice_counts_bytes(MAX_LENGTH, 1000, 0) < 100000);
    assert_int_equal(slice_counts_bytes(1000, 1000, 0), 8000);
    assert_int_equal(slice_counts_bytes(1000, 1000, 2), 2000);
    assert_int_equal(slice_counts_bytes(1001, 1000, 2), 2008);
    /* all indices in one class, and the longest mode's last index */
    struct error error = {0};
    struct coo_statistics s;
    struct coo x;
    assert_int_equal(coo_create(&x, &(struct shape){2, {MAX_LENGTH, 3000}}, 3000, &error),
                     STATUS_OK);
    for (uint32_t i = 0; i < 3000; i++) {
        x.index[0][i] = (uint32_t)MAX_LENGTH - 1 - i / 3 * 4096;
        x.index[1][i] = i;
        x.value[i] = 1;
    }
    for (uint64_t memory = 1; memory <= PLENTY; memory *= PLENTY) {
        struct cut cut = {.x = &x, .length = 1000};
        assert_int_equal(cut_statistics(&cut, memory, &s, &error), STATUS_OK);
        assert_true((cut.calls > 1) == (memory == 1));
        assert_int_equal(s.empty_slices[0], MAX_LENGTH - 1000);
        assert_int_equal(s.largest_slice[0], 3);
        assert_true(s.empty_slices[1] == 0 && s.largest_slice[1] == 1);
    }
    coo_free(&x);
}

/* More parts than the threads share at a time. */
static void test_norm_of_many_values(void **state)
{
    (void)state;
    static struct norm_sum sum;
    uint64_t count = 1200 * NORM_CHUNK + 77, seed = 3;
    double *value = malloc(count * sizeof *value), first = 0;
    long double expected = 0;
    assert_non_null(value);
    for (uint64_t i = 0; i < count; i++) {
        value[i] = (double)(naive_random(&seed) % 1000) / 7;
        expected += (long double)value[i] * value[i];
    }
    int threads = omp_get_max_threads();
    for (int t = 1; t <= 4; t++) {
        omp_set_num_threads(t);
        norm_sum_begin(&sum);
        for (uint64_t at = 0, piece; at < count; at += piece) {
            piece = t == 1 ? count : naive_random(&seed) % 3000000;
            piece = count - at < piece ? count - at : piece;
            norm_sum_add(&sum, value + at, piece);
        }
        double total = norm_sum_total(&sum);
        if (t == 1)
            first = total;
        assert_true(fabsl(total - expected) < 1e-13L * expected);
        assert_memory_equal(&total, &first, sizeof total);
    }
    omp_set_num_threads(threads);
    free(value);
}

static enum status refuse(void *pieces, coo_taker take, void *context, struct error *error)
{
    (void)take;
    (void)context;
    return error_set(error, STATUS_INPUT, "%s", (const char *)pieces);
}

static void test_failures_come_through(void **state)
{
    (void)state;
    static const uint64_t dims[3] = {20, 300, MAX_LENGTH};
    static char reason[] = "no pieces";
    struct error error = {0};
    struct coo_statistics s;
    struct coo_pieces pieces = {.shape = {1, {1}}, .nnz = 1, .each = refuse, .pieces = reason};
    assert_int_equal(coo_pieces_statistics(&pieces, PLENTY, &s, NULL, &error), STATUS_INPUT);
    assert_string_equal(error.message, reason);

    struct coo x;
    int failures = 0;
    naive_random_coo(&x, SHAPE(3, dims), 1000, 4, 0);
    for (long k = 0, fired = 1; fired; k++) {
        struct cut cut = {.x = &x, .length = 300};
        error = (struct error){0};
        memory_hook_set(k);
        enum status status = cut_statistics(&cut, 3000, &s, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        failures += status != STATUS_OK;
    }
    check_against_naive(&x, &s);
    assert_true(failures > 10);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_pieces_memory_and_threads),
        cmocka_unit_test(test_long_modes_of_few_nonzeros),
        cmocka_unit_test(test_norm_of_many_values),
        cmocka_unit_test(test_failures_come_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
