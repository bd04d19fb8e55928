/* The deviance of independent modes, and the likelihood of perfect rates (ranks/count_null.h). Runs
 * on several ranks are in tests/als/test_poisson.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <math.h>

#include <cmocka.h>

#include "base/memory.h"
#include "comm/comm.h"
#include "ranks/count_null.h"
#include "ranks/rank_tensor.h"
#include "support/data_tensors.h"
#include "support/scratch.h"
#include "support/blco_files.h"
#include "support/naive.h"

/* count_null_find on one rank, of a file if there is one; the caller frees nothing. */
static enum status find_in(struct count_null *null, const struct coo *x,
                           const struct blco_file *file, const struct count_weights *w,
                           struct error *error)
{
    struct rank_tensor t;
    struct comm *self = comm_self(error);
    if (!self)
        return error->status;
    if (rank_tensor_share(&t, self, x, NULL, error) == STATUS_OK) {
        count_null_find(null, x, file, &t.rows, w, error);
        rank_tensor_close(&t);
    }
    comm_finalize(self);
    return error->status;
}

static enum status find(struct count_null *null, const struct coo *x, const struct count_weights *w,
                        struct error *error)
{
    return find_in(null, x, NULL, w, error);
}

/* Half of G^2 of independence, by MASS::loglm of R and by another program. */
static void test_published(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        double deviance, digits;
    } cases[] = {{"data/planted.tns", 133192.539, 1e-8},
                 {"data/ucb-admissions.tns", 1048.836, 1e-6}};
    for (size_t i = 0; i < 2; i++) {
        const struct count_weights w = {.loss = &loss_poisson, .weighed = false};
        struct count_null null;
        struct error error = {0};
        struct coo x;
        read_data_tensor(&x, cases[i].path);
        assert_int_equal(find(&null, &x, &w, &error), STATUS_OK);
        assert_true(fabs(null.deviance / cases[i].deviance - 1) < cases[i].digits);
        coo_free(&x);
    }
}

static struct coo counts(uint64_t nnz)
{
    static const uint64_t dims[] = {6, 7, 5};
    struct coo x;
    naive_random_coo(&x, &(struct shape){3, {dims[0], dims[1], dims[2]}}, nnz, 3, 0);
    for (uint64_t i = 0; i < x.nnz; i++)
        x.value[i] = (double)(i % 5);
    return x;
}

/* Of values that were divided by 2^40, the likelihood is that of the values themselves; small
 * counts, whose logarithms are looked up, large ones and rates. */
static void test_scaled(void **state)
{
    (void)state;
    static const double beside[] = {255, 256, 257, 1e6, 2.5, 255.5};
    struct coo x = counts(60);
    for (size_t i = 0; i < sizeof beside / sizeof *beside; i++)
        x.value[i] = beside[i];
    struct error error = {0};
    struct count_null null[2];
    long double perfect = 0;
    for (uint64_t i = 0; i < x.nnz; i++) {
        const long double value = x.value[i];
        perfect += value > 0 ? value * logl(value) - value - lgammal(value + 1) : 0;
    }
    for (int scaled = 0; scaled < 2; scaled++) {
        const struct count_weights w = {.loss = &loss_poisson, .exponent = 40 * scaled};
        for (uint64_t i = 0; scaled && i < x.nnz; i++)
            x.value[i] = ldexp(x.value[i], -40);
        assert_int_equal(find(&null[scaled], &x, &w, &error), STATUS_OK);
        assert_true(fabsl(null[scaled].perfect - perfect) < 1e-11L * fabsl(perfect));
    }
    assert_true(fabs(ldexp(null[1].deviance, 40) / null[0].deviance - 1) < 1e-12);
    coo_free(&x);
}

/* Computed with 50 digits: -log(2 pi x) / 2 - 1 / (12 x) of each. */
static void test_huge_counts(void **state)
{
    (void)state;
    struct coo x = counts(30);
    struct error error = {0};
    struct count_null null;
    const struct count_weights w = {.loss = &loss_poisson, .exponent = 0};
    double expected = 0;
    for (uint64_t i = 0; i < x.nnz; i++) {
        x.value[i] = i % 2 ? 1e15 : 9007199254740991;
        expected -= i % 2 ? 18.188326730660015 : 19.287338818043223;
    }
    assert_int_equal(find(&null, &x, &w, &error), STATUS_OK);
    assert_true(fabs(null.perfect / expected - 1) < 1e-14);
    coo_free(&x);
}

/* Equal rates, of the entries that count. */
static void test_weighed(void **state)
{
    (void)state;
    static const double weights[] = {0, 0.25, 1};
    struct coo x = counts(80);
    struct error error = {0};
    x.value[3] = x.value[40] = COO_UNKNOWN;
    for (int k = 0; k < 3; k++) {
        const struct count_weights w = {
            .loss = &loss_poisson, .weighed = true, .unlisted = weights[k]};
        const long double listed = x.nnz, cells = 6 * 7 * 5;
        long double total = 0, deviance = 0;
        struct count_null null;
        for (uint64_t i = 0; i < x.nnz; i++)
            total += isnan(x.value[i]) ? 0 : x.value[i];
        const long double rate = total / (listed - 2 + weights[k] * (cells - listed));
        for (uint64_t i = 0; i < x.nnz; i++)
            deviance += x.value[i] > 0 ? x.value[i] * logl(x.value[i] / rate) : 0;
        assert_int_equal(find(&null, &x, &w, &error), STATUS_OK);
        assert_true(fabsl(null.deviance - deviance) < 1e-12L * deviance);
        assert_true(null.total == total);
    }
    coo_free(&x);
}

/* One probability for all entries that count, and the rate that gives it. */
static void test_binary(void **state)
{
    (void)state;
    static const double weights[] = {0, 0.25, 1};
    struct coo x = counts(80);
    struct error error = {0};
    for (uint64_t i = 0; i < x.nnz; i++)
        x.value[i] = i % 9 == 0 ? COO_UNKNOWN : i % 3 > 0;
    for (int k = 0; k < 3; k++) {
        const struct count_weights w = {
            .loss = &loss_binary, .weighed = weights[k] < 1, .unlisted = weights[k]};
        const long double cells = 6 * 7 * 5;
        long double ones = 0, entries = weights[k] * (cells - x.nnz);
        struct count_null null;
        for (uint64_t i = 0; i < x.nnz; i++) {
            ones += x.value[i] == 1;
            entries += !isnan(x.value[i]);
        }
        const long double p = ones / entries;
        const long double deviance = -ones * logl(p) - (entries - ones) * log1pl(-p);
        assert_int_equal(find(&null, &x, &w, &error), STATUS_OK);
        assert_true(fabsl(null.deviance - deviance) < 1e-12L * deviance);
        assert_true(fabsl(-expm1l(-null.mean) - p) < 1e-14L && null.perfect == 0);
        assert_true(fabsl(null.total - null.mean * entries) < 1e-12L * null.total);
    }
    for (uint64_t i = 0; i < x.nnz; i++)
        x.value[i] = 1;
    struct count_null null;
    const struct count_weights w = {.loss = &loss_binary, .weighed = true, .unlisted = 0};
    assert_int_equal(find(&null, &x, &w, &error), STATUS_INPUT);
    assert_non_null(strstr(error.message, "all known values are 1"));
    coo_free(&x);
}

/* A product of margins itself has nothing to explain. */
static void test_independent(void **state)
{
    (void)state;
    static const uint64_t dims[] = {3, 4};
    const struct count_weights w = {.loss = &loss_poisson, .weighed = false};
    struct error error = {0};
    struct count_null null;
    struct coo x;
    assert_int_equal(coo_create(&x, &(struct shape){2, {dims[0], dims[1]}}, 12, &error), STATUS_OK);
    for (uint32_t i = 0; i < 12; i++) {
        x.index[0][i] = i / 4;
        x.index[1][i] = i % 4;
        x.value[i] = (1.0 + i / 4) * (1 + i % 4);
    }
    assert_int_equal(find(&null, &x, &w, &error), STATUS_OK);
    assert_true(null.total == 60 && null.deviance == 60);
    coo_free(&x);
}

/* More nonzeros than are decoded at a time: the same bits as those of nonzeros in memory. */
static void test_file(void **state)
{
    (void)state;
    const uint64_t nnz = 4300000, side = 200;
    struct error error = {0};
    struct external_sort_report report;
    struct blco_file file;
    struct coo x;
    assert_int_equal(coo_create(&x, &(struct shape){3, {side, side, side}}, nnz, &error),
                     STATUS_OK);
    for (uint64_t i = 0; i < nnz; i++) {
        x.index[0][i] = (uint32_t)(i % side);
        x.index[1][i] = (uint32_t)(i / side % side);
        x.index[2][i] = (uint32_t)(i / side / side);
        x.value[i] = (double)(1 + i % 7);
    }
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);
    coo_free(&x);
    assert_int_equal(blco_file_open(&file, scratch_path("x.blco"), &error), STATUS_OK);
    assert_int_equal(blco_file_read(&file, &x, NULL, &error), STATUS_OK);
    for (int weighed = 0; weighed < 2; weighed++) {
        const struct count_weights w = {.loss = &loss_poisson, .weighed = weighed, .unlisted = .5};
        struct count_null memory, read;
        assert_int_equal(find(&memory, &x, &w, &error), STATUS_OK);
        assert_int_equal(find_in(&read, &x, &file, &w, &error), STATUS_OK);
        assert_memory_equal(&read, &memory, sizeof read);
    }
    blco_file_close(&file);
    coo_free(&x);
}

static void test_refused(void **state)
{
    (void)state;
    const struct count_weights w = {.loss = &loss_poisson, .weighed = false};
    struct error error = {0};
    struct count_null null;
    struct coo x = counts(40);
    char expected[128];
    x.value[7] = x.value[9] = -1;
    snprintf(expected, sizeof expected,
             "2 values are negative; --loss poisson is for counts (first: at coordinates %u %u %u)",
             x.index[0][7] + 1, x.index[1][7] + 1, x.index[2][7] + 1);
    assert_int_equal(find(&null, &x, &w, &error), STATUS_INPUT);
    assert_string_equal(error.message, expected);
    error = (struct error){0};
    memset(x.value, 0, x.nnz * sizeof *x.value);
    assert_int_equal(find(&null, &x, &w, &error), STATUS_INPUT);
    assert_string_equal(error.message, "all counts are zero");
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published),
        cmocka_unit_test(test_scaled),
        cmocka_unit_test(test_huge_counts),
        cmocka_unit_test(test_weighed),
        cmocka_unit_test(test_binary),
        cmocka_unit_test(test_independent),
        cmocka_unit_test_setup_teardown(test_file, scratch_make, scratch_remove),
        cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
