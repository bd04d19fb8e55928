/* Sums of residuals and the strangest entries, against sums in long double and sorting all;
 * p-values of all cells of tensors of counts, adjusted. */
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
#include "report/adjusted_p.h"
#include "report/residuals.h"
#include "support/sanitized.h"
#include "support/naive.h"
#include "support/naive_rows.h"
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
    assert_int_equal(residuals_rank(r, NULL, NULL, &error), STATUS_OK);
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
                assert_int_equal(
                    residuals_begin(&r, &x.shape, &loss_squares, counts[c], false, &error),
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
        assert_int_equal(residuals_begin(&r[k], &x.shape, &loss_squares, 10, false, &error),
                         STATUS_OK);
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
    struct coo x;
    draw(&x, false);
    assert_int_equal(residuals_begin(&r, &x.shape, &loss_squares, 5, false, &error), STATUS_OK);
    add_pieces(&r, &x, ENTRIES);
    const struct top_entries *top = &r.top[2];
    assert_int_equal(top->count, 5);
    uint64_t stronger = 0;
    for (uint64_t i = 0; i < dims[2]; i++)
        stronger += r.slice[2].squares[i] > top->entry[4].value;
    assert_true(stronger <= 4);
    for (int k = 0; k < 5; k++) {
        assert_true(top->entry[k].value == r.slice[2].squares[top->entry[k].index]);
        assert_true(k == 0 || top->entry[k].value <= top->entry[k - 1].value);
    }
    residuals_free(&r);
    coo_free(&x);
}

static double uniform(uint64_t *seed)
{
    return ((double)(naive_random(seed) % 1000000007) + .5) / 1000000007;
}

static int compare_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The least p_j N / j of all p_j that are at least p, of N ascending p-values, as logarithms. */
static double naive_adjusted(const double *log_p, uint64_t count, double p)
{
    double least = 0;
    for (uint64_t j = 0; j < count; j++)
        if (log_p[j] >= p)
            least = fmin(least, log(exp(log_p[j]) * (double)count / (double)(j + 1)));
    return least;
}

/* However many are kept and whatever is left out, adjusted p-values are exact up to p.exact, and
 * larger ones are not too small. */
static void adjusted_p_values(void **state)
{
    (void)state;
    enum { TESTS = 2000 };
    static const uint64_t kept[] = {1, 7, 100, 999, 1000, TESTS};
    static const int strange[] = {0, 50, 500};
    double log_p[TESTS], sorted[TESTS];
    uint64_t seed = 3, exact = 0;
    struct error error = {0};
    for (int s = 0; s < 3; s++)
        for (size_t k = 0; k < sizeof kept / sizeof *kept; k++)
            for (int left = 0; left < 2; left++) {
                struct p_values p;
                p_values_begin(&p, kept[k]);
                for (int i = 0; i < TESTS; i++) {
                    const double u = ceil(uniform(&seed) * 500) / 500; /* ties, some of them 1 */
                    log_p[i] = log(i < strange[s] ? pow(u, 9) : u);
                }
                memcpy(sorted, log_p, sizeof sorted);
                qsort(sorted, TESTS, sizeof *sorted, compare_numbers);
                double least = INFINITY;
                for (int i = 0; i < TESTS; i++)
                    if (left && i % 3 == 0)
                        least = fmin(least, log_p[i]);
                for (int i = 0; i < TESTS; i++)
                    if (!left || i % 3 || log_p[i] < least)
                        assert_int_equal(p_values_add(&p, &log_p[i], 1, &error), STATUS_OK);
                assert_int_equal(p_values_add(&p, (const double[]){NAN}, 1, &error), STATUS_OK);
                if (left)
                    p_values_leave(&p, least);
                assert_int_equal(p_values_adjust(&p, TESTS, &error), STATUS_OK);
                for (uint64_t i = 0; i < p.count; i++) {
                    const double found = p_values_adjusted(&p, p.log_p[i]),
                                 expected = naive_adjusted(sorted, TESTS, p.log_p[i]);
                    assert_true(found >= expected - 1e-12);
                    assert_true(found > p.exact || fabs(found - expected) < 1e-12);
                    exact += found <= p.exact;
                }
                p_values_free(&p);
            }
    assert_true(exact > 1000);
}

/* Counts of all cells of a model whose rates are `scale` times numbers from 0 to 3. */
struct counted {
    struct ktensor k;
    struct coo x;   /* the counts above 0, some zeros and unknown entries */
    double *log_p;  /* (cells) of those that are known */
    uint64_t cells; /* that are known */
};

static void count_cells(struct counted *c, const uint64_t *lengths, double scale, bool unknown,
                        uint64_t *seed)
{
    const uint64_t all = lengths[0] * lengths[1] * lengths[2];
    struct error error = {0};
    *c = (struct counted){.log_p = malloc(all * sizeof(double))};
    assert_non_null(c->log_p);
    assert_int_equal(ktensor_create(&c->k, SHAPE(3, lengths), 3, &error), STATUS_OK);
    ktensor_randomise(&c->k, KTENSOR_RANDOM, naive_random(seed));
    for (int r = 0; r < 3; r++)
        c->k.lambda[r] = scale;
    small_tensor(&c->x, 3, lengths, all);
    for (uint64_t i = 0; i < all; i++) {
        const uint32_t at[MAX_ORDER] = {(uint32_t)(i % lengths[0]),
                                        (uint32_t)(i / lengths[0] % lengths[1]),
                                        (uint32_t)(i / lengths[0] / lengths[1])};
        const double m = (double)naive_model_value(&c->k, at);
        double left = uniform(seed), own = exp(-m), x = 0;
        for (; left > own && x < 3000; own *= m / ++x)
            left -= own;
        if (unknown && naive_random(seed) % 50 == 0)
            x = NAN;
        if (x != 0 || (unknown && naive_random(seed) % 20 == 0))
            add_nonzero(&c->x, at, x);
        if (!isnan(x))
            c->log_p[c->cells++] = loss_poisson.log_p(x, m);
    }
    qsort(c->log_p, c->cells, sizeof *c->log_p, compare_numbers);
}

static void free_counted(struct counted *c)
{
    ktensor_free(&c->k);
    coo_free(&c->x);
    free(c->log_p);
}

static void add_counted(struct residuals *r, const struct counted *c, bool zeros)
{
    struct error error = {0};
    double *m = memory_array(c->x.nnz, sizeof *m, &error);
    assert_non_null(m);
    for (uint64_t i = 0; i < c->x.nnz; i++) {
        uint32_t at[MAX_ORDER] = {0};
        coo_coordinates(&c->x, i, at);
        m[i] = (double)naive_model_value(&c->k, at);
    }
    assert_int_equal(residuals_begin(r, &c->k.shape, &loss_poisson, 20, zeros, &error), STATUS_OK);
    assert_int_equal(residuals_add(r, &c->x, m, &error), STATUS_OK);
    assert_int_equal(residuals_rank(r, &c->k, NULL, &error), STATUS_OK);
    memory_free(m);
}

/* Listed and absent cells against all cells; cells that are not listed count unless they are
 * unknown. */
static void cells_of_counts(void **state)
{
    (void)state;
    uint64_t seed = 17;
    for (int turn = 0; turn < 20; turn++) {
        struct counted c;
        struct residuals r;
        count_cells(&c, (const uint64_t[]){9, 11, 8}, turn % 2 ? 1 : 6, true, &seed);
        for (int zeros = 0; zeros < 2; zeros++) {
            uint64_t strange = 0; /* of all cells that are as strange as the last of the shown */
            add_counted(&r, &c, zeros);
            assert_true(r.cells == (double)(zeros ? c.cells : r.known));
            assert_true(r.p.exact > 0 && r.p.count == r.known + r.absent.count);
            for (uint64_t i = 0; i < 20; i++) {
                const struct strange_entry *e = &r.entry[i];
                const double log_p = loss_poisson.log_p(e->value, e->model),
                             found = p_values_adjusted(&r.p, log_p);
                assert_true(e->strangeness == -log_p);
                assert_true(i == 0 || log_p >= -e[-1].strangeness);
                if (zeros)
                    assert_true(fabs(found - naive_adjusted(c.log_p, c.cells, log_p)) < 1e-9);
            }
            for (uint64_t i = 0; i < r.absent.count; i++) {
                const double log_p = loss_poisson.log_p(0, r.absent.entry[i].value);
                assert_true(i == 0 || r.absent.entry[i].value <= r.absent.entry[i - 1].value);
                assert_true(fabs(p_values_adjusted(&r.p, log_p) -
                                 naive_adjusted(c.log_p, c.cells, log_p)) < 1e-9);
                strange += log_p < 0;
            }
            assert_true((strange > 0) == zeros);
            residuals_free(&r);
        }
        free_counted(&c);
    }
}

/* Of data sets without anomalies, about one in twenty has an alarm; counts are whole numbers, so
 * that there are fewer rather than more. */
static void false_alarms(void **state)
{
    (void)state;
    enum { SETS = SANITIZED ? 40 : 400 };
    uint64_t seed = 23;
    int alarmed[2] = {0};
    for (int i = 0; i < SETS; i++)
        for (int sparse = 0; sparse < 2; sparse++) {
            struct counted c;
            struct residuals r;
            count_cells(&c, (const uint64_t[]){10, 12, 15}, sparse ? .5 : 200, false, &seed);
            add_counted(&r, &c, true);
            alarmed[sparse] += p_values_alarms(&r.p, .05) > 0;
            residuals_free(&r);
            free_counted(&c);
        }
    /* Continuous numbers would give 20. By the probabilities of all counts of such cells, 14.3 and
     * 2.8 are expected, with standard deviations of 3.7 and 1.7. */
    if ((!SANITIZED && alarmed[0] < 5) || alarmed[0] > 30 || alarmed[1] > 10)
        fail_msg("%d and %d of %d sets have an alarm", alarmed[0], alarmed[1], SETS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_count_and_cut),  cmocka_unit_test(the_same_bits),
        cmocka_unit_test(the_strangest_slices), cmocka_unit_test(adjusted_p_values),
        cmocka_unit_test(cells_of_counts),      cmocka_unit_test(false_alarms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
