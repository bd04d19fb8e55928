#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <omp.h>

#include <cmocka.h>

#include "backend/host/host_mttkrp.h"
#include "backend/host/simd_width.h"
#include "base/memory.h"
#include "support/mttkrp_case.h"
#include "support/sanitized.h"

/* ||M - expected|| / ||expected|| at most 1e-12 or, of floats, 1e-5, and rows that no nonzero has
 * exactly zero. */
static void assert_close(const void *m, const long double *expected, uint64_t n,
                         enum precision precision)
{
    struct error error = {0};
    double *read = memory_array(n, sizeof *read, &error);
    assert_non_null(read);
    host_entries_read(read, m, n, precision);
    for (uint64_t i = 0; i < n; i++)
        if (expected[i] == 0)
            assert_true(read[i] == 0.0);
    assert_true(naive_relative_error(read, expected, n) <=
                (precision == PRECISION_SINGLE ? 1e-5L : 1e-12L));
    memory_free(read);
}

/* The factor matrices of k, in this precision; the caller frees them with free_rows. */
static struct host_rows rows_of(const struct ktensor *k, enum precision precision)
{
    struct error error = {0};
    struct host_rows rows = {.rank = k->rank, .precision = precision};
    for (int n = 0; n < k->shape.order; n++) {
        const uint64_t entries = k->shape.dims[n] * k->rank;
        void *copy = memory_array(entries, precision_bytes(precision), &error);
        assert_non_null(copy);
        host_entries_write(copy, k->factor[n], entries, precision);
        rows.of[n] = copy;
    }
    return rows;
}

static void free_rows(struct host_rows *rows, int order)
{
    for (int n = 0; n < order; n++)
        memory_free((void *)(uintptr_t)rows->of[n]);
}

/* With 1 to 3 threads, and rows that are near, far and in between. The result is the same bits for
 * any number of threads where the header promises that. */
static void check_threads(struct host_mttkrp *p, const struct ktensor *k,
                          const long double *expected, enum precision precision)
{
    struct error error = {0};
    const uint64_t entries = k->shape.dims[p->mode] * k->rank;
    const uint64_t near = p->near_bytes, far = p->far_bytes;
    const uint64_t size = precision_bytes(precision);
    struct host_rows rows = rows_of(k, precision);
    void *m = memory_array(entries, size, &error);
    void *first = memory_array(entries, size, &error);
    void *scratch = memory_array(p->scratch_rows * k->rank, size, &error);
    assert_true(m && first && scratch);
    for (int turn = 0; turn < 9; turn++) {
        int threads = 1 + turn % 3;
        omp_set_num_threads(threads);
        p->near_bytes = turn < 3 ? near : 0; /* as if no row were in a core's cache ... */
        p->far_bytes = turn < 6 ? far : 0;   /* ... and none in any */
        memset(m, 0xff, entries * size);     /* NaNs: every entry must be written */
        host_mttkrp(p, &rows, m, scratch);
        assert_close(m, expected, entries, precision);
        if (threads == 1)
            memcpy(first, m, entries * size);
        if (!conflict_traits[p->conflict].each)
            assert_memory_equal(m, first, entries * size);
    }
    p->near_bytes = near;
    p->far_bytes = far;
    free_rows(&rows, k->shape.order);
    memory_free(m);
    memory_free(first);
    memory_free(scratch);
}

/* An MTTKRP and the ordering that it reads. */
struct prepared {
    struct host_mttkrp mttkrp;
    struct blco alto;
    struct host_slices slices;
};

static void prepare(struct prepared *p, const struct coo *x, int mode, enum conflict conflict,
                    struct blco_options cut)
{
    struct error error = {0};
    struct blco b;
    memset(p, 0, sizeof *p);
    cut.kind = conflict == CONFLICT_ORDERED ? mode : ORDERING_ALTO;
    assert_int_equal(blco_build(&b, x, &cut, &error), STATUS_OK);
    if (conflict == CONFLICT_ORDERED) {
        assert_int_equal(host_slices_take(&p->slices, &b, mode, &error), STATUS_OK);
        assert_int_equal(host_mttkrp_prepare_ordered(&p->mttkrp, &p->slices, &error), STATUS_OK);
    } else {
        p->alto = b;
        assert_int_equal(host_mttkrp_prepare(&p->mttkrp, &p->alto, mode, conflict, 3, &error),
                         STATUS_OK);
    }
}

static void free_prepared(struct prepared *p)
{
    host_mttkrp_free(&p->mttkrp);
    blco_free(&p->alto);
    host_slices_free(&p->slices);
}

/* Every mode and conflict resolution on orderings that are cut as `cut` says. */
static void check(const struct coo *x, uint64_t rank, struct blco_options cut)
{
    struct error error = {0};
    struct mttkrp_case q = {.x = *x};
    assert_int_equal(ktensor_create(&q.k, &x->shape, rank, &error), STATUS_OK);
    ktensor_randomise(&q.k, KTENSOR_NORMAL, 5);
    expect_products(&q);
    for (int n = 0; n < x->shape.order; n++)
        for (enum conflict c = CONFLICT_ORDERED; c < CONFLICTS; c++) {
            struct prepared p;
            prepare(&p, x, n, c, cut);
            check_threads(&p.mttkrp, &q.k, q.expected[n], PRECISION_DOUBLE);
            check_threads(&p.mttkrp, &q.k, q.expected[n], PRECISION_SINGLE);
            free_prepared(&p);
        }
    q.x = (struct coo){.shape = x->shape}; /* the nonzeros are the caller's */
    free_case(&q);
}

static void test_blocks(void **state)
{
    (void)state;
    static const struct blco_options cuts[] = {
        {.index_bits = 0},  {.index_bits = 1},   {.index_bits = 6},
        {.index_bits = 11}, {.index_bits = 128},
    };
    const uint64_t dims[] = {40, 300, 7, 25};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        struct coo x;
        naive_random_coo(&x, SHAPE(4, dims), 7000, i, i % 2);
        check(&x, 5 + i, cuts[i]);
        coo_free(&x);
    }
}

static const uint64_t widths[] = {8, 4, 2};

/* The same bits with every SIMD width. Mode 2 of x, or its only mode, has at most 60 rows. */
static void check_same_bits(const struct coo *x, enum precision precision)
{
    struct error error = {0};
    struct prepared p;
    struct ktensor k;
    double m[3][60 * 29], scratch[2 * 29];
    assert_int_equal(ktensor_create(&k, &x->shape, 29, &error), STATUS_OK);
    ktensor_randomise(&k, KTENSOR_NORMAL, 5);
    struct host_rows rows = rows_of(&k, precision);
    int mode = x->shape.order > 1;
    prepare(&p, x, mode, CONFLICT_ORDERED, (struct blco_options){0});
    for (size_t i = 0; i < 3; i++) {
        simd_width_limit(widths[i]);
        host_mttkrp(&p.mttkrp, &rows, m[i], scratch);
        assert_memory_equal(m[i], m[0], x->shape.dims[mode] * 29 * precision_bytes(precision));
    }
    free_rows(&rows, k.shape.order);
    free_prepared(&p);
    ktensor_free(&k);
}

/* The same bits from narrow nonzeros as from wide ones, prefetched or not. */
static void check_narrow(const struct coo *x, uint64_t rank, enum precision precision)
{
    struct error error = {0};
    struct prepared wide, narrow;
    struct ktensor k;
    assert_int_equal(ktensor_create(&k, &x->shape, rank, &error), STATUS_OK);
    ktensor_randomise(&k, KTENSOR_NORMAL, 5);
    struct host_rows rows = rows_of(&k, precision);
    const int mode = x->shape.order > 1;
    const uint64_t bytes = x->shape.dims[mode] * rank * precision_bytes(precision);
    void *expected = memory_array(1, bytes, &error), *m = memory_array(1, bytes, &error);
    assert_true(expected && m);
    prepare(&wide, x, mode, CONFLICT_ORDERED, (struct blco_options){0});
    prepare(&narrow, x, mode, CONFLICT_ORDERED, (struct blco_options){0});
    assert_int_equal(host_slices_narrow(&narrow.slices, &error), STATUS_OK);
    assert_true(narrow.slices.narrow);
    void *scratch = memory_array(wide.mttkrp.scratch_rows, rank * sizeof(double), &error);
    assert_non_null(scratch);
    host_mttkrp(&wide.mttkrp, &rows, expected, scratch);
    for (int distant = 0; distant < 2; distant++) {
        narrow.mttkrp.near_bytes = distant ? 0 : UINT64_MAX;
        narrow.mttkrp.far_bytes = distant ? 0 : UINT64_MAX;
        memset(m, 0xff, bytes);
        host_mttkrp(&narrow.mttkrp, &rows, m, scratch);
        assert_memory_equal(m, expected, bytes);
    }
    free_rows(&rows, k.shape.order);
    free_prepared(&wide);
    free_prepared(&narrow);
    ktensor_free(&k);
    memory_free(expected);
    memory_free(m);
    memory_free(scratch);
}

/* From one rank to the next, up to 75. Under a sanitizer tiles of every width still end at each of
 * their columns. */
static uint64_t step_after(uint64_t rank)
{
    return rank >= 36 ? 13 : SANITIZED ? 5 : 1;
}

static void test_narrow(void **state)
{
    (void)state;
    const uint64_t dims[] = {5, 60, 3, 7, 2, 4};
    for (int order = 1; order <= 6; order++) {
        struct coo x;
        naive_random_coo(&x, SHAPE(order, dims), order == 1 ? 4 : order == 2 ? 200 : 900, 1, 0);
        for (uint64_t i = 0; i < x.nnz; i++)
            x.value[i] = (double)(int)(100 * x.value[i]);
        for (uint64_t rank = 1; rank <= 75; rank += step_after(rank))
            for (size_t i = 0; i < 3; i++) {
                simd_width_limit(widths[i]);
                check_narrow(&x, rank, PRECISION_DOUBLE);
                check_narrow(&x, rank, PRECISION_SINGLE);
            }
        coo_free(&x);
    }
    simd_width_limit(0);
}

/* Every kernel: orders 1 to 6, tiles of every width, several tiles, every SIMD width. */
static void test_kernels(void **state)
{
    (void)state;
    const uint64_t dims[] = {5, 60, 3, 7, 2, 4};
    for (int order = 1; order <= 6; order++) {
        struct coo x;
        naive_random_coo(&x, SHAPE(order, dims), order == 1 ? 4 : order == 2 ? 200 : 300, 1, 0);
        for (uint64_t rank = 1; rank <= 75; rank += step_after(rank))
            for (size_t i = 0; i < 3; i++) {
                simd_width_limit(widths[i]);
                check(&x, rank, (struct blco_options){0});
            }
        check_same_bits(&x, PRECISION_DOUBLE);
        check_same_bits(&x, PRECISION_SINGLE);
        coo_free(&x);
    }
    simd_width_limit(0);
}

/* A sum of a million floats of one sign is as near as a short one. */
static void test_long_sum(void **state)
{
    (void)state;
    const uint64_t dims[] = {1, 1000, 1000}, nnz = 1000000;
    struct error error = {0};
    struct mttkrp_case q;
    float m[3];
    double read[3], scratch[3 * 2 * 1024];
    assert_int_equal(coo_create(&q.x, SHAPE(3, dims), nnz, &error), STATUS_OK);
    for (uint64_t i = 0; i < nnz; i++) {
        q.x.index[0][i] = 0;
        q.x.index[1][i] = (uint32_t)(i / 1000);
        q.x.index[2][i] = (uint32_t)(i % 1000);
        q.x.value[i] = 1 + (double)(i % 7);
    }
    assert_int_equal(ktensor_create(&q.k, &q.x.shape, 3, &error), STATUS_OK);
    ktensor_randomise(&q.k, KTENSOR_RANDOM, 5);
    struct host_rows rows = rows_of(&q.k, PRECISION_SINGLE);
    expect_products(&q);
    for (enum conflict c = CONFLICT_ORDERED; c <= CONFLICT_HIERARCHICAL; c++) {
        struct prepared p;
        prepare(&p, &q.x, 0, c, (struct blco_options){0});
        assert_in_range(p.mttkrp.scratch_rows, 1, 2 * 1024);
        host_mttkrp(&p.mttkrp, &rows, m, scratch);
        host_entries_read(read, m, 3, PRECISION_SINGLE);
        assert_true(naive_relative_error(read, q.expected[0], 3) < 1e-6L);
        free_prepared(&p);
    }
    free_rows(&rows, 3);
    free_case(&q);
}

/* A few rows far apart: first, last and the gaps between runs become zero. */
static void test_gaps(void **state)
{
    (void)state;
    const uint64_t dims[] = {100000, 9, 3000};
    struct coo x;
    naive_random_coo(&x, SHAPE(3, dims), 9000, 3, 1);
    for (uint64_t i = 0; i < x.nnz; i++)
        x.index[0][i] = (x.index[0][i] % 5 + 1) * 12345; /* five hot rows */
    uint32_t *swap = x.index[2];
    for (uint64_t i = 0; i < x.nnz; i++)
        swap[i] = (uint32_t)(i % 3000); /* distinct again: (i / 3000, i % 3000) */
    for (uint64_t i = 0; i < x.nnz; i++)
        x.index[1][i] = (uint32_t)(i / 3000);
    check(&x, 2, (struct blco_options){0});
    check(&x, 9, (struct blco_options){.index_bits = 6});
    coo_free(&x);
}

static void test_few_nonzeros(void **state)
{
    (void)state;
    const uint64_t dims[] = {5, 1, 4};
    for (uint64_t nnz = 0; nnz <= 2; nnz++) {
        struct coo x;
        naive_random_coo(&x, SHAPE(3, dims), nnz, nnz, 0);
        check(&x, 3, (struct blco_options){0});
        coo_free(&x);
    }
}

static void test_allocation_fails(void **state)
{
    (void)state;
    const uint64_t dims[] = {30, 20, 10};
    struct error error = {0};
    struct coo x;
    struct blco b;
    naive_random_coo(&x, SHAPE(3, dims), 500, 1, 0);
    assert_int_equal(blco_build(&b, &x, &(struct blco_options){.kind = ORDERING_ALTO}, &error),
                     STATUS_OK);
    struct prepared ordered;
    prepare(&ordered, &x, 0, CONFLICT_ORDERED, (struct blco_options){0});
    int failures = 0;
    for (long k = 0, fired = 1; fired; k++) {
        struct host_mttkrp p, q;
        error = (struct error){0};
        memory_hook_set(k);
        enum status status = host_mttkrp_prepare(&p, &b, 0, CONFLICT_HIERARCHICAL, 4, &error);
        if (status == STATUS_OK) {
            status = host_mttkrp_prepare_ordered(&q, &ordered.slices, &error);
            host_mttkrp_free(&q);
        }
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        assert_true(p.nruns > 0 || (fired && !p.x && !p.run));
        failures += (int)fired;
        host_mttkrp_free(&p);
    }
    assert_int_equal(failures, 2);
    free_prepared(&ordered);
    blco_free(&b);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_kernels),
        cmocka_unit_test(test_narrow),
        cmocka_unit_test(test_long_sum),
        cmocka_unit_test(test_gaps),
        cmocka_unit_test(test_few_nonzeros),
        cmocka_unit_test(test_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
