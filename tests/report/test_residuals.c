/* Sums of residuals and the strangest entries, against sums in long double and sorting all. */
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
#include "report/residuals.h"
#include "support/naive.h"
#include "support/small_tensors.h"

#define ENTRIES 10000

static const uint64_t dims[] = {30, 7, 2000};
static double model[ENTRIES];

/* Residuals of few magnitudes and both signs; some values are unknown, all where `unknown`. */
static void draw(struct coo *x, bool unknown)
{
    uint64_t seed = 5;
    small_tensor(x, 3, dims, ENTRIES);
    for (uint64_t i = 0; i < ENTRIES; i++) {
        uint32_t at[3];
        for (int n = 0; n < 3; n++)
            at[n] = (uint32_t)(naive_random(&seed) % (dims[n] - (n == 2)));
        const double residual = (double)(naive_random(&seed) % 200) - 100;
        model[i] = (double)(naive_random(&seed) % 1000) / 8;
        const bool none = unknown || naive_random(&seed) % 10 == 0;
        add_nonzero(x, at, none ? (double)NAN : model[i] + residual);
    }
}

/* Adds the entries in pieces of this length. */
static void add_pieces(struct residuals *r, const struct coo *x, uint64_t length)
{
    struct error error = {0};
    for (uint64_t first = 0; first < x->nnz; first += length) {
        struct coo piece = *x;
        piece.nnz = x->nnz - first < length ? x->nnz - first : length;
        piece.value += first;
        for (int n = 0; n < 3; n++)
            piece.index[n] += first;
        assert_int_equal(residuals_add(r, &piece, model + first, &error), STATUS_OK);
    }
    residuals_rank(r);
}

static void near_sum(double sum, long double expected)
{
    assert_true(fabsl(sum - expected) <= 1e-13L * expected);
}

static void check_sums(const struct residuals *r, const struct coo *x)
{
    long double squares = 0, absolutes = 0;
    uint64_t known = 0;
    for (uint64_t i = 0; i < x->nnz; i++)
        if (!isnan(x->value[i])) {
            const long double residual = (long double)x->value[i] - model[i];
            squares += residual * residual;
            absolutes += fabsl(residual);
            known++;
        }
    assert_int_equal(r->entries, x->nnz);
    assert_int_equal(r->known, known);
    near_sum(r->squares, squares);
    near_sum(r->absolutes, absolutes);
    if (known > 0) {
        near_sum(residuals_rmse(r), sqrtl(squares / known));
        near_sum(residuals_mae(r), absolutes / known);
    }
}

static void check_slices(const struct residuals *r, const struct coo *x)
{
    for (int n = 0; n < 3; n++)
        for (uint64_t i = 0; i < dims[n]; i++) {
            long double squares = 0;
            uint64_t known = 0;
            for (uint64_t e = 0; e < x->nnz; e++)
                if (x->index[n][e] == i && !isnan(x->value[e])) {
                    const long double residual = (long double)x->value[e] - model[e];
                    squares += residual * residual;
                    known++;
                }
            assert_int_equal(r->slice[n].known[i], known);
            near_sum(r->slice[n].squares[i], squares);
        }
}

/* The strangest entry that comes after entry `before`, which is ENTRIES for the first; ENTRIES
 * where there is none. */
static uint64_t next_strange(const struct coo *x, uint64_t before)
{
    uint64_t best = ENTRIES;
    for (uint64_t i = 0; i < x->nnz; i++) {
        const double own = fabs(x->value[i] - model[i]);
        const double last = before < ENTRIES ? fabs(x->value[before] - model[before]) : INFINITY;
        if (isnan(own) || own > last || (own == last && i <= before))
            continue;
        if (best == ENTRIES || own > fabs(x->value[best] - model[best]))
            best = i;
    }
    return best;
}

static void check_strangest(const struct residuals *r, const struct coo *x, uint64_t count)
{
    uint64_t e = ENTRIES;
    assert_int_equal(r->count, count < r->known ? count : r->known);
    for (uint64_t i = 0; i < r->count && i < 300; i++) {
        e = next_strange(x, e);
        assert_int_equal(r->entry[i].number, e);
        assert_true(r->entry[i].value == x->value[e] && r->entry[i].model == model[e]);
        for (int n = 0; n < 3; n++)
            assert_int_equal(r->entry[i].index[n], x->index[n][e]);
    }
}

static void every_count_and_cut(void **state)
{
    (void)state;
    static const uint64_t counts[] = {0, 1, 5, 250, ENTRIES}, lengths[] = {ENTRIES, 4096, 777};
    const int threads = omp_get_max_threads();
    struct error error = {0};
    struct coo x;
    for (int unknown = 0; unknown < 2; unknown++) {
        draw(&x, unknown);
        for (int c = 0; c < 5; c++)
            for (int l = 0; l < 3; l++) {
                struct residuals r;
                omp_set_num_threads(l + 1);
                assert_int_equal(residuals_begin(&r, &x.shape, &loss_squares, counts[c], &error),
                                 STATUS_OK);
                add_pieces(&r, &x, lengths[l]);
                check_sums(&r, &x);
                check_slices(&r, &x);
                check_strangest(&r, &x, counts[c]);
                residuals_free(&r);
            }
        coo_free(&x);
    }
    omp_set_num_threads(threads);
}

/* Sums have the same bits whatever the threads and pieces, also where rounding shows. */
static void the_same_bits(void **state)
{
    (void)state;
    const int threads = omp_get_max_threads();
    struct error error = {0};
    struct residuals r[2];
    struct coo x;
    draw(&x, false);
    for (uint64_t i = 0; i < ENTRIES; i++)
        x.value[i] *= M_PI;
    for (int k = 0; k < 2; k++) {
        omp_set_num_threads(k ? 4 : 1);
        assert_int_equal(residuals_begin(&r[k], &x.shape, &loss_squares, 10, &error), STATUS_OK);
        add_pieces(&r[k], &x, k ? 999 : ENTRIES);
    }
    omp_set_num_threads(threads);
    assert_memory_equal(&r[0].squares, &r[1].squares, sizeof(double));
    assert_memory_equal(&r[0].absolutes, &r[1].absolutes, sizeof(double));
    for (int n = 0; n < 3; n++)
        assert_memory_equal(r[0].slice[n].squares, r[1].slice[n].squares, dims[n] * sizeof(double));
    residuals_free(&r[0]);
    residuals_free(&r[1]);
    coo_free(&x);
}

static void the_strangest_slices(void **state)
{
    (void)state;
    struct error error = {0};
    struct residuals r;
    struct top_entries top;
    struct coo x;
    draw(&x, false);
    assert_int_equal(residuals_begin(&r, &x.shape, &loss_squares, 5, &error), STATUS_OK);
    add_pieces(&r, &x, ENTRIES);
    assert_int_equal(residuals_slices(&top, &r, 2, &error), STATUS_OK);
    assert_int_equal(top.count, 5);
    uint64_t stronger = 0;
    for (uint64_t i = 0; i < dims[2]; i++)
        stronger += r.slice[2].squares[i] > top.entry[4].value;
    assert_true(stronger <= 4);
    for (int k = 0; k < 5; k++) {
        assert_true(top.entry[k].value == r.slice[2].squares[top.entry[k].index]);
        assert_true(k == 0 || top.entry[k].value <= top.entry[k - 1].value);
    }
    top_entries_free(&top);
    residuals_free(&r);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_count_and_cut),
        cmocka_unit_test(the_same_bits),
        cmocka_unit_test(the_strangest_slices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
