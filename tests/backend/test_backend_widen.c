/* A backend that begins in single precision and is widened goes on as one of double precision that
 * resumes the same model. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <omp.h>

#include <cmocka.h>

#include "base/memory.h"
#include "support/backends.h"

struct saved {
    struct ktensor k;
    struct carried carried;
};

static void save(struct saved *s, struct backend *b, const struct coo *x, uint64_t rank)
{
    struct error error = {0};
    create_model(&s->k, x, rank, 1);
    assert_int_equal(carried_create(&s->carried, x->shape.order, rank, &error), STATUS_OK);
    assert_int_equal(backend_save(b, &s->k, &s->carried, &error), STATUS_OK);
}

static void free_saved(struct saved *s)
{
    ktensor_free(&s->k);
    carried_free(&s->carried);
}

/* Widening changes no number: factor matrices have floats before and after. */
static void assert_equal(const struct saved *a, const struct saved *b)
{
    const uint64_t rank = a->k.rank, order = (uint64_t)a->k.shape.order;
    assert_memory_equal(a->k.lambda, b->k.lambda, rank * sizeof(double));
    for (uint64_t i = 0; i < order * rank; i++) /* a GPU keeps what they divide by */
        assert_true(fabs(a->carried.scale[i] - b->carried.scale[i]) <=
                    0x1p-51 * fabs(a->carried.scale[i]));
    assert_memory_equal(a->carried.gram, b->carried.gram, order * rank * rank * sizeof(double));
    for (int n = 0; n < a->k.shape.order; n++) {
        const uint64_t entries = a->k.shape.dims[n] * rank;
        assert_memory_equal(a->k.factor[n], b->k.factor[n], entries * sizeof(double));
        for (uint64_t i = 0; i < entries; i++)
            assert_true(a->k.factor[n][i] == (double)(float)a->k.factor[n][i]);
    }
}

/* In single precision the fit is near, but other; sweeps behind a widening are those of `all`, a
 * backend of double precision. */
static void check_widen(const struct backend_kind *kind, const struct coo *x,
                        const struct backend_options *setting)
{
    struct error error = {0};
    struct backend b, all;
    struct saved before, after;
    struct ktensor start;
    struct backend_options in_double = *setting;
    const uint64_t rank = setting->problem.rank;
    const double most = kind == &backend_host ? 0 : 1e-11;
    in_double.problem.precision = POLICY_DOUBLE;
    create_model(&start, x, rank, 7);
    open_setting(&b, kind, x, setting);
    open_setting(&all, kind, x, &in_double);
    assert_int_equal(b.precision, PRECISION_DOUBLE);
    for (int turn = 0; turn < 2; turn++) { /* the second begins in double precision */
        assert_int_equal(backend_begin(&b, &start, &error), STATUS_OK);
        assert_int_equal(b.precision, PRECISION_SINGLE);
        assert_int_equal(backend_load(&all, &start, &error), STATUS_OK);
        for (int i = 0; i < 3; i++)
            assert_true(fabs(sweep_modes(&b) - sweep_modes(&all)) < 1e-4);
        save(&before, &b, x, rank);
        assert_int_equal(before.carried.precision, PRECISION_SINGLE);
        assert_int_equal(backend_widen(&b, &error), STATUS_OK);
        save(&after, &b, x, rank);
        assert_int_equal(after.carried.precision, PRECISION_DOUBLE);
        assert_equal(&before, &after);
        assert_int_equal(backend_resume(&all, &before.k, &before.carried, &error), STATUS_OK);
        for (int i = 0; i < 3; i++)
            assert_true(fabs(sweep_modes(&b) - sweep_modes(&all)) <= most);
        assert_int_equal(backend_widen(&b, &error), STATUS_OK); /* without effect */
        assert_true(fabs(sweep_modes(&b) - sweep_modes(&all)) <= most);

        /* what was saved in single precision is resumed in it */
        assert_int_equal(backend_resume(&b, &before.k, &before.carried, &error), STATUS_OK);
        assert_int_equal(b.precision, PRECISION_SINGLE);
        free_saved(&after);
        save(&after, &b, x, rank);
        assert_equal(&before, &after);
        free_saved(&before);
        free_saved(&after);
    }
    backend_close(&b);
    backend_close(&all);
    ktensor_free(&start);
}

/* Values that are no floats, rows of every length, shared partial products, every conflict
 * resolution, tensors that flow. */
static void test_widen(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    static const struct tensor_case cases[] = {
        {3, {60, 1, 90}, 2000, 1}, {3, {700, 520, 3000}, 20000, 0}, {4, {12, 9, 14, 10}, 9000, 0}};
    static const uint64_t ranks[] = {1, 7, 33};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        struct coo x;
        naive_random_coo(&x, SHAPE(cases[c].order, cases[c].dims), cases[c].nnz, c,
                         cases[c].skewed);
        for (enum conflict conflict = CONFLICT_AUTO; conflict < CONFLICTS; conflict++)
            for (enum flow flow = IN_MEMORY; flow < FLOWS; flow++) {
                struct backend_options setting = {.problem.rank = ranks[(c + conflict) % 3],
                                                  .conflict = conflict,
                                                  .problem.precision = POLICY_AUTO};
                bool atomic = conflict_traits[conflict].direct || conflict_traits[conflict].each;
                omp_set_num_threads(atomic ? 1 : 3);
                if (set_flow(&setting, flow, kind, &x))
                    check_widen(kind, &x, &setting);
            }
        coo_free(&x);
    }
    omp_set_num_threads(2);
}

/* Of a wide rank, for which a GPU has other kernels. */
static void test_wide(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    struct coo x;
    naive_random_coo(&x, &(struct shape){3, {90, 150, 80}}, 4000, 1, 0);
    const struct backend_options setting = {.problem.rank = 130, .problem.precision = POLICY_AUTO};
    check_widen(kind, &x, &setting);
    coo_free(&x);
}

/* Nonnegative rows stay nonnegative, and what stands at the floor is written as zero. */
static void test_nonneg(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    struct error error = {0};
    struct backend b;
    struct coo x;
    struct ktensor k;
    naive_random_coo(&x, &(struct shape){3, {60, 50, 90}}, 4000, 1, 1);
    const struct backend_options setting = {.problem.rank = 6,
                                            .problem.precision = POLICY_AUTO,
                                            .problem.rules = {.nonneg = {true, true, true}}};
    create_model(&k, &x, 6, 7);
    ktensor_randomise(&k, KTENSOR_RANDOM, 7);
    open_setting(&b, kind, &x, &setting);
    assert_int_equal(backend_begin(&b, &k, &error), STATUS_OK);
    sweep_modes(&b);
    const double before = sweep_modes(&b);
    assert_int_equal(backend_widen(&b, &error), STATUS_OK);
    for (int turn = 0; turn < 2; turn++) {
        uint64_t zeros = 0;
        assert_int_equal(backend_store(&b, &k, &error), STATUS_OK);
        for (int n = 0; n < 3; n++)
            for (uint64_t i = 0; i < x.shape.dims[n] * 6; i++) {
                assert_true(k.factor[n][i] >= 0);
                zeros += k.factor[n][i] == 0;
            }
        assert_true(zeros > 0);
        assert_true(sweep_modes(&b) > before - 1e-6);
    }
    backend_close(&b);
    ktensor_free(&k);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {ON_ALL(test_widen), ON_ALL(test_wide), ON_ALL(test_nonneg)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
