/* Synthetic tensors: exact counts, distinct places, one result whatever the threads, and the
 * statistics that were asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "generate/generate.h"
#include "tensor/coo.h"
#include "tensor/ordering.h"

static void check_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%g, expected %g within %g", value, expected, tolerance);
}

#define PLENTY (UINT64_C(1) << 40) /* of memory */

/* Puts the pieces together. */
struct collector {
    struct coo x;
    uint64_t filled;
};

static enum status collect(void *context, struct coo *piece, struct error *error)
{
    (void)error;
    struct collector *c = context;
    assert_int_equal(c->filled % GENERATE_PIECE, 0);
    assert_true(piece->nnz <= c->x.nnz - c->filled);
    for (int n = 0; n < piece->shape.order; n++)
        memcpy(c->x.index[n] + c->filled, piece->index[n], piece->nnz * sizeof *piece->index[n]);
    memcpy(c->x.value + c->filled, piece->value, piece->nnz * sizeof *piece->value);
    c->filled += piece->nnz;
    return STATUS_OK;
}

static struct coo skewed_within(const struct generate_spec *spec, uint64_t seed, uint64_t memory)
{
    struct error error = {0};
    struct collector c = {.filled = 0};
    if (coo_create(&c.x, &spec->shape, spec->nnz, &error) != STATUS_OK ||
        generate_skewed(spec, seed, memory, collect, &c, NULL, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    assert_int_equal(c.filled, spec->nnz);
    return c.x;
}

static struct coo skewed(const struct generate_spec *spec, uint64_t seed)
{
    return skewed_within(spec, seed, PLENTY);
}

static enum status take_nothing(void *context, struct coo *piece, struct error *error)
{
    (void)context;
    (void)piece;
    (void)error;
    return STATUS_OK;
}

static struct coo planted(const struct generate_plant *plant, uint64_t seed)
{
    struct error error = {0};
    struct coo x;
    if (generate_planted(&x, plant, seed, UINT64_MAX, NULL, &error) != STATUS_OK)
        fail_msg("%s", error.message);
    return x;
}

/* Strictly ascending along the alto line, hence distinct, and within the lengths. */
static void check_line(const struct coo *x)
{
    struct ordering alto;
    uint64_t line[2][MAX_LINE_WORDS] = {{0}};
    ordering_create(&alto, ORDERING_ALTO, &x->shape, 64);
    for (uint64_t i = 0; i < x->nnz; i++) {
        uint32_t coordinate[MAX_ORDER];
        uint64_t *own = line[i % 2], *before = line[(i + 1) % 2];
        for (int n = 0; n < x->shape.order; n++) {
            coordinate[n] = x->index[n][i];
            assert_true(coordinate[n] < x->shape.dims[n]);
        }
        ordering_encode(&alto, coordinate, own);
        int word = MAX_LINE_WORDS - 1;
        while (word > 0 && own[word] == before[word])
            word--;
        if (i > 0 && own[word] <= before[word])
            fail_msg("nonzero %ju does not follow the one before", (uintmax_t)i);
    }
}

/* The same in lexicographic order. */
static void check_lexicographic(const struct coo *x)
{
    for (uint64_t i = 0; i < x->nnz; i++) {
        int n = 0;
        while (i > 0 && n < x->shape.order && x->index[n][i] == x->index[n][i - 1])
            n++;
        if (i > 0 && (n == x->shape.order || x->index[n][i] < x->index[n][i - 1]))
            fail_msg("nonzero %ju does not follow the one before", (uintmax_t)i);
        for (n = 0; n < x->shape.order; n++)
            assert_true(x->index[n][i] < x->shape.dims[n]);
    }
}

static uint64_t *slice_counts(const struct coo *x, int mode)
{
    uint64_t *count = calloc(x->shape.dims[mode], sizeof *count);
    assert_non_null(count);
    for (uint64_t i = 0; i < x->nnz; i++)
        count[x->index[mode][i]]++;
    return count;
}

static bool same_tensor(const struct coo *x, const struct coo *y)
{
    bool same = x->nnz == y->nnz && memcmp(x->value, y->value, x->nnz * sizeof *x->value) == 0;
    for (int n = 0; same && n < x->shape.order; n++)
        same = memcmp(x->index[n], y->index[n], x->nnz * sizeof *x->index[n]) == 0;
    return same;
}

/* Every way of drawing at once. */
static const struct generate_spec mixed = {{4, {500, 300, 70000, 40}},
                                           200000,
                                           {.exponent = {0.5, 1.0, GENERATE_EVEN, 0.8},
                                            .pool = 20000,
                                            .pool_modes = 3,
                                            .pool_exponent = 0.7,
                                            .run_mode = 3,
                                            .run_share = 0.3,
                                            .run_length = 3}};

static const struct generate_plant plant = {{4, {40, 30, 20, 25}}, 60000, 6, 0.2};

static void test_exact_count(void **state)
{
    (void)state;
    static const struct generate_spec specs[] = {
        {{1, {10}}, 7, {.exponent = {1.5}}},
        {{1, {10}}, 10, {.exponent = {1.5}}},
        {{3, {1, 1, 1}}, 1, {.exponent = {0}}},
        {{3, {40, 1, 30}}, 1200, {.exponent = {2, 2, 2}}},               /* every place       */
        {{3, {40, 20, 30}}, 23999, {.exponent = {2, 0, GENERATE_EVEN}}}, /* all but one       */
        {{3, {100, 100, 100}}, 50000, {.exponent = {6, 8, 4}}},          /* frequent ones used up */
        {{3, {100, 200, 10}}, 5000, {.pool = 3, .pool_modes = 3}},       /* 30 places in the pool */
        {{5, {3000000, 500000, 17, 4000000, 2000}}, 100000, {.exponent = {0.5}}}, /* 92 bits */
        {{4, {MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH}}, 100000, {.exponent = {1, 0, 1, 0}}},
        {{4, {MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH}},
         1000,
         {.pool = 1, .pool_modes = 15}}, /* one place in the pool */
        {{16, {2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3, 2, 3}}, 30000, {.exponent = {0}}},
        {{3, {120, 110, 100}}, 1320000, {.exponent = {2, 0.5, 1}}},   /* many parts, every place */
        {{3, {300, 400, 100}}, 500000, {.pool = 3, .pool_modes = 3}}, /* 300 of many in the pool */
        {{2, {100000, 90000}}, 300000, {.exponent = {8, 1}}},         /* a row and a bit        */
        {{2, {5000, 5000}},
         300000,
         {.exponent = {1, 1}, .pool = 9000, .pool_modes = 3}}, /* no rest */
        {{3, {50, 60, 5}},
         14000,
         {.run_mode = 2, .run_share = 1, .run_length = 1e9, .run_scattered = true}},
    };
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        struct coo x = skewed(&specs[i], 3);
        check_line(&x);
        coo_free(&x);
    }
}

static void test_threads_and_memory_do_not_matter(void **state)
{
    (void)state;
    int before = omp_get_max_threads();
    omp_set_num_threads(1);
    struct coo x = skewed(&mixed, 9), p = planted(&plant, 9);
    for (int threads = 2; threads <= 3; threads++) {
        omp_set_num_threads(threads);
        struct coo y = skewed_within(&mixed, 9, UINT64_C(40000000)), q = planted(&plant, 9);
        assert_true(same_tensor(&x, &y));
        assert_true(same_tensor(&p, &q));
        coo_free(&y);
        coo_free(&q);
    }
    omp_set_num_threads(before);
    coo_free(&x);
    coo_free(&p);
}

/* A taker that fails ends the generator, with its own message. */
static enum status refuse(void *context, struct coo *piece, struct error *error)
{
    ++*(int *)context;
    return error_set(error, STATUS_OUTPUT, "no room for %ju nonzeros", (uintmax_t)piece->nnz);
}

static void test_refusing_taker(void **state)
{
    (void)state;
    int calls = 0;
    struct error error = {0};
    assert_int_equal(generate_skewed(&mixed, 1, UINT64_C(40000000), refuse, &calls, NULL, &error),
                     STATUS_OUTPUT);
    assert_int_equal(calls, 1);
    assert_non_null(strstr(error.message, "no room for"));
}

/* The probability of at least `least` in `n` trials. */
static double binomial_tail(int n, double p, int least)
{
    double sum = 0;
    for (int k = least; k <= n; k++)
        sum += exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) + k * log(p) +
                   (k < n ? (n - k) * log1p(-p) : 0));
    return sum;
}

/* Several parts, of which each is made by itself: together they have what the whole would have,
 * though the frequent fibers of the pool are full. */
static void test_parts_make_a_whole(void **state)
{
    (void)state;
    struct generate_spec spec = {
        {3, {3000, 2500, 60}},
        600000,
        {.exponent = {0.2, 0, 0}, .pool = 40000, .pool_modes = 3, .pool_exponent = 1.0}};
    struct coo x = skewed(&spec, 1);
    unsigned char *count = calloc(3000 * 2500, 1);
    double first_half = 0, full = 0, fibers = 0;
    assert_non_null(count);
    for (uint64_t i = 0; i < x.nnz; i++) {
        first_half += x.index[2][i] < 30;
        count[x.index[0][i] * 2500 + x.index[1][i]]++;
    }
    check_near(first_half / (double)x.nnz, 0.5, 0.005);
    for (int i = 0; i < 3000 * 2500; i++) {
        full += count[i] >= 54;
        fibers += count[i] > 0;
    }
    free(count);
    coo_free(&x);

    /* A fiber of weight w has 60 (1 - exp(-c w / 60)) nonzeros, c such that these sum up to nnz. */
    double c = 600000, sum = 600000, expected_full = 0, expected_fibers = 0;
    for (int i = 0; i < 100; i++) {
        c *= 600000 / sum;
        sum = expected_full = expected_fibers = 0;
        for (int rank = 1; rank <= 40000; rank++) {
            double draws = c * log1p(1. / rank) / log(40001.);
            double filled = -expm1(-draws / 60);
            sum += 60 * filled;
            expected_full += filled > 0.6 ? binomial_tail(60, filled, 54) : 0;
            expected_fibers += -expm1(-draws);
        }
    }
    check_near(full / expected_full, 1, 0.05);
    check_near(fibers / expected_fibers, 1, 0.02);
}

static void test_seeds_differ(void **state)
{
    (void)state;
    struct coo x = skewed(&mixed, 1), y = skewed(&mixed, 2);
    struct coo p = planted(&plant, 1), q = planted(&plant, 2);
    assert_false(same_tensor(&x, &y));
    assert_false(same_tensor(&p, &q));
    coo_free(&x);
    coo_free(&y);
    coo_free(&p);
    coo_free(&q);
}

static int descending(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Slope of log frequency over log rank, by least squares over the ranks from `first` to `last`. */
static double rank_frequency_slope(const struct coo *x, int mode, int first, int last)
{
    uint64_t *count = slice_counts(x, mode);
    qsort(count, x->shape.dims[mode], sizeof *count, descending);
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (int rank = first; rank <= last; rank++) {
        double lx = log(rank), ly = log((double)count[rank - 1]);
        n++;
        sx += lx;
        sy += ly;
        sxx += lx * lx;
        sxy += lx * ly;
    }
    free(count);
    return (n * sxy - sx * sy) / (n * sxx - sx * sx);
}

static void test_zipf_exponents(void **state)
{
    (void)state;
    struct generate_spec spec = {{3, {2000, 2000, 60000}}, 400000, {.exponent = {0.8, 1.2, 0}}};
    struct coo x = skewed(&spec, 1);
    check_near(rank_frequency_slope(&x, 0, 5, 300), -0.8, 0.06);
    check_near(rank_frequency_slope(&x, 1, 5, 200), -1.2, 0.06);
    uint64_t *count = slice_counts(&x, 2);
    double chi = 0, mean = (double)x.nnz / 60000;
    for (int i = 0; i < 60000; i++)
        chi += ((double)count[i] - mean) * ((double)count[i] - mean) / mean;
    check_near(chi / 60000, 1, 0.03); /* uniform: 1 with a deviation of sqrt(2/60000) */
    free(count);

    /* Labels are shuffled: neither half of the indices has most of the nonzeros. */
    uint64_t *first = slice_counts(&x, 0);
    uint64_t low = 0, largest = 0;
    for (int i = 0; i < 2000; i++) {
        low += i < 1000 ? first[i] : 0;
        largest = first[i] > first[largest] ? (uint64_t)i : largest;
    }
    assert_true(low > x.nnz / 3 && low < x.nnz * 2 / 3);
    assert_true(largest > 10);
    free(first);
    coo_free(&x);
}

static void test_even_mode(void **state)
{
    (void)state;
    struct generate_spec spec = {
        {3, {1000, 1000, 10000}}, 40000, {.exponent = {0.5, 0.5, GENERATE_EVEN}}};
    struct coo x = skewed(&spec, 1);
    uint64_t *count = slice_counts(&x, 2);
    for (int i = 0; i < 10000; i++)
        assert_true(count[i] >= 2 && count[i] <= 5);
    free(count);
    coo_free(&x);
}

/* How many different (mode a, mode b) pairs there are, and how many of all nonzeros have one whose
 * index in mode b is the next. */
static void count_pairs(const struct coo *x, int a, int b, uint64_t *pairs, uint64_t *followed)
{
    unsigned char *seen = calloc(x->shape.dims[a] * (x->shape.dims[b] + 1), 1);
    assert_non_null(seen);
    for (uint64_t i = 0; i < x->nnz; i++)
        seen[x->index[a][i] * (x->shape.dims[b] + 1) + x->index[b][i]] = 1;
    *pairs = *followed = 0;
    for (uint64_t i = 0; i < x->shape.dims[a] * (x->shape.dims[b] + 1); i++)
        *pairs += seen[i];
    for (uint64_t i = 0; i < x->nnz; i++)
        *followed += seen[x->index[a][i] * (x->shape.dims[b] + 1) + x->index[b][i] + 1];
    free(seen);
}

static void test_fibers_from_the_pool(void **state)
{
    (void)state;
    struct generate_spec spec = {
        {3, {1000, 1000, 2000}}, 20000, {.pool = 60, .pool_modes = 3, .pool_exponent = 0.3}};
    struct coo x = skewed(&spec, 5);
    uint64_t pairs, followed;
    count_pairs(&x, 0, 1, &pairs, &followed);
    assert_true(pairs >= 55 && pairs <= 60);
    coo_free(&x);
}

static void test_runs(void **state)
{
    (void)state;
    struct generate_spec spec = {
        {2, {5000, 8000}}, 60000, {.run_mode = 1, .run_share = 0.9, .run_length = 6}};
    uint64_t pairs, followed;
    struct coo x = skewed(&spec, 5);
    count_pairs(&x, 0, 1, &pairs, &followed);
    check_near((double)followed / (double)x.nnz, 0.9 * 5 / 6, 0.03);
    coo_free(&x);

    spec.skew.run_scattered = true;
    x = skewed(&spec, 5);
    count_pairs(&x, 0, 1, &pairs, &followed);
    assert_true((double)followed / (double)x.nnz < 0.02);
    coo_free(&x);

    spec.skew.run_share = 0;
    x = skewed(&spec, 5);
    count_pairs(&x, 0, 1, &pairs, &followed);
    assert_true((double)followed / (double)x.nnz < 0.02);
    coo_free(&x);
}

static void test_counts_as_values(void **state)
{
    (void)state;
    struct coo x = skewed(&mixed, 1);
    double ones = 0, sum = 0;
    for (uint64_t i = 0; i < x.nnz; i++) {
        assert_true(x.value[i] >= 1 && x.value[i] <= 64 && x.value[i] == floor(x.value[i]));
        ones += x.value[i] == 1;
        sum += x.value[i];
    }
    check_near(ones / (double)x.nnz, 0.5, 0.01);
    check_near(sum / (double)x.nnz, 2, 0.02);
    coo_free(&x);
}

static void test_presets(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int order;
        uint64_t nnz, dims[4];
    } published[] = {
        {"uber", 4, 3309490, {183, 24, 1140, 1717}},
        {"nips", 4, 3101609, {2482, 2862, 14036, 17}},
        {"chicago", 4, 5330673, {6186, 24, 77, 32}},
        {"vast", 3, 26021945, {165427, 11374, 2}},
        {"darpa", 3, 28436033, {22476, 22476, 23776223}},
        {"enron", 4, 54202099, {6066, 5699, 244268, 1176}},
        {"nell2", 3, 76879419, {12092, 9184, 28818}},
        {"fb-m", 3, 99546551, {23344784, 23344784, 166}},
        {"flickr", 4, 112890310, {319686, 28153045, 1607191, 731}},
        {"delicious", 4, 140126181, {532924, 17262471, 2480308, 1443}},
        {"nell1", 3, 143599552, {2902330, 2143368, 25495389}},
        {"amazon", 3, 1741809018, {4821207, 1774269, 1805187}},
        {"patents", 3, 3596640708, {46, 239172, 239172}},
        {"reddit", 3, 4687474081, {8211298, 176962, 8116559}},
    };
    size_t count = sizeof published / sizeof published[0], listed = 0;
    for (const struct generate_preset *p = generate_presets; p->name; p++, listed++) {
        size_t i = 0;
        while (i < count && strcmp(published[i].name, p->name) != 0)
            i++;
        assert_true(i < count);
        assert_int_equal(p->spec.shape.order, published[i].order);
        assert_int_equal(p->spec.nnz, published[i].nnz);
        for (int n = 0; n < p->spec.shape.order; n++)
            assert_int_equal(p->spec.shape.dims[n], published[i].dims[n]);
        struct generate_spec small = p->spec;
        small.nnz = 3000;
        struct coo x = skewed(&small, 1);
        check_line(&x);
        coo_free(&x);
    }
    assert_int_equal(listed, count);
}

/* The rank of the mode's unfolding, by elimination with full pivoting. */
static int unfolding_rank(const struct coo *x, int mode)
{
    uint64_t rows = x->shape.dims[mode], columns = 1;
    for (int n = 0; n < x->shape.order; n++)
        columns *= n == mode ? 1 : x->shape.dims[n];
    long double *a = calloc(rows * columns, sizeof *a);
    assert_non_null(a);
    for (uint64_t i = 0; i < x->nnz; i++) {
        uint64_t column = 0;
        for (int n = 0; n < x->shape.order; n++)
            column = n == mode ? column : column * x->shape.dims[n] + x->index[n][i];
        a[x->index[mode][i] * columns + column] = x->value[i];
    }
    long double first = 0;
    int rank = 0;
    for (;; rank++) {
        uint64_t pivot = 0;
        for (uint64_t e = 0; e < rows * columns; e++)
            if (fabsl(a[e]) > fabsl(a[pivot]))
                pivot = e;
        first = rank == 0 ? fabsl(a[pivot]) : first;
        if (fabsl(a[pivot]) <= 1e-12L * first)
            break;
        uint64_t p = pivot / columns, q = pivot % columns;
        for (uint64_t i = 0; i < rows; i++) {
            long double factor = i == p ? 0 : a[i * columns + q] / a[pivot];
            for (uint64_t j = 0; factor != 0 && j < columns; j++)
                a[i * columns + j] -= factor * a[p * columns + j];
        }
        for (uint64_t j = 0; j < columns; j++)
            a[p * columns + j] = 0;
        for (uint64_t i = 0; i < rows; i++)
            a[i * columns + q] = 0;
    }
    free(a);
    return rank;
}

static void test_planted_rank(void **state)
{
    (void)state;
    static const struct generate_plant plants[] = {{{3, {20, 14, 16}}, 900, 4, 0},
                                                   {{3, {9, 8, 7}}, 504, 5, 0},
                                                   {{4, {8, 6, 7, 5}}, 300, 3, 0},
                                                   {{2, {30, 40}}, 200, 2, 0},
                                                   {{3, {12, 9, 10}}, 300, 1, 0}};
    for (size_t i = 0; i < sizeof plants / sizeof plants[0]; i++) {
        struct coo x = planted(&plants[i], 4);
        check_lexicographic(&x);
        check_near((double)x.nnz / (double)plants[i].nnz, 1, 0.3); /* few places, little choice */
        for (uint64_t e = 0; e < x.nnz; e++)
            assert_true(x.value[e] > 0);
        for (int n = 0; n < x.shape.order; n++)
            assert_int_equal(unfolding_rank(&x, n), plants[i].rank);
        coo_free(&x);
    }
}

static void test_planted_noise(void **state)
{
    (void)state;
    struct generate_plant clean = plant;
    clean.noise = 0;
    struct coo x = planted(&clean, 2), y = planted(&plant, 2);
    assert_int_equal(x.nnz, y.nnz);
    check_near((double)x.nnz / (double)clean.nnz, 1, 0.1);
    double noise = 0, norm = 0, sum = 0;
    for (uint64_t i = 0; i < x.nnz; i++) {
        for (int n = 0; n < x.shape.order; n++)
            assert_int_equal(x.index[n][i], y.index[n][i]);
        double difference = y.value[i] - x.value[i];
        noise += difference * difference;
        sum += difference;
        norm += x.value[i] * x.value[i];
    }
    check_near(sqrt(noise / norm), 0.2, 0.003);
    assert_true(fabs(sum) <
                4 * sqrt(noise)); /* mean zero: |sum| is sqrt(noise) in the mean square */
    coo_free(&x);
    coo_free(&y);
}

static void test_refused(void **state)
{
    (void)state;
    static const struct generate_spec specs[] = {
        {{2, {3, 3}}, 10, {.exponent = {0}}},
        {{2, {3, 3}}, 0, {.exponent = {0}}},
        {{2, {100, 100}}, 5, {.exponent = {0, -0.5}}},
        {{2, {100, 100}}, 5, {.exponent = {0, GENERATE_MOST_SKEW + 1}}},
        {{2, {100, 100}}, 5, {.exponent = {0, NAN}}},
        {{5, {MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, MAX_LENGTH, 2}}, 5, {.exponent = {0}}},
        {{2, {100, 100}}, 5, {.pool = 4}},
        {{2, {100, 100}}, 5, {.pool = 4, .pool_modes = 4}},
        {{2, {100, 100}}, 5, {.pool = 4, .pool_modes = 1, .pool_exponent = GENERATE_EVEN}},
        {{2, {100, 100}}, 5, {.run_mode = 2, .run_share = 0.5, .run_length = 2}},
        {{2, {100, 100}}, 5, {.run_mode = 1, .run_share = 1.5, .run_length = 2}},
        {{2, {100, 100}}, 5, {.run_mode = 1, .run_share = 0.5, .run_length = 0.5}},
    };
    static const struct generate_plant plants[] = {
        {{2, {3, 3}}, 10, 1, 0}, {{2, {30, 30}}, 3, 4, 0},      {{2, {30, 30}}, 30, 0, 0},
        {{2, {3, 3}}, 5, 1, -1}, {{2, {3, 3}}, 5, 1, INFINITY}, {{1, {3}}, MAX_NNZ + 1, 1, 0}};
    struct coo x;
    for (size_t i = 0; i < sizeof specs / sizeof specs[0]; i++) {
        struct error error = {0};
        assert_int_equal(generate_skewed(&specs[i], 1, PLENTY, take_nothing, NULL, NULL, &error),
                         STATUS_INPUT);
        assert_true(error.message[0]);
    }
    for (size_t i = 0; i < sizeof plants / sizeof plants[0]; i++) {
        struct error error = {0};
        assert_int_equal(generate_planted(&x, &plants[i], 1, UINT64_MAX, NULL, &error),
                         STATUS_INPUT);
        assert_true(error.message[0] && x.nnz == 0 && !x.value);
    }
    struct generate_spec pool = {
        {2, {MAX_LENGTH, MAX_LENGTH}}, MAX_NNZ, {.pool = MAX_NNZ, .pool_modes = 1}};
    struct error error = {0};
    assert_int_equal(generate_skewed(&pool, 1, PLENTY, take_nothing, NULL, NULL, &error),
                     STATUS_MEMORY);
    error = (struct error){0};
    assert_int_equal(generate_skewed(&mixed, 1, 1 << 20, take_nothing, NULL, NULL, &error),
                     STATUS_MEMORY);
}

static void test_allocation_failures(void **state)
{
    (void)state;
    static const struct generate_spec crowded = {
        {3, {20, 10, 10}}, 1500, {.exponent = {3, 1, 0.5}, .pool = 50, .pool_modes = 3}};
    static const struct generate_plant small = {{3, {8, 7, 6}}, 90, 2, 0.1};
    for (int skew = 0; skew < 2; skew++) {
        int fired = 1;
        for (long k = 0; fired; k++) {
            struct error error = {0};
            struct coo x = {0};
            memory_hook_set(k);
            enum status status =
                skew ? generate_skewed(&crowded, 1, PLENTY, take_nothing, NULL, NULL, &error)
                     : generate_planted(&x, &small, 1, UINT64_MAX, NULL, &error);
            fired = memory_hook_fired();
            memory_hook_set(-1);
            assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
            assert_int_equal(x.value == NULL, fired || skew);
            coo_free(&x);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_count),
        cmocka_unit_test(test_threads_and_memory_do_not_matter),
        cmocka_unit_test(test_refusing_taker),
        cmocka_unit_test(test_parts_make_a_whole),
        cmocka_unit_test(test_seeds_differ),
        cmocka_unit_test(test_zipf_exponents),
        cmocka_unit_test(test_even_mode),
        cmocka_unit_test(test_fibers_from_the_pool),
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_counts_as_values),
        cmocka_unit_test(test_presets),
        cmocka_unit_test(test_planted_rank),
        cmocka_unit_test(test_planted_noise),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_allocation_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
