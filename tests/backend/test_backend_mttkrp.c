/* MTTKRP on every conflict resolution, in memory and streamed, on every backend that this machine
 * can run. */
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
#include "support/blco_files.h"
#include "support/whole_tensors.h"
#include "support/scratch.h"

#define MTTKRP_TOLERANCE 1e-12L
#define SMALL_CACHE      512 /* bytes: a tile has from 1 to 16 rows */

static void make_positive(struct coo *x, struct ktensor *k)
{
    for (uint64_t i = 0; i < x->nnz; i++)
        x->value[i] = fabs(x->value[i]);
    ktensor_randomise(k, KTENSOR_RANDOM, 7);
}

static long double relative_error(const double *m, const long double *expected, uint64_t n)
{
    long double difference = 0, norm = 0;
    for (uint64_t i = 0; i < n; i++) {
        difference += (m[i] - expected[i]) * (m[i] - expected[i]);
        norm += expected[i] * expected[i];
    }
    return norm > 0 ? sqrtl(difference / norm) : sqrtl(difference);
}

/* MTTKRP of every mode of an open backend against what is expected. */
static void compare_modes(struct backend *b, const struct ktensor *k,
                          const struct backend_options *options, long double *const *expected)
{
    struct error error = {0};
    assert_int_equal(backend_load(b, k, &error), STATUS_OK);
    for (int n = 0; n < k->shape.order; n++) {
        double *m = memory_array(k->shape.dims[n] * k->rank, sizeof *m, &error);
        assert_non_null(m);
        assert_int_equal(backend_mttkrp(b, n, &error), STATUS_OK);
        assert_int_equal(backend_fetch(b, n, m, &error), STATUS_OK);
        long double off = relative_error(m, expected[n], k->shape.dims[n] * k->rank);
        if (!(off <= (options->problem.precision == POLICY_SINGLE ? 1e-5L : MTTKRP_TOLERANCE)))
            fail_msg("order %d, rank %d, %s%s, mode %d: relative error %Lg", k->shape.order,
                     (int)k->rank, b->plan.streamed ? "streamed, " : "",
                     conflict_name(options->conflict), n + 1, off);
        memory_free(m);
    }
}

static void check_modes(const struct backend_kind *kind, const struct coo *x,
                        const struct ktensor *k, const struct backend_options *setting,
                        long double *const *expected)
{
    struct error error = {0};
    struct backend b;
    if (backend_open(&b, kind, x, setting, NULL, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    compare_modes(&b, k, setting, expected);
    backend_close(&b);
}

/* What the oracle says for every mode; the caller frees these arrays. */
static void expect_modes(const struct coo *x, const struct ktensor *k, long double **expected)
{
    struct error error = {0};
    for (int n = 0; n < x->shape.order; n++) {
        expected[n] = memory_array(x->shape.dims[n] * k->rank, sizeof *expected[n], &error);
        assert_non_null(expected[n]);
        naive_mttkrp(x, k, n, expected[n]);
    }
}

/* In tiles that are forced, each mode by itself. */
static void check_forced(const struct backend_kind *kind, const struct coo *x,
                         const struct ktensor *k, enum precision_policy precision,
                         const struct plan_forced *forced, long double *const *expected)
{
    const struct backend_options tiles = {.problem.rank = k->rank,
                                          .problem.precision = precision,
                                          .no_sharing = true,
                                          .forced = *forced};
    check_modes(kind, x, k, &tiles, expected);
}

/* On every conflict resolution, against the oracle. On a GPU also in tiles of shared memory and of
 * L2 caches so small that tiles of any mode are possible (g = 0: where they pay). */
static void check_tensor(const struct backend_kind *kind, struct coo *x, uint64_t rank,
                         enum precision_policy precision)
{
    struct ktensor k;
    long double *expected[MAX_ORDER];
    create_model(&k, x, rank, 7);
    if (precision == POLICY_SINGLE) /* terms of one sign: sums that do not cancel */
        make_positive(x, &k);
    expect_modes(x, &k, expected);
    for (enum conflict c = CONFLICT_AUTO; c < CONFLICTS; c++)
        for (enum flow flow = IN_MEMORY; flow < FLOWS; flow++) {
            struct backend_options setting = {
                .problem.rank = rank, .conflict = c, .problem.precision = precision};
            omp_set_num_threads(1 + (int)((c + rank) % 3));
            if (set_flow(&setting, flow, kind, x))
                check_modes(kind, x, &k, &setting, expected);
        }
    for (int t = 1; kind->devices && t <= 2; t++)
        check_forced(kind, x, &k, precision, &(struct plan_forced){.tiles = t}, expected);
    for (int g = 0; kind->devices && g <= x->shape.order; g++)
        for (uint64_t bytes = SMALL_CACHE; bytes <= 64 * SMALL_CACHE; bytes *= 64)
            check_forced(kind, x, &k, precision,
                         &(struct plan_forced){.cache_tiles = g, .cache_bytes = bytes}, expected);
    for (int n = 0; n < x->shape.order; n++)
        memory_free(expected[n]);
    ktensor_free(&k);
}

static void check_mttkrp(const struct backend_kind *kind, const struct tensor_case *s,
                         uint64_t rank, enum precision_policy precision)
{
    struct coo x;
    naive_random_coo(&x, SHAPE(s->order, s->dims), s->nnz, rank, s->skewed);
    check_tensor(kind, &x, rank, precision);
    coo_free(&x);
}

/* The fibers along the shortest mode are the longest: a GPU makes that mode lowest. */
static void test_mttkrp_long_fibers(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    static const uint64_t dims[] = {50, 12, 3000};
    for (uint64_t rank = 7; rank <= 32; rank += 25) {
        struct error error = {0};
        struct coo x;
        assert_int_equal(coo_create(&x, SHAPE(3, dims), 250 * dims[1], &error), STATUS_OK);
        for (uint64_t i = 0; i < x.nnz; i++) {
            const uint64_t fiber = i / dims[1];
            x.index[0][i] = (uint32_t)(fiber * 7 % dims[0]);
            x.index[1][i] = (uint32_t)(i % dims[1]);
            x.index[2][i] = (uint32_t)(fiber * 11);
            x.value[i] = 1 + (double)(i % 5) / 3;
        }
        check_tensor(kind, &x, rank, POLICY_DOUBLE);
        check_tensor(kind, &x, rank, POLICY_SINGLE);
        coo_free(&x);
    }
}

static void test_mttkrp_ranks(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    static const uint64_t ranks[] = {1, 2, 7, 16, 17, 32, 33, 64, 100};
    static const struct tensor_case shapes[] = {
        {3, {50, 31, 400}, 5000, 1},
        {4, {17, 5, 90, 33}, 2500, 0},
    };
    for (size_t r = 0; r < sizeof ranks / sizeof *ranks; r++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            check_mttkrp(kind, &shapes[s], ranks[r], POLICY_DOUBLE);
}

static void test_mttkrp_orders(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    static const struct tensor_case shapes[] = {
        {1, {300}, 100, 0},
        {2, {60, 7}, 300, 0},
        {3, {3, 500, 70}, 9000, 1},
        {4, {6, 24, 40, 70}, 20000, 1},
        {5, {9, 8, 7, 6, 50}, 4000, 1},
        {6, {4, 5, 6, 7, 8, 9}, 3000, 0},
        {7, {2, 3, 4, 5, 6, 7, 8}, 3000, 0},
        {8, {3, 3, 3, 3, 3, 3, 3, 3}, 3000, 0},
        {16, {2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 2, 2, 2, 2}, 2000, 0},
    };
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        check_mttkrp(kind, &shapes[s], 3 + 8 * (s % 3), POLICY_DOUBLE);
}

static void test_mttkrp_modes_of_length_one(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    static const struct tensor_case shapes[] = {
        {1, {1}, 1, 0},
        {3, {1, 1, 1}, 1, 0},
        {3, {1, 60, 1}, 40, 0},
        {4, {50, 1, 70, 80}, 7000, 1},
    };
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        check_mttkrp(kind, &shapes[s], 16, POLICY_DOUBLE);
}

static void test_mttkrp_hot_and_empty_rows(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    static const struct tensor_case shapes[] = {
        {3, {2, 3000, 2500}, 20000, 1},
        {3, {100000, 12, 3000}, 3000, 1},
        {4, {30000, 2, 20000, 3}, 15000, 1},
    };
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        check_mttkrp(kind, &shapes[s], 8, POLICY_DOUBLE);
}

static void test_mttkrp_long_lines(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    static const struct tensor_case shapes[] = {
        {11, {64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64}, 5000, 1},    /*  66 bits */
        {8, {4096, 4096, 4096, 4096, 4096, 4096, 4096, 4096}, 5000, 0}, /*  96 */
        {5, {100000, 70000, 90000, 100000, 80000}, 5000, 1},            /*  85 */
        {16,
         {512, 512, 512, 512, 512, 512, 512, 512, 512, 512, 512, 512, 512, 512, 512, 512},
         3000,
         1}, /* 144 */
    };
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        check_mttkrp(kind, &shapes[s], s == 2 ? 2 : 5, POLICY_DOUBLE);
}

/* Single precision on every conflict resolution against the oracle. */
static void test_single(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    static const uint64_t ranks[] = {1, 3, 16, 33, 100};
    static const struct tensor_case shapes[] = {
        {1, {50}, 40, 0},
        {3, {50, 31, 4000}, 9000, 1},
        {5, {17, 5, 90, 1, 33}, 2500, 0},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t r = 0; r < sizeof ranks / sizeof *ranks; r++)
            check_mttkrp(kind, &shapes[i], ranks[r], POLICY_SINGLE);
}

/* The previous tests have streamed; the bytes that flow are known for each mode. */
static void test_streamed(void **state)
{
    const struct backend_kind *kind = backend_of(state);
    static const uint64_t dims[] = {500, 310, 400}; /* none is short: no copies to do without */
    struct error error = {0};
    struct coo x;
    struct ktensor k;
    assert_true(flowed > 200);
    naive_random_coo(&x, SHAPE(3, dims), 9000, 1, 1);
    create_model(&k, &x, 8, 1);
    for (enum flow flow = IN_MEMORY; flow < FLOWS; flow++) {
        struct backend_options setting = {.problem.rank = 8, .forced = {.one_copy = true}};
        struct backend b;
        struct backend_built built;
        assert_true(set_flow(&setting, flow, kind, &x));
        assert_int_equal(backend_open(&b, kind, &x, &setting, NULL, &error), STATUS_OK);
        assert_true(b.plan.streamed == (flow != IN_MEMORY));
        assert_int_equal(backend_load(&b, &k, &error), STATUS_OK);
        for (int n = 0; n < 3; n++) {
            assert_int_equal(backend_mttkrp(&b, n, &error), STATUS_OK);
            backend_built(&b, &built);
            const struct backend_mttkrp_kernel *kernel = &built.kernel[n];
            assert_true((kernel->bus_bytes > 0) == (flow != IN_MEMORY));
            assert_true((strstr(kernel->name, "streamed x") != NULL) == (flow != IN_MEMORY));
            assert_true(kernel->chosen || flow == IN_MEMORY);
        }
        backend_close(&b);
    }
    ktensor_free(&k);
    coo_free(&x);
}

/* From a .blco file's segments, and nothing of the nonzeros in the host's memory. */
static void check_from_file(void **state, struct backend_options setting, bool streamed)
{
    const struct backend_kind *kind = backend_of(state);
    static const uint64_t dims[] = {300, 400, 500};
    struct error error = {0};
    struct external_sort_report report;
    struct whole whole;
    struct backend b;
    struct ktensor k;
    struct coo x;
    long double *expected[MAX_ORDER];
    struct backend_fit fit;
    assert_int_equal(scratch_make(state), 0);
    naive_random_coo(&x, SHAPE(3, dims), 600000, 1, 0);
    create_model(&k, &x, 4, 1);
    expect_modes(&x, &k, expected);
    assert_int_equal(write_blco(&x, scratch_path("x.blco"), &report, &error), STATUS_OK);

    open_whole(&whole, scratch_path("x.blco"));
    if (streamed)
        setting.memory = smallest_memory(&setting, kind, &x);
    assert_int_equal(backend_prepare(&b, kind, &whole.tensor, &setting, NULL, &error), STATUS_OK);
    assert_true(whole.tensor.input.unread);
    assert_int_equal(b.plan.streamed, streamed);
    if (backend_build(&b, &whole.tensor, NULL, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    rank_tensor_free_nonzeros(&whole.tensor);
    struct backend_built built;
    backend_built(&b, &built);
    assert_int_equal(built.kernel[0].bus_bytes > 0, streamed);
    compare_modes(&b, &k, &setting, expected);

    assert_int_equal(backend_update(&b, 2, &error), STATUS_OK);
    assert_int_equal(backend_fit(&b, 2, NULL, &fit, &error), STATUS_OK);
    assert_int_equal(backend_store(&b, &k, &error), STATUS_OK);
    assert_true(fabsl(fit.value - naive_fit(&x, &k)) < 1e-10L);
    backend_close(&b);
    close_whole(&whole);
    for (int n = 0; n < 3; n++)
        memory_free(expected[n]);
    ktensor_free(&k);
    coo_free(&x);
    scratch_remove(state);
}

static void test_streamed_from_file(void **state)
{
    check_from_file(state,
                    (struct backend_options){.problem.rank = 4,
                                             .forced = {.one_copy = true, .batch_nnz = 65536}},
                    true);
}

static void test_decoded_from_file(void **state)
{
    check_from_file(state, (struct backend_options){.problem.rank = 4}, false);
    check_from_file(
        state, (struct backend_options){.problem.rank = 4, .forced = {.one_copy = true}}, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_ALL(test_mttkrp_ranks),
        ON_ALL(test_mttkrp_orders),
        ON_ALL(test_mttkrp_long_fibers),
        ON_ALL(test_mttkrp_modes_of_length_one),
        ON_ALL(test_mttkrp_hot_and_empty_rows),
        ON_ALL(test_mttkrp_long_lines),
        ON_ALL(test_single),
        ON(test_streamed, backend_cuda),
        ON(test_streamed_from_file, backend_cuda),
        ON(test_decoded_from_file, backend_cuda),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
