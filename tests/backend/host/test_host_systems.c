/* The systems of rows against plain sums over the nonzeros: orders, ranks beside the widths of
 * vectors, both precisions, every SIMD width, rows of one nonzero and of many blocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <omp.h>
#include <string.h>

#include <cmocka.h>

#include "backend/host/host_systems.h"
#include "backend/host/simd_width.h"
#include "base/memory.h"
#include "numerics/poisson_term.h"
#include "support/naive.h"

#define MOST      33 /* the largest R here */
#define LD        40
#define MOST_ROWS 300

/* What a row's system should be, and what it is. */
struct expected {
    long double b[MOST], q[MOST], g[MOST * MOST], size[MOST * MOST], known, least, misfit;
};
struct found {
    double number[SYSTEM_NUMBERS], a[MOST], b[MOST], q[MOST], g[MOST * LD];
};

struct case_of_rows {
    const struct coo *x;
    int mode;
    uint64_t rank;
    enum precision precision;
    bool rates;
    double unlisted;
    void *factor[MAX_ORDER];
    double now[MOST];
    struct expected *expected; /* (MOST_ROWS) */
    struct found *found;       /* (MOST_ROWS) */
};

static double entry_of(const struct case_of_rows *p, int n, uint64_t row, uint64_t r)
{
    const uint64_t at = row * p->rank + r;
    return p->precision == PRECISION_SINGLE ? (double)((float *)p->factor[n])[at]
                                            : ((double *)p->factor[n])[at];
}

static void make_factors(struct case_of_rows *p, uint64_t seed)
{
    for (int n = 0; n < p->x->shape.order; n++) {
        const uint64_t entries = p->x->shape.dims[n] * p->rank;
        p->factor[n] =
            malloc(entries * precision_bytes(p->precision)); /* exactly: for sanitizers */
        for (uint64_t i = 0; i < entries; i++) {
            const double x = (double)(1 + naive_random(&seed) % 1000) / 1000;
            if (p->precision == PRECISION_SINGLE)
                ((float *)p->factor[n])[i] = (float)x;
            else
                ((double *)p->factor[n])[i] = x;
        }
    }
    for (uint64_t r = 0; r < p->rank; r++)
        p->now[r] = 1 + (double)r / 8;
}

/* Adds nonzero i to the system of its row; returns its part of the misfit of counts. */
static long double expect(const struct case_of_rows *p, uint64_t i)
{
    const uint32_t row = p->x->index[p->mode][i];
    struct expected *to = &p->expected[row];
    long double z[MOST], m = 0;
    for (uint64_t r = 0; r < p->rank; r++) {
        z[r] = 1;
        for (int n = 0; n < p->x->shape.order; n++)
            if (n != p->mode)
                z[r] *= entry_of(p, n, p->x->index[n][i], r);
        m += z[r] * p->now[r] * entry_of(p, p->mode, row, r);
    }
    const double value = p->x->value[i];
    const struct row_term s = row_term(value, (double)m, p->unlisted);
    const struct poisson_term c = poisson_term(POISSON_COUNTS, value, (double)m, p->unlisted);
    const bool counts = p->rates;
    for (uint64_t r = 0; r < p->rank; r++) {
        to->b[r] += (counts ? c.c : s.c) * z[r];
        to->q[r] += counts ? c.q * z[r] : 0;
        for (uint64_t j = r; j < p->rank; j++) {
            to->g[r * MOST + j] += (counts ? c.w : s.w) * z[r] * z[j];
            to->size[r * MOST + j] += fabs(counts ? c.w : s.w) * (double)(z[r] * z[j]);
        }
    }
    to->known += value == value;
    to->misfit += s.misfit;
    to->least = loss_least((double)to->least, value);
    return (value == value ? poisson_count_misfit(value, (double)m) : 0) - p->unlisted * m;
}

/* Of G, or of Y'Y. */
static double entry_of_g(const struct host_system *s, uint64_t ld, uint64_t i, uint64_t j)
{
    double sum = 0;
    for (uint64_t k = 0; k < s->factor; k++)
        sum += s->g[k * ld + i] * s->g[k * ld + j];
    return s->factor > 0 ? sum : s->g[i * ld + j];
}

static void take(void *context, const struct host_system_rows *rows, double *scratch,
                 struct host_row_totals *totals)
{
    struct case_of_rows *p = context;
    const uint64_t ld = host_system_ld(p->rank);
    scratch[0] = totals->misfit; /* both are there */
    for (uint64_t l = 0; l < rows->count; l++) {
        const struct host_system *s = &rows->system[l];
        struct found *to = &p->found[rows->row[l]];
        memcpy(to->number, s->number, sizeof to->number);
        memcpy(to->a, rows->a[l], p->rank * sizeof *to->a);
        memcpy(to->b, s->b, p->rank * sizeof *to->b);
        memcpy(to->q, s->q, p->rank * sizeof *to->q);
        for (uint64_t i = 0; i < p->rank; i++)
            for (uint64_t j = i; j < p->rank; j++)
                to->g[i * LD + j] = entry_of_g(s, ld, i, j);
    }
}

static void near(long double found, long double expected, long double size, const char *what)
{
    if (!(fabsl(found - expected) <= 1e-12L * (1 + size)))
        fail_msg("%s: %.17Lg, expected %.17Lg", what, found, expected);
}

static void compare(const struct case_of_rows *p, uint64_t row)
{
    const struct expected *x = &p->expected[row];
    const struct found *s = &p->found[row];
    for (uint64_t i = 0; i < p->rank; i++) {
        near(s->a[i],
             x->known > 0 ? p->now[i] * (long double)entry_of(p, p->mode, row, i) : s->a[i], 0,
             "a");
        near(s->b[i], x->b[i], fabsl(x->b[i]) + x->size[i * MOST + i], "b");
        near(s->q[i], x->q[i], x->size[i * MOST + i] + x->known, "q");
        for (uint64_t j = i; j < p->rank; j++)
            near(s->g[i * LD + j], x->g[i * MOST + j], x->size[i * MOST + j], "G");
    }
    if (p->rates)
        assert_true((long double)s->number[SYSTEM_LEAST] == x->least);
    assert_true((long double)s->number[SYSTEM_KNOWN] == x->known);
    if (!p->rates)
        near(s->number[SYSTEM_MISFIT], x->misfit, s->number[SYSTEM_SIZE], "misfit");
}

static void run(struct case_of_rows *p, const struct host_slices *slices, struct loss_sums *sums)
{
    struct error error = {0};
    struct host_row_totals totals = {0};
    struct host_rows rows = {.rank = p->rank, .precision = p->precision};
    for (int n = 0; n < p->x->shape.order; n++)
        rows.of[n] = p->factor[n];
    const struct row_rules rules = {
        .unlisted = p->unlisted, .rates = p->rates, .matrix = true, .weighed = p->rates};
    const struct host_systems s = {.slices = slices,
                                   .factors = &rows,
                                   .now = p->now,
                                   .loss = p->rates ? &loss_poisson : &loss_squares,
                                   .rules = &rules,
                                   .sink = take,
                                   .context = p,
                                   .factor = p->rates ? p->rank - 1 : 0,
                                   .rows = 8,
                                   .scratch = 1};
    memset(p->found, 0, MOST_ROWS * sizeof *p->found);
    assert_int_equal(host_systems_sum(&s, 0, slices->count, &totals, &error), STATUS_OK);
    assert_int_equal(host_systems_values(&s, sums, &error), STATUS_OK);
}

/* Every SIMD width gives what is expected, and the same bits by any number of threads. */
static void check_widths(struct case_of_rows *p, const struct host_slices *slices,
                         long double misfit)
{
    struct found *first = malloc(MOST_ROWS * sizeof *first);
    const int threads = omp_get_max_threads();
    for (uint64_t width = 2; width <= 8; width *= 2) {
        struct loss_sums sums, again;
        simd_width_limit(width);
        omp_set_num_threads(1);
        run(p, slices, &sums);
        for (uint64_t row = 0; row < p->x->shape.dims[p->mode]; row++)
            compare(p, row);
        if (p->rates)
            near(sums.misfit, misfit, fabsl(misfit) + fabs(sums.model), "misfit of all");
        memcpy(first, p->found, MOST_ROWS * sizeof *first);
        omp_set_num_threads(5);
        run(p, slices, &again);
        assert_memory_equal(first, p->found, MOST_ROWS * sizeof *first);
        assert_memory_equal(&sums, &again, sizeof sums);
    }
    simd_width_limit(0);
    omp_set_num_threads(threads);
    free(first);
}

static void check(struct case_of_rows *p, uint64_t seed)
{
    struct error error = {0};
    struct blco b;
    struct host_slices slices;
    long double misfit = 0;
    assert_int_equal(blco_build(&b, p->x, &(struct blco_options){.kind = p->mode}, &error),
                     STATUS_OK);
    assert_int_equal(host_slices_take(&slices, &b, p->mode, &error), STATUS_OK);
    make_factors(p, seed);
    p->expected = calloc(MOST_ROWS, sizeof *p->expected);
    p->found = calloc(MOST_ROWS, sizeof *p->found);
    for (uint64_t i = 0; i < p->x->nnz; i++)
        misfit += expect(p, i);
    check_widths(p, &slices, misfit);
    free(p->expected);
    free(p->found);
    for (int n = 0; n < p->x->shape.order; n++)
        free(p->factor[n]);
    host_slices_free(&slices);
}

/* Whole numbers, some of them zeros or unknown. */
static void make_values(struct coo *x)
{
    for (uint64_t i = 0; i < x->nnz; i++)
        x->value[i] = i % 11 == 0 ? NAN : (double)(i % 7);
}

static void check_ranks(const struct coo *x, int mode, uint64_t seed)
{
    static const uint64_t ranks[] = {1, 2, 3, 5, 8, 10, 16, 21, 33};
    for (size_t k = 0; k < sizeof ranks / sizeof *ranks; k++)
        for (int which = 0; which < 3; which++) {
            struct case_of_rows p = {.x = x,
                                     .mode = mode,
                                     .rank = ranks[k],
                                     .precision = which == 2 ? PRECISION_SINGLE : PRECISION_DOUBLE,
                                     .rates = which > 0,
                                     .unlisted = which == 1 ? .25 : 0};
            check(&p, seed + k);
        }
}

static void test_systems(void **state)
{
    (void)state;
    const uint64_t dims[] = {4, 250, 37, 9, 3};
    for (int order = 1; order <= 5; order++) {
        struct coo x;
        const uint64_t nnz = order == 1 ? 3 : order == 2 ? 400 : 3000;
        naive_random_coo(&x, SHAPE(order, dims), nnz, (uint64_t)order, 0);
        make_values(&x);
        for (int mode = 0; mode < order && mode < 2; mode++) /* long rows, and short ones */
            check_ranks(&x, mode, (uint64_t)(10 * order + mode));
        coo_free(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_systems)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
