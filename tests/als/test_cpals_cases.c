/* Unusual tensors, starts and ranks, one a row of a table: the right answer, or an error that names
 * the cause, the same on every backend and number of ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <string.h>

#include <cmocka.h>

#include "support/rank_runs.h"
#include "support/small_tensors.h"

/* Which cells of the tensor have nonzeros. All but ANY make a tensor of one component. */
enum cells {
    ALL,    /* every cell: scale * (1 + i_1) (1 + i_2) ..., signs by turns along mode 1 */
    EVEN,   /* those of them whose indices are all even: every second slice is empty    */
    CORNER, /* the last cell alone                                                     */
    ANY     /* every cell, random: of as many components as the row has                 */
};

enum start {
    RANDOM,
    EQUAL, /* all components alike: every V has rank 1       */
    DEAD,  /* component 2 is zero in all modes but the first */
    NEARLY /* components that differ by 1e-9 of an entry     */
};

static const struct unusual {
    const char *name;
    int order;
    uint64_t dims[MAX_ORDER];
    double scale;
    enum cells cells;
    uint64_t rank;
    enum start start;
    /* Squares of the values, or products with them, leave the range of a double: an answer must be
     * right, but an error that names the cause will do too; the test tells which it was. */
    bool extreme;
} rows[] = {
    {"one component", 3, {5, 4, 6}, 1, ALL, 1, RANDOM, false},
    {"one component, a matrix", 2, {5, 4}, 1, ALL, 1, RANDOM, false},
    {"one component, a vector", 1, {9}, 1, ALL, 1, RANDOM, false},
    {"a vector, more components", 1, {9}, 1, ALL, 3, RANDOM, false},
    {"more components than the tensor has", 3, {5, 4, 6}, 1, ALL, 3, RANDOM, false},
    {"rank above every length", 3, {3, 2, 2}, 1, ANY, 20, RANDOM, false},
    {"rank far above the number of cells", 3, {2, 2, 2}, 1, ANY, 70, RANDOM, false},
    {"modes of length 1", 5, {1, 7, 1, 5, 1}, 1, ALL, 2, RANDOM, false},
    {"a matrix among modes of length 1", 4, {1, 6, 1, 4}, 1, ANY, 4, RANDOM, false},
    {"all modes of length 1", 3, {1, 1, 1}, -2.5, ALL, 1, RANDOM, false},
    {"all modes of length 1, rank 4", 3, {1, 1, 1}, 2.5, ALL, 4, RANDOM, false},
    {"order 16", 16, {1, 2, 1, 2, 1, 2, 1, 1, 1, 2, 1, 1, 1, 1, 1, 2}, 1, ALL, 2, RANDOM, false},
    {"one nonzero", 3, {50, 60, 70}, 3, CORNER, 1, RANDOM, false},
    {"one nonzero, negative", 3, {50, 60, 70}, -3, CORNER, 1, RANDOM, false},
    {"one nonzero, rank 5", 4, {20, 30, 10, 40}, 3, CORNER, 5, RANDOM, false},
    {"empty slices", 3, {31, 20, 11}, 1, EVEN, 1, RANDOM, false},
    {"empty slices, rank 3", 3, {31, 20, 11}, 1, EVEN, 3, RANDOM, false},
    {"negative", 3, {5, 4, 6}, -1, ALL, 1, RANDOM, false},
    {"negative, rank 2", 4, {5, 4, 3, 2}, -1, ALL, 2, RANDOM, false},
    {"equal components", 3, {5, 4, 6}, 1, ALL, 3, EQUAL, false},
    {"equal components, empty slices", 3, {9, 8, 7}, 1, EVEN, 4, EQUAL, false},
    {"collinear components", 3, {5, 4, 6}, 1, ALL, 3, NEARLY, false},
    {"a zero column in two modes", 3, {5, 4, 6}, 1, ALL, 3, DEAD, false},
    {"a zero column in three modes", 4, {5, 4, 3, 2}, 1, ALL, 4, DEAD, false},
    {"values of 1e-100", 3, {5, 4, 6}, 1e-100, ALL, 1, RANDOM, true},
    {"values of 1e100", 3, {5, 4, 6}, 1e100, ALL, 1, RANDOM, true},
    {"values of 1e100, rank 3", 3, {5, 4, 6}, 1e100, ALL, 3, RANDOM, true},
    {"values of 1e-140", 3, {5, 4, 6}, 1e-140, ALL, 2, RANDOM, true},
    {"values of 1e140", 3, {5, 4, 6}, 1e140, ALL, 2, RANDOM, true},
    {"values of 1e-300", 3, {5, 4, 6}, 1e-300, ALL, 1, RANDOM, true},
    {"values of 1e-300, rank 3", 3, {5, 4, 6}, 1e-300, ALL, 3, RANDOM, true},
    {"values of 1e300", 3, {5, 4, 6}, 1e300, ALL, 1, RANDOM, true},
    {"values of 1e300, rank 3", 3, {5, 4, 6}, 1e300, ALL, 3, RANDOM, true},
    {"one nonzero of 1e300", 3, {50, 60, 70}, 1e300, CORNER, 1, RANDOM, true},
    {"one nonzero of 1e-300", 3, {50, 60, 70}, 1e-300, CORNER, 1, RANDOM, true},
    {"denormal values", 3, {5, 4, 6}, 0x1p-1060, ALL, 1, RANDOM, true},
    {"one nonzero, the smallest denormal", 3, {5, 4, 6}, 0x1p-1074, CORNER, 1, RANDOM, true},
    {"one nonzero, the largest number",
     3,
     {5, 4, 6},
     0x1.fffffffffffffp1023,
     CORNER,
     1,
     RANDOM,
     true},
};

static double value_at(const struct unusual *u, const uint32_t *at, uint64_t *seed)
{
    double value = at[0] % 4 == 2 ? -u->scale : u->scale;
    if (u->cells == ANY)
        return (double)(naive_random(seed) >> 11) * 0x1p-53 + 0.1;
    for (int n = 0; n < u->order; n++) {
        if (u->cells == EVEN && at[n] % 2)
            return 0;
        if (u->cells == CORNER && at[n] + 1 < u->dims[n])
            return 0;
        value *= u->cells == CORNER ? 1 : 1 + at[n];
    }
    return value;
}

static void make_tensor(struct coo *x, const struct unusual *u)
{
    uint64_t cells = 1, seed = 5;
    for (int n = 0; n < u->order; n++)
        cells *= u->dims[n];
    small_tensor(x, u->order, u->dims, cells);
    for (uint64_t c = 0; c < cells; c++) {
        uint32_t at[MAX_ORDER];
        uint64_t rest = c;
        for (int n = 0; n < u->order; n++) {
            at[n] = (uint32_t)(rest % u->dims[n]);
            rest /= u->dims[n];
        }
        double value = value_at(u, at, &seed);
        if (value != 0)
            add_nonzero(x, at, value);
    }
}

static void make_start(struct ktensor *k, const struct unusual *u)
{
    struct error error = {0};
    assert_int_equal(ktensor_create(k, SHAPE(u->order, u->dims), u->rank, &error), STATUS_OK);
    ktensor_randomise(k, KTENSOR_RANDOM, 1);
    for (int n = 0; n < u->order; n++)
        for (uint64_t i = 0; i < u->dims[n]; i++)
            for (uint64_t r = 0; r < u->rank; r++) {
                double *entry = &k->factor[n][i * u->rank + r];
                if (u->start == EQUAL || u->start == NEARLY)
                    *entry =
                        k->factor[n][i * u->rank] + (u->start == NEARLY ? 1e-9 * (double)r : 0);
                if (u->start == DEAD && n > 0 && r == 1)
                    *entry = 0;
            }
}

/* ||X|| by long doubles, whose squares stay in range. */
static long double norm_of(const struct coo *x)
{
    long double sum = 0;
    for (uint64_t i = 0; i < x->nnz; i++)
        sum += (long double)x->value[i] * x->value[i];
    return sqrtl(sum);
}

static void check_answer(const struct unusual *u, const struct coo *x, const struct ktensor *k,
                         const struct cpals_result *result)
{
    if (!(fabs(result->fit - 1) < 1e-6) || !(fabsl(naive_fit(x, k) - result->fit) < 1e-7L))
        fail_msg("%s: fit %.12g, from the nonzeros %.12Lg", u->name, result->fit, naive_fit(x, k));
    for (uint64_t r = 0; r < u->rank; r++)
        assert_true(isfinite(k->lambda[r]) && k->lambda[r] >= 0);
    if (u->rank == 1)
        assert_true(fabsl((long double)k->lambda[0] / norm_of(x) - 1) < 1e-7L);
    for (int n = 0; n < u->order; n++)
        for (uint64_t i = 0; i < u->dims[n] * u->rank; i++) {
            bool empty = (u->cells == EVEN && i / u->rank % 2) ||
                         (u->cells == CORNER && i / u->rank + 1 < u->dims[n]);
            assert_true(isfinite(k->factor[n][i]) && fabs(k->factor[n][i]) <= 1 + 1e-12);
            assert_true(!empty || k->factor[n][i] == 0);
        }
    if (u->start == DEAD)
        assert_true(result->health.zero == 1 && k->lambda[u->rank - 1] == 0);
}

static void check_row(const struct unusual *u)
{
    const struct backend_options machine = {.problem.rank = u->rank};
    const struct cpals_options options = {.max_iterations = 2000, .tolerance = 1e-10};
    struct error error = {0};
    struct cpals_result result;
    struct coo x;
    struct ktensor k;
    make_tensor(&x, u);
    make_start(&k, u);
    enum status status = run_from(&x, &k, &machine, &options, &result, &error);
    if (u->extreme)
        print_message("%s: %s\n", u->name, status == STATUS_OK ? "answered" : error.message);
    if (status == STATUS_OK) {
        check_answer(u, &x, &k, &result);
    } else {
        if (!u->extreme || (status != STATUS_NUMERICAL && status != STATUS_INPUT))
            fail_msg("%s: status %d: %s", u->name, (int)status, error.message);
        /* the cause: ||X||, or what is made of it */
        assert_true(strstr(error.message, "norm") || strstr(error.message, "not finite") ||
                    strstr(error.message, "more than a double holds"));
    }
    ktensor_free(&k);
    coo_free(&x);
}

static void test_rows(void **state)
{
    use_ranks(state);
    const size_t step =
        under_test.kind->devices && under_test.ranks > 1 ? 3 : 1; /* GPUs meet slowly */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i += step)
        check_row(&rows[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_RANKS_OF(test_rows, backend_host, 1), ON_RANKS_OF(test_rows, backend_host, 2),
        ON_RANKS_OF(test_rows, backend_host, 3), ON_RANKS_OF(test_rows, backend_cuda, 1),
        ON_RANKS_OF(test_rows, backend_cuda, 2),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
