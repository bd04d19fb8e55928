#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "plan/replica_choice.h"
#include "base/memory.h"
#include "formats/blco/segment_rows.h"
#include "support/packed_tensors.h"

/* The number of sweeps of these seconds after which to build; 0: not within `most` sweeps. */
static int sweeps_until(struct replica_choice c, const double *seconds, int most)
{
    for (int sweep = 1; sweep <= most; sweep++)
        if (replica_choice_sweep(&c, seconds))
            return sweep;
    return 0;
}

static void test_known_number_of_iterations(void **state)
{
    (void)state;
    static const double seconds[2] = {10, 10}; /* each gains at most 3 */
    struct replica_choice c = {.order = 2, .build_seconds = 60};
    c.iterations = 21; /* twenty to come: half of them gain 10 * 6 seconds */
    assert_int_equal(sweeps_until(c, seconds, 30), 1);
    c.iterations = 20;
    assert_int_equal(sweeps_until(c, seconds, 9), 0);
    c.build_seconds = 0;
    assert_int_equal(sweeps_until(c, seconds, 1), 1);
}

static void test_what_was_lost(void **state)
{
    (void)state;
    static const double seconds[2] = {10, 10};
    struct replica_choice c = {.order = 2, .build_seconds = 59};
    assert_int_equal(sweeps_until(c, seconds, 30), 10);
    c.iterations = 5; /* ALS that goes on after them has lost as much */
    assert_int_equal(sweeps_until(c, seconds, 30), 10);
}

static void test_bound_by_the_bus(void **state)
{
    (void)state;
    static const double seconds[3] = {10, 10, 10};
    struct replica_choice c = {
        .order = 3, .iterations = 1000000, .build_seconds = 0, .bus_seconds = {10, 12, 10}};
    assert_int_equal(sweeps_until(c, seconds, 100), 0);
    c.bus_seconds[1] = 9; /* one second a sweep */
    c.build_seconds = 400000;
    assert_int_equal(sweeps_until(c, seconds, 100), 1);
    c.build_seconds = 500001;
    assert_int_equal(sweeps_until(c, seconds, 100), 0);
}

/* --- Replica pieces: as long as they may be, and the batches that have nonzeros for them. --- */

#define ROWS 300

static void check_cut(const struct replica_pieces *p, const uint32_t *count, uint64_t length,
                      uint64_t most)
{
    uint64_t row = 0;
    for (uint64_t i = 0; i < p->count; i++) {
        uint64_t sum = 0;
        assert_int_equal(replica_pieces_begin(p, i), row);
        for (; row < p->end[i]; row++)
            sum += count[row];
        assert_true(sum <= most);
        assert_true(row == length || sum + count[row] > most);
    }
    assert_int_equal(row, length);
}

static void test_cut(void **state)
{
    (void)state;
    uint64_t seed = 1;
    int refused = 0, whole = 0;
    for (int i = 0; i < 2000; i++) {
        struct error error = {0};
        struct replica_pieces p;
        uint32_t count[ROWS], largest = 0;
        uint64_t length = 1 + naive_random(&seed) % ROWS, nnz = 0;
        for (uint64_t r = 0; r < length; r++) {
            count[r] = (uint32_t)(naive_random(&seed) % (r % 9 ? 5 : 40));
            largest = count[r] > largest ? count[r] : largest;
            nnz += count[r];
        }
        uint64_t most = 1 + naive_random(&seed) % (i % 5 ? 100 : 2000);
        enum status status = replica_pieces_cut(&p, count, length, nnz, most, &error);
        assert_true((status == STATUS_OK) == (largest <= most));
        if (status == STATUS_OK) {
            check_cut(&p, count, length, most);
            whole += p.count == 1;
        } else {
            assert_int_equal(status, STATUS_MEMORY);
            assert_null(p.end);
            refused++;
        }
        replica_pieces_free(&p);
    }
    assert_true(refused > 100 && whole > 100);
}

static void test_counts_that_wrapped(void **state)
{
    (void)state;
    static const uint32_t count[] = {3, 4, 5};
    struct error error = {0};
    struct replica_pieces p;
    assert_int_equal(
        replica_pieces_cut(&p, count, 3, 12 + (UINT64_C(1) << 32), UINT64_C(1) << 40, &error),
        STATUS_MEMORY);
    assert_null(p.end);
}

static void test_batches(void **state)
{
    (void)state;
    struct replica_pieces p = {.end = (uint32_t[]){10, 20, 21, UINT32_MAX}, .count = 4};
    static struct row_range range[] = {
        {0, 9}, {10, 10}, {5, 30}, {20, 20}, {22, UINT32_MAX - 1}, {19, 19}, {0, UINT32_MAX - 1}};
    static const struct {
        uint64_t count, batch[7];
    } expected[] = {{3, {0, 2, 6}}, {4, {1, 2, 5, 6}}, {3, {2, 3, 6}}, {3, {2, 4, 6}}};
    const struct batch_rows batches = {range, 7};
    uint64_t list[7];
    for (uint64_t i = 0; i < p.count; i++) {
        assert_int_equal(replica_pieces_batches(&p, i, &batches, list), expected[i].count);
        for (uint64_t k = 0; k < expected[i].count; k++)
            assert_int_equal(list[k], expected[i].batch[k]);
    }
    struct row_range beyond = {500, 600};
    const struct batch_rows nowhere = {&beyond, 1};
    assert_int_equal(replica_pieces_batches(&p, 0, &nowhere, list), 0);
}

static uint64_t largest(const uint32_t *count, uint64_t length)
{
    uint32_t most = 0;
    for (uint64_t i = 0; i < length; i++)
        most = count[i] > most ? count[i] : most;
    return most;
}

/* Batches that a mode's replica pieces, about `pieces` of them, read together, cut by counts (*cut)
 * or guessed (*guess). Returns how many they would read if each read all batches. */
static uint64_t count_passes(const struct packed_tensor *packed, const struct coo *x, int mode,
                             uint64_t segments, uint64_t pieces, uint64_t *cut, uint64_t *guess)
{
    struct error error = {0};
    struct replica_pieces p;
    uint64_t length = x->shape.dims[mode], batches = (packed->nsegments + segments - 1) / segments;
    uint32_t *count = memory_zeros(length, sizeof *count, &error);
    struct row_range *range = memory_array(batches, sizeof *range, &error);
    uint64_t *list = memory_array(batches, sizeof *list, &error);
    assert_true(count && range && list);
    for (uint64_t i = 0; i < x->nnz; i++)
        count[x->index[mode][i]]++;
    uint64_t most = x->nnz / pieces + largest(count, length), all;
    const struct batch_rows rows = {range, batches};
    segment_rows_of_batches(range, packed, mode, segments);
    assert_int_equal(replica_pieces_cut(&p, count, length, x->nnz, most, &error), STATUS_OK);
    *cut = *guess = 0;
    all = p.count * batches;
    for (uint64_t i = 0; i < p.count; i++)
        *cut += replica_pieces_batches(&p, i, &rows, list);
    replica_pieces_free(&p);
    assert_int_equal(replica_pieces_guess(&p, &rows, length, x->nnz, most, &error), STATUS_OK);
    for (uint64_t i = 0; i < p.count; i++) {
        assert_true(p.end[i] > replica_pieces_begin(&p, i));
        *guess += replica_pieces_batches(&p, i, &rows, list);
    }
    assert_int_equal(p.end[p.count - 1], length);
    replica_pieces_free(&p);
    memory_free(count);
    memory_free(range);
    memory_free(list);
    return all;
}

/* Few of the batches have rows of a replica piece, and the guess is near to the cut. */
static void test_guess(void **state)
{
    (void)state;
    static const uint64_t dims[] = {3000, 700, 12000};
    for (int skewed = 0; skewed < 2; skewed++) {
        struct error error = {0};
        struct packed_tensor p;
        struct coo x;
        naive_random_coo(&x, SHAPE(3, dims), 300000, 1, skewed);
        assert_int_equal(packed_tensor_build(&p, &x, ORDERING_ALTO, 100, NULL, &error), STATUS_OK);
        for (int n = 0; n < 3; n++)
            for (uint64_t pieces = 1; pieces <= 16; pieces *= 2) {
                uint64_t cut, guess, all = count_passes(&p, &x, n, 3, pieces, &cut, &guess);
                assert_true(guess >= cut / 2 && guess <= cut * 2);
                assert_true(pieces < 16 || cut < all * 2 / 3);
            }
        packed_tensor_free(&p);
        coo_free(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_number_of_iterations),
        cmocka_unit_test(test_what_was_lost),
        cmocka_unit_test(test_bound_by_the_bus),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_counts_that_wrapped),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_guess),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
