/* Updates of nonnegative factor matrices, on every backend that this machine can run: against HALS
 * in long double, and against the conditions of the best nonnegative matrix. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "backend/host/simd_width.h"
#include "base/memory.h"
#include "numerics/nonneg.h"
#include "support/backends.h"
#include "support/naive_hals.h"

static const struct mode_rules all_nonneg = {.ridge = {0.5, 0, 2, 0.125},
                                             .nonneg = {true, true, true, true}};

static void *array(uint64_t count, size_t size)
{
    struct error error = {0};
    void *a = memory_zeros(count, size, &error);
    assert_non_null(a);
    return a;
}

/* A tensor of positive values, a nonnegative model, and an open backend that has both. */
struct scene {
    struct coo x;
    struct backend b;
    struct ktensor before, after;
    struct backend_options setting;
    long double *v, *b_rows, *m_rows; /* (R x R), (longest x R), (longest x R) */
    long double *least;               /* (R): the floors of an update          */
    double *m;                        /* (longest x R)                         */
};

static bool scene_open(struct scene *s, const struct backend_kind *kind,
                       const struct tensor_case *t, uint64_t rank, enum precision_policy precision,
                       enum flow flow)
{
    struct error error = {0};
    *s = (struct scene){.setting = {.problem.rank = rank,
                                    .problem.precision = precision,
                                    .problem.rules = all_nonneg}};
    naive_random_coo(&s->x, SHAPE(t->order, t->dims), t->nnz, 3, t->skewed);
    for (uint64_t i = 0; i < s->x.nnz; i++) /* most of them positive */
        s->x.value[i] = i % 8 ? fabs(s->x.value[i]) : s->x.value[i];
    if (!set_flow(&s->setting, flow, kind, &s->x)) {
        coo_free(&s->x);
        return false;
    }
    assert_int_equal(ktensor_create(&s->before, &s->x.shape, rank, &error), STATUS_OK);
    assert_int_equal(ktensor_create(&s->after, &s->x.shape, rank, &error), STATUS_OK);
    ktensor_randomise(&s->after, KTENSOR_RANDOM, 7);
    /* of floats, not far above those that the first update finds: the floor counts from them */
    for (uint64_t r = 0; r < rank; r++)
        s->after.lambda[r] = (1 + (double)r) * (precision == POLICY_SINGLE ? 0x1p-10 : 1);
    if (backend_open(&s->b, kind, &s->x, &s->setting, NULL, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(backend_load(&s->b, &s->after, &error), STATUS_OK);
    uint64_t entries = shape_longest(&s->x.shape) * rank;
    s->v = array(rank * rank, sizeof *s->v);
    s->least = array(rank, sizeof *s->least);
    s->b_rows = array(entries, sizeof *s->b_rows);
    s->m_rows = array(entries, sizeof *s->m_rows);
    s->m = array(entries, sizeof *s->m);
    return true;
}

static void scene_close(struct scene *s)
{
    backend_close(&s->b);
    ktensor_free(&s->before);
    ktensor_free(&s->after);
    coo_free(&s->x);
    memory_free(s->v);
    memory_free(s->least);
    memory_free(s->b_rows);
    memory_free(s->m_rows);
    memory_free(s->m);
}

/* The model as it is, with what stands at the floor, which backend_store leaves out. */
static void keep_before(struct scene *s)
{
    struct error error = {0};
    struct carried carried;
    struct ktensor *k = &s->before;
    assert_int_equal(carried_create(&carried, k->shape.order, k->rank, &error), STATUS_OK);
    assert_int_equal(backend_save(&s->b, k, &carried, &error), STATUS_OK);
    for (int n = 0; n < k->shape.order; n++)
        for (uint64_t e = 0; e < k->shape.dims[n] * k->rank; e++)
            k->factor[n][e] *= carried.scale[(uint64_t)n * k->rank + e % k->rank];
    carried_free(&carried);
}

/* MTTKRP and update of mode n; M, V and the models before and after are kept. */
static void step(struct scene *s, int n)
{
    struct error error = {0};
    uint64_t rank = s->before.rank, entries = s->x.shape.dims[n] * rank;
    keep_before(s);
    naive_v(&s->before, n, all_nonneg.ridge[n], s->v);
    naive_floors(s->least,
                 s->setting.problem.precision == POLICY_SINGLE ? &nonneg_floor_single
                                                               : &nonneg_floor_double,
                 s->before.lambda, s->v, s->x.shape.dims[n], rank);
    assert_int_equal(backend_mttkrp(&s->b, n, &error), STATUS_OK);
    assert_int_equal(backend_fetch(&s->b, n, s->m, &error), STATUS_OK);
    assert_int_equal(backend_update(&s->b, n, &error), STATUS_OK);
    assert_int_equal(backend_store(&s->b, &s->after, &error), STATUS_OK);
    for (uint64_t e = 0; e < entries; e++) {
        s->m_rows[e] = s->m[e];
        s->b_rows[e] = (long double)s->before.factor[n][e] * s->before.lambda[e % rank];
    }
}

/* How much a column's norm may lack: what stands near the floor is written as 0 (backend_store). */
static double hidden(const struct scene *s, uint64_t r)
{
    const struct nonneg_floor *of =
        s->setting.problem.precision == POLICY_SINGLE ? &nonneg_floor_single : &nonneg_floor_double;
    double most = 0;
    for (uint64_t k = 0; k < s->after.rank; k++)
        most = fmax(most, s->after.lambda[k]);
    return 16 * of->floor * fmax(1, of->lost * most / s->after.lambda[r]);
}

/* A_n diag(lambda) is what the oracle says; columns have unit norm, but for those that are zero,
 * and nothing is negative. */
static void assert_as_hals(const struct scene *s, int n)
{
    uint64_t rank = s->after.rank, rows = s->x.shape.dims[n];
    const double tolerance = s->setting.problem.precision == POLICY_SINGLE ? 2e-5 : 1e-11;
    long double largest = 0, error = 0;
    for (uint64_t r = 0; r < rank; r++) {
        long double norm = 0;
        for (uint64_t e = r; e < rows * rank; e += rank) {
            double entry = s->after.factor[n][e];
            assert_true(entry >= 0);
            norm += (long double)entry * entry;
            largest = fmaxl(largest, s->b_rows[e]);
            error = fmaxl(error, fabsl(entry * (long double)s->after.lambda[r] - s->b_rows[e]));
        }
        const double lacks = hidden(s, r);
        if (norm != 0 && !(fabsl(norm - 1) < 1e-6L + lacks * lacks))
            fail_msg("rank %d, mode %d: column %d has norm %.9Lf", (int)rank, n + 1, (int)r + 1,
                     sqrtl(norm));
    }
    if (!(largest > 0 && error <= tolerance * largest))
        fail_msg("rank %d, mode %d: an entry is off by %.2Lg of the largest, %.2Lg", (int)rank,
                 n + 1, error / largest, largest);
}

static void check_update(const struct backend_kind *kind, const struct tensor_case *t,
                         uint64_t rank, enum precision_policy precision, enum flow flow)
{
    struct scene s;
    struct backend_fit fit;
    struct error error = {0};
    if (!scene_open(&s, kind, t, rank, precision, flow))
        return;
    for (int i = 0; i < 2 * t->order; i++) {
        int n = i % t->order;
        step(&s, n);
        naive_hals(s.b_rows, s.m_rows, s.v, s.least, t->dims[n], rank, NONNEG_PASSES, i == 0);
        assert_as_hals(&s, n);
        assert_int_equal(backend_fit(&s.b, n, NULL, &fit, &error), STATUS_OK);
        const long double expected = naive_fit(&s.x, &s.after);
        if (!(fabsl(fit.value - expected) < (precision == POLICY_SINGLE ? 1e-4L : 1e-10L)))
            fail_msg("rank %d, %s, update %d: fit %.15f, from the nonzeros %.15Lf", (int)rank,
                     precision == POLICY_SINGLE ? "single" : "double", i, fit.value, expected);
    }
    scene_close(&s);
}

static void test_update(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    static const struct tensor_case cases[] = {{1, {300}, 200, 0},
                                               {3, {60, 50, 90}, 4000, 1},
                                               {3, {700, 33, 1500}, 9000, 0},
                                               {4, {40, 30, 200, 35}, 5000, 0}};
    static const uint64_t ranks[] = {1, 5, 8, 17, 33};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t r = 0; r < sizeof ranks / sizeof *ranks; r++)
            for (enum flow flow = IN_MEMORY; flow < FLOWS; flow++) {
                check_update(kind, &cases[c], ranks[r], POLICY_DOUBLE, flow);
                check_update(kind, &cases[c], ranks[r], POLICY_SINGLE, flow);
            }
}

/* Kernels for vectors of every width that this processor has. */
static void test_simd_widths(void **state)
{
    (void)state;
    static const struct tensor_case t = {3, {61, 35, 90}, 2000, 0};
    for (uint64_t width = 2; width <= 8; width *= 2) {
        simd_width_limit(width);
        check_update(&backend_host, &t, 5, POLICY_DOUBLE, IN_MEMORY);
        check_update(&backend_host, &t, 12, POLICY_DOUBLE, IN_MEMORY);
    }
    simd_width_limit(0);
}

/* Rows that several lanes share, and weights that come in parts. */
static void test_large_ranks(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    static const struct tensor_case t = {3, {30, 20, 100}, 900, 0};
    static const uint64_t ranks[] = {64, 65, 128, 200, 300, 600};
    for (size_t r = 0; r < (kind->devices ? 6 : 4); r++) {
        check_update(kind, &t, ranks[r], POLICY_DOUBLE, IN_MEMORY);
        check_update(kind, &t, ranks[r], POLICY_SINGLE, IN_MEMORY);
    }
}

/* Updates of one mode alone end at the B >= 0 that fits best: with the gradient G = B V - M, no
 * entry of G is negative, and where one is positive B has a zero (Karush, Kuhn, Tucker). */
static void test_best_matrix(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    static const struct tensor_case t = {3, {60, 50, 90}, 6000, 1};
    const uint64_t rank = 6;
    for (int n = 0; n < 3; n++) {
        struct scene s;
        assert_true(scene_open(&s, kind, &t, rank, POLICY_DOUBLE, IN_MEMORY));
        for (int i = 0; i < 200; i++)
            step(&s, n);
        long double largest = 0, zeros = 0;
        for (uint64_t e = 0; e < t.dims[n] * rank; e++)
            largest = fmaxl(largest, fabsl(s.m_rows[e]));
        for (uint64_t e = 0; e < t.dims[n] * rank; e++) {
            long double gradient = -s.m_rows[e];
            for (uint64_t r = 0; r < rank; r++)
                gradient += s.after.lambda[r] *
                            (long double)s.after.factor[n][e / rank * rank + r] *
                            s.v[r * rank + e % rank];
            zeros += s.after.factor[n][e] == 0;
            assert_true(gradient > -1e-9L * largest);
            assert_true(s.after.factor[n][e] == 0 || gradient < 1e-9L * largest);
        }
        assert_true(zeros > 0); /* or the bound would play no part */
        scene_close(&s);
    }
}

static void sweeps(struct scene *s, int count, struct backend_fit *fit)
{
    struct error error = {0};
    int order = s->x.shape.order;
    for (int i = 0; i < count * order; i++) {
        assert_int_equal(backend_mttkrp(&s->b, i % order, &error), STATUS_OK);
        assert_int_equal(backend_update(&s->b, i % order, &error), STATUS_OK);
    }
    assert_int_equal(backend_fit(&s->b, order - 1, NULL, fit, &error), STATUS_OK);
    assert_int_equal(backend_store(&s->b, &s->after, &error), STATUS_OK);
}

/* Of a tensor of negative values the best nonnegative model is zero. */
static void test_nothing_fits(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    static const struct tensor_case t = {3, {12, 10, 11}, 200, 0};
    struct error error = {0};
    struct scene s;
    struct backend_fit fit;
    assert_true(scene_open(&s, kind, &t, 3, POLICY_DOUBLE, IN_MEMORY));
    backend_close(&s.b);
    for (uint64_t i = 0; i < s.x.nnz; i++)
        s.x.value[i] = -fabs(s.x.value[i]);
    assert_int_equal(backend_open(&s.b, kind, &s.x, &s.setting, NULL, &error), STATUS_OK);
    assert_int_equal(backend_load(&s.b, &s.after, &error), STATUS_OK);
    sweeps(&s, 40, &fit);
    assert_true(fabs(fit.value) < 1e-12);
    for (uint64_t r = 0; r < 3; r++)
        assert_true(s.after.lambda[r] >= 0 && s.after.lambda[r] < 1e-12);
    scene_close(&s);
}

/* A component that was lost grows again: of two components that begin alike, one takes all at
 * first. One that is zero in a mode from the start harms nothing. */
static void check_lost_components(const struct backend_kind *kind, enum precision_policy precision)
{
    static const struct tensor_case t = {3, {20, 15, 25}, 3000, 0};
    struct error error = {0};
    struct scene s;
    struct backend_fit fit;
    assert_true(scene_open(&s, kind, &t, 4, precision, IN_MEMORY));
    for (int n = 0; n < 3; n++)
        for (uint64_t i = 0; i < t.dims[n]; i++) {
            s.after.factor[n][i * 4 + 1] = s.after.factor[n][i * 4];
            s.after.factor[n][i * 4 + 3] = n == 1 ? 0 : s.after.factor[n][i * 4 + 3];
        }
    assert_int_equal(backend_load(&s.b, &s.after, &error), STATUS_OK);
    sweeps(&s, 60, &fit);
    assert_true(fabsl(fit.value - naive_fit(&s.x, &s.after)) <
                (precision == POLICY_SINGLE ? 1e-4L : 1e-10L));
    assert_true(s.after.lambda[0] > 1e-3 && s.after.lambda[1] > 1e-3 && s.after.lambda[2] > 1e-3);
    assert_true(s.after.lambda[3] >= 0);
    scene_close(&s);
}

static void test_lost_components(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    check_lost_components(kind, POLICY_DOUBLE);
    check_lost_components(kind, POLICY_SINGLE);
}

static void test_fixed_mode(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    const uint64_t dims[] = {5, 6, 7};
    struct error error = {0};
    struct backend_options options = {.problem.rank = 2, .problem.rules.fixed = {false, true}};
    struct backend b;
    struct coo x;
    struct ktensor k;
    naive_random_coo(&x, SHAPE(3, dims), 40, 3, 0);
    create_model(&k, &x, 2, 1);
    assert_int_equal(backend_open(&b, kind, &x, &options, NULL, &error), STATUS_OK);
    assert_int_equal(backend_load(&b, &k, &error), STATUS_OK);
    assert_int_equal(backend_mttkrp(&b, 1, &error), STATUS_OK);
    assert_int_equal(backend_update(&b, 1, &error), STATUS_INTERNAL);
    assert_string_equal(error.message, "mode 2 is fixed");
    backend_close(&b);
    ktensor_free(&k);
    coo_free(&x);
}

/* A GPU keeps a row in the registers of a warp. */
static void test_rank_too_large(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    const uint64_t dims[] = {3, 4};
    struct error error = {0};
    struct backend_options options = {.problem.rank = 1025, .problem.rules = all_nonneg};
    struct backend b;
    struct coo x;
    naive_random_coo(&x, SHAPE(2, dims), 9, 3, 0);
    enum status status = backend_open(&b, kind, &x, &options, NULL, &error);
    assert_int_equal(status, kind->devices ? STATUS_INPUT : STATUS_OK);
    backend_close(&b);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL(test_update),         ON_ALL(test_large_ranks),           ON_ALL(test_best_matrix),
        ON_ALL(test_nothing_fits),   ON_ALL(test_lost_components),       ON_ALL(test_fixed_mode),
        ON_ALL(test_rank_too_large), cmocka_unit_test(test_simd_widths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
