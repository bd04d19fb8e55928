/* The extrapolated factor matrices of several modes at once, on the device, against plain loops:
 * rows, norms and Grams. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <math.h>
#include <string.h>
#include <cmocka.h>

#include "backend/cuda/dense/device_dense.h"
#include "kernels/dense/dense_apply.h"
#include "support/gpu_arrays.h"

#define MODES 5

/* Of a mode, and which of them count; the last mode is long enough for several thread blocks. */
static const struct {
    uint64_t rows, first, count;
} lengths[MODES] = {{17, 0, 17}, {0, 0, 0}, {1, 0, 1}, {300, 37, 201}, {4003, 5, 3990}};

static const struct momentum_step steps[] = {{1.25, -0.25}, {1, -0.0}, {0, 1}};

/* One mode on the host: what a test begins with, and what it gets. */
struct mode {
    void *a, *s, *got;
    double *norm_a, *gram_a, *norm_s, *gram_s, *got_norm, *got_gram;
    double *sum; /* of SUMMED, the norms of Y */
};

#define SUMMED 4

/* Of an entry of A. */
static double keeps_of(int n)
{
    return n == 3 ? .1 : 0;
}

struct model {
    uint64_t rank, ld;
    enum precision precision;
    struct mode mode[MODES];
};

static uint64_t entries_of(const struct model *m, int n)
{
    return (lengths[n].rows + 1) * m->ld; /* with a row after the last, which is full of NaN */
}

/* Columns from `rank` on, of A, are zero. */
static void clear_padding(const struct model *m, int n)
{
    const size_t bytes = precision_bytes(m->precision);
    for (uint64_t i = 0; i < lengths[n].rows; i++)
        memset((char *)m->mode[n].a + (i * m->ld + m->rank) * bytes, 0, (m->ld - m->rank) * bytes);
}

static void *rows_and_one(const struct model *m, int n, uint64_t seed)
{
    void *matrix = random_matrix(lengths[n].rows + 1, m->rank, m->ld, m->precision, seed);
    const size_t row = m->ld * precision_bytes(m->precision);
    memset((char *)matrix + lengths[n].rows * row, 0xff, row);
    return matrix;
}

/* Column 1 of S counts with the norm 1, column 2 of A is zero. */
static void model_make(struct model *m, uint64_t rank, uint64_t ld, enum precision precision)
{
    *m = (struct model){.rank = rank, .ld = ld, .precision = precision};
    for (int n = 0; n < MODES; n++) {
        struct mode *mode = &m->mode[n];
        mode->a = rows_and_one(m, n, 10 + (uint64_t)n);
        mode->s = rows_and_one(m, n, 20 + (uint64_t)n);
        clear_padding(m, n);
        mode->norm_a = host_array(rank, sizeof(double));
        mode->norm_s = host_array(rank, sizeof(double));
        mode->got_norm = host_array(rank, sizeof(double));
        mode->gram_a = host_array(rank * rank, sizeof(double));
        mode->gram_s = host_array(rank * rank, sizeof(double));
        mode->sum = host_array(rank, sizeof(double));
        mode->got_gram = host_array(rank * rank, sizeof(double));
        for (uint64_t r = 0; r < rank; r++) {
            mode->norm_a[r] = 1.5 + n + (double)r;
            mode->norm_s[r] = r == 1 ? 0 : 0.5 + n + (double)r;
            mode->sum[r] = r == 2 ? 0 : 3 + (double)r;
        }
        for (uint64_t e = 0; e < rank * rank; e++) {
            mode->gram_a[e] = e / rank == 2 && e % rank == 2 ? 0 : 1 + n + 1e-3 * (double)e;
            mode->gram_s[e] = -1 - n - 1e-3 * (double)e;
        }
    }
}

static void model_free(struct model *m)
{
    for (int n = 0; n < MODES; n++) {
        struct mode *mode = &m->mode[n];
        void *const arrays[] = {mode->a,      mode->s,        mode->norm_a,
                                mode->gram_a, mode->sum,      mode->norm_s,
                                mode->gram_s, mode->got_norm, mode->got_gram};
        for (size_t i = 0; i < COUNT(arrays); i++)
            memory_free(arrays[i]);
        free(mode->got);
    }
}

static struct dense_extrapolate_args upload(const struct model *m, const struct momentum_step *step,
                                            int halted)
{
    const size_t bytes = precision_bytes(m->precision);
    struct dense_extrapolate_args args = {.modes = MODES,
                                          .ld = (uint32_t)m->ld,
                                          .rank = (uint32_t)m->rank,
                                          .step = uploaded(step, sizeof *step),
                                          .halt = uploaded(&halted, sizeof halted)};
    const size_t norms = m->rank * sizeof(double), grams = m->rank * norms;
    for (int n = 0; n < MODES; n++) {
        const struct mode *mode = &m->mode[n];
        args.mode[n] =
            (struct dense_extrapolate_mode){.a = uploaded(mode->a, entries_of(m, n) * bytes),
                                            .s = uploaded(mode->s, entries_of(m, n) * bytes),
                                            .rows = lengths[n].rows,
                                            .first = lengths[n].first,
                                            .count = lengths[n].count,
                                            .norm_a = uploaded(mode->norm_a, norms),
                                            .gram_a = uploaded(mode->gram_a, grams),
                                            .norm_s = uploaded(mode->norm_s, norms),
                                            .gram_s = uploaded(mode->gram_s, grams),
                                            .clip = n % 2,
                                            .keeps = keeps_of(n),
                                            .sum = n == SUMMED ? uploaded(mode->sum, norms) : NULL};
    }
    return args;
}

/* Fetches what the device has made, and frees everything there. */
static void finish(struct model *m, struct dense_extrapolate_args *args)
{
    const size_t norms = m->rank * sizeof(double);
    for (int n = 0; n < MODES; n++) {
        struct mode *mode = &m->mode[n];
        struct dense_extrapolate_mode *there = &args->mode[n];
        free(mode->got);
        mode->got = downloaded(there->s, entries_of(m, n), precision_bytes(m->precision));
        fetch(mode->got_norm, there->norm_s, norms);
        fetch(mode->got_gram, there->gram_s, m->rank * norms);
        void *const arrays[] = {(void *)there->a,      there->s,      (void *)there->norm_a,
                                (void *)there->gram_a, there->norm_s, there->gram_s,
                                (void *)there->sum};
        for (size_t i = 0; i < COUNT(arrays); i++)
            good(cudaFree(arrays[i]));
    }
    good(cudaFree((void *)args->step));
    good(cudaFree((void *)args->halt));
}

static double expected_entry(const struct model *m, int n, uint64_t e,
                             const struct momentum_step *step)
{
    const struct mode *mode = &m->mode[n];
    const uint64_t r = e % m->ld;
    if (r >= m->rank || r == 2)
        return 0;
    const double y = step->now / mode->norm_a[r] * entry(mode->a, e, m->precision) +
                     step->before / (mode->norm_s[r] != 0 ? mode->norm_s[r] : 1) *
                         entry(mode->s, e, m->precision);
    const double least = keeps_of(n) / mode->norm_a[r] * entry(mode->a, e, m->precision);
    return n % 2 && y < least ? least : y;
}

static void check_rows(const struct model *m, int n, const struct momentum_step *step, bool stays)
{
    const struct mode *mode = &m->mode[n];
    const size_t bytes = precision_bytes(m->precision);
    const uint64_t entries = lengths[n].rows * m->ld;
    const double tolerance = m->precision == PRECISION_SINGLE ? 1e-6 : 1e-14;
    if (stays)
        assert_memory_equal(mode->got, mode->s, entries * bytes);
    else if (step->before == 0)
        assert_memory_equal(mode->got, mode->a, entries * bytes);
    else
        for (uint64_t e = 0; e < entries; e++)
            assert_true(fabs(entry(mode->got, e, m->precision) - expected_entry(m, n, e, step)) <=
                        tolerance);
    assert_memory_equal((char *)mode->got + entries * bytes, (char *)mode->s + entries * bytes,
                        m->ld * bytes);
}

/* Norms and Gram of unit columns of the rows that count, as the device has stored them. */
static void check_counted(const struct model *m, int n)
{
    const struct mode *mode = &m->mode[n];
    const uint64_t rank = m->rank, first = lengths[n].first, count = lengths[n].count;
    double *column = host_array(rank * count + 1, sizeof *column);
    long double *norm = host_array(rank, sizeof *norm), *gram = host_array(rank, sizeof *gram);
    for (uint64_t r = 0; r < rank; r++) {
        long double sum = 0;
        for (uint64_t i = 0; i < count; i++) {
            const double x = entry(mode->got, (first + i) * m->ld + r, m->precision);
            column[r * count + i] = x;
            sum += (long double)x * x;
        }
        norm[r] = n == SUMMED ? (long double)mode->sum[r] : sqrtl(sum);
    }
    near(mode->got_norm, norm, rank, 1e-12);
    for (uint64_t r = 0; r < rank; r++) {
        for (uint64_t q = 0; q < rank; q++) {
            long double sum = 0;
            for (uint64_t i = 0; i < count; i++)
                sum += (long double)column[r * count + i] * column[q * count + i];
            gram[q] = norm[r] == 0 || norm[q] == 0 ? 0 : sum / norm[r] / norm[q];
            assert_true(mode->got_gram[r * rank + q] == mode->got_gram[q * rank + r]);
        }
        if (norm[r] == 0)
            for (uint64_t q = 0; q < rank; q++)
                assert_true(mode->got_gram[r * rank + q] == 0);
        else
            near(mode->got_gram + r * rank, gram, rank, 1e-12);
    }
    memory_free(column);
    memory_free(norm);
    memory_free(gram);
}

static void check(const struct model *m, const struct momentum_step *step, int halted)
{
    const bool stays = halted || step->now == 0;
    const size_t norms = m->rank * sizeof(double);
    for (int n = 0; n < MODES; n++) {
        const struct mode *mode = &m->mode[n];
        check_rows(m, n, step, stays);
        if (!stays && step->before != 0) {
            check_counted(m, n);
            continue;
        }
        assert_memory_equal(mode->got_norm, stays ? mode->norm_s : mode->norm_a, norms);
        assert_memory_equal(mode->got_gram, stays ? mode->gram_s : mode->gram_a, m->rank * norms);
    }
}

static const struct device_dense_place place = {0}; /* GPU 0, its default stream */

/* By the dense steps, which know how wide rows are. */
static void extrapolate(struct model *m, struct device_dense *d, const struct momentum_step *step,
                        int halted)
{
    struct error error = {0};
    struct dense_extrapolate_args args = upload(m, step, halted);
    double *raw = uploaded(NULL, MODES * m->rank * m->rank * sizeof *raw);
    ok(device_dense_extrapolate(d, &args, raw, &error), &error);
    good(dense_extrapolated_norms(&args, raw, 0));
    finish(m, &args);
    good(cudaFree(raw));
}

static void test_steps(void **state)
{
    (void)state;
    for (size_t r = 0; r < COUNT(ranks); r++)
        for (int kind = 0; kind < 4; kind++) {
            const enum precision precision = kind % 2 ? PRECISION_SINGLE : PRECISION_DOUBLE;
            const uint64_t ld = row_length(ranks[r], precision, kind / 2);
            struct device_dense *d;
            struct error error = {0};
            struct model m;
            model_make(&m, ranks[r], ld, precision);
            ok(device_dense_open(&d, &place, ranks[r], ld, precision, &error), &error);
            ok(device_dense_open_extrapolate(d, &error), &error);
            for (size_t i = 0; i < COUNT(steps); i++)
                for (int halted = 0; halted < 2; halted++) {
                    extrapolate(&m, d, &steps[i], halted);
                    check(&m, &steps[i], halted);
                }
            device_dense_close(d);
            model_free(&m);
        }
}

/* Fewer thread blocks than modes, and few more; every run has the same bits. */
static void test_few_blocks(void **state)
{
    (void)state;
    static const uint32_t most[] = {1, 8, 8};
    const struct dense_streams one = {NULL, NULL, NULL};
    for (uint64_t rank = 16; rank <= 64; rank += 16) {
        struct model m;
        double *last = host_array(rank * rank, sizeof *last);
        model_make(&m, rank, rank, PRECISION_DOUBLE);
        for (size_t i = 0; i < COUNT(most); i++) {
            struct dense_extrapolate_args args = upload(&m, &steps[0], 0);
            const uint64_t parts = most[i] > MODES ? most[i] : MODES;
            double *partial = uploaded(NULL, parts * dense_apply_partial(rank) * sizeof *partial);
            double *raw = uploaded(NULL, MODES * rank * rank * sizeof *raw);
            good(dense_extrapolate_gram(&args, m.precision, partial, most[i], raw, &one));
            good(dense_extrapolated_norms(&args, raw, NULL));
            finish(&m, &args);
            check(&m, &steps[0], 0);
            const double *gram = m.mode[MODES - 1].got_gram;
            if (i > 0 && most[i] == most[i - 1])
                assert_memory_equal(gram, last, rank * rank * sizeof *last);
            memcpy(last, gram, rank * rank * sizeof *last);
            good(cudaFree(partial));
            good(cudaFree(raw));
        }
        memory_free(last);
        model_free(&m);
    }
}

/* The k-th allocation fails, for every k. */
static void test_out_of_memory(void **state)
{
    (void)state;
    int failures = 0;
    for (long k = 0, fired = 1; fired; k++) {
        struct device_dense *d;
        struct error error = {0};
        ok(device_dense_open(&d, &place, 16, 16, PRECISION_DOUBLE, &error), &error);
        memory_hook_set(k);
        enum status status = device_dense_open_extrapolate(d, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        failures += fired != 0;
        device_dense_close(d);
    }
    assert_true(failures > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_steps),
                                       cmocka_unit_test(test_few_blocks),
                                       cmocka_unit_test(test_out_of_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
