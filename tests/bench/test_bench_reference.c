#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "bench/bench.h"
#include "support/blco_files.h"
#include "support/whole_tensors.h"
#include "support/scratch.h"

/* The rows are those of the whole M. */
static void check_rows(const struct bench_reference *s, const struct coo *x,
                       const struct ktensor *k)
{
    for (int n = 0; n < x->shape.order; n++) {
        struct error error = {0};
        long double *m = memory_array(x->shape.dims[n] * k->rank, sizeof *m, &error);
        assert_non_null(m);
        naive_mttkrp(x, k, n, m);
        assert_in_range(s->rows[n], 1, BENCH_REFERENCE_NNZ);
        long double difference = 0, norm = 0;
        for (uint64_t i = 0; i < s->rows[n]; i++) {
            assert_true(i == 0 || s->row[n][i] > s->row[n][i - 1]);
            for (uint64_t r = 0; r < k->rank; r++) {
                long double expected = m[s->row[n][i] * k->rank + r];
                long double d = s->m[n][i * k->rank + r] - expected;
                difference += d * d;
                norm += expected * expected;
            }
        }
        assert_true(norm > 0 && sqrtl(difference / norm) < 1e-13L);
        memory_free(m);
    }
}

static void check_tensor(int order, const uint64_t *dims, uint64_t nnz)
{
    struct coo x;
    struct ktensor k;
    struct external_sort_report report;
    struct bench_reference s;
    struct error error = {0};
    naive_random_coo(&x, SHAPE(order, dims), nnz, 3, 1);
    assert_int_equal(ktensor_create(&k, SHAPE(order, dims), 5, &error), STATUS_OK);
    ktensor_randomise(&k, KTENSOR_NORMAL, 1);
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);

    struct whole whole;
    whole_of(&whole, &x);
    assert_int_equal(bench_reference_create(&s, &whole.tensor, &k, &error), STATUS_OK);
    check_rows(&s, &x, &k);
    close_whole(&whole);
    bench_reference_free(&s);
    bench_reference_free(&s);

    open_whole(&whole, scratch_path("x.blco"));
    assert_int_equal(bench_reference_create(&s, &whole.tensor, &k, &error), STATUS_OK);
    assert_true(whole.tensor.input.unread);
    check_rows(&s, &x, &k);
    bench_reference_free(&s);
    close_whole(&whole);
    ktensor_free(&k);
    coo_free(&x);
}

static void test_rows(void **state)
{
    (void)state;
    check_tensor(1, (uint64_t[]){50}, 20);
    check_tensor(2, (uint64_t[]){9, 1}, 5);
    check_tensor(3, (uint64_t[]){7000, 30, 500}, 150000); /* three segments */
    check_tensor(5, (uint64_t[]){7, 9000, 3, 20, 100}, 4000);
}

/* More nonzeros than a piece has. */
static void test_pieces(void **state)
{
    (void)state;
    check_tensor(3, (uint64_t[]){900, 1000, 500}, (1 << 20) + 70000);
}

static void test_failures(void **state)
{
    (void)state;
    struct coo x;
    struct ktensor k;
    struct external_sort_report report;
    struct whole whole;
    struct error error = {0};
    const uint64_t dims[] = {20, 30};
    naive_random_coo(&x, SHAPE(2, dims), 100, 3, 0);
    assert_int_equal(ktensor_create(&k, SHAPE(2, dims), 2, &error), STATUS_OK);
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    open_whole(&whole, scratch_path("x.blco"));
    int failures = 0;
    for (long i = 0, fired = 1; fired; i++) {
        struct bench_reference s;
        error = (struct error){0};
        memory_hook_set(i);
        enum status status = bench_reference_create(&s, &whole.tensor, &k, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        bench_reference_free(&s);
        failures += (int)fired;
    }
    assert_true(failures >= 10);
    close_whole(&whole);

    size_t size;
    char *bytes = file_bytes(scratch_path("x.blco"), &size);
    bytes[BLCO_PAGE + 20] ^= 1;
    struct bench_reference s;
    const char *path = scratch_file("bad.blco", bytes, size);
    error = (struct error){0};
    open_whole(&whole, path);
    assert_int_equal(bench_reference_create(&s, &whole.tensor, &k, &error), STATUS_INPUT);
    bench_reference_free(&s);
    close_whole(&whole);
    free(bytes);
    ktensor_free(&k);
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rows, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_pieces, scratch_make, scratch_remove),
        cmocka_unit_test_setup_teardown(test_failures, scratch_make, scratch_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
