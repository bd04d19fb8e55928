/* The grid of ranks: every way to arrange the ranks is looked at, the cheapest one is chosen, and
 * every nonzero has its rank. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "plan/process_grid.h"
#include "support/naive.h"
#include "support/naive_cuts.h"

static void test_next(void **state)
{
    (void)state;
    static const struct {
        int order, ranks, ways;
    } cases[] = {{1, 7, 1}, {2, 1, 1}, {2, 6, 4}, {3, 4, 6}, {3, 7, 3}, {4, 12, 40}, {3, 64, 28}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int parts[MAX_ORDER] = {0}, last[MAX_ORDER] = {0}, ways = 0, order = cases[i].order;
        while (process_grid_next(parts, order, cases[i].ranks)) {
            int product = 1, first_difference = 0;
            for (int n = 0; n < order; n++)
                product *= parts[n];
            assert_int_equal(product, cases[i].ranks);
            while (ways > 0 && parts[first_difference] == last[first_difference])
                first_difference++;
            assert_true(ways == 0 || (first_difference < order &&
                                      parts[first_difference] > last[first_difference]));
            memcpy(last, parts, sizeof last);
            ways++;
        }
        assert_int_equal(ways, cases[i].ways);
    }
}

static void count_slices(struct coo_census *c)
{
    struct error error = {0};
    memset(c->count, 0, sizeof c->count);
    for (int n = 0; n < c->sample.shape.order; n++) {
        c->count[n] = memory_zeros(c->sample.shape.dims[n], sizeof *c->count[n], &error);
        assert_non_null(c->count[n]);
        for (uint64_t i = 0; i < c->sample.nnz; i++)
            c->count[n][c->sample.index[n][i]]++;
    }
}

static void make_counted(struct coo_census *c, const struct shape *shape, uint64_t nnz, int skewed)
{
    naive_random_coo(&c->sample, shape, nnz, 3, skewed);
    count_slices(c);
}

static struct grid_request request_of(int ranks)
{
    return (struct grid_request){.ranks = ranks,
                                 .row_bytes = 256,
                                 .seconds_per_nonzero = 1e-10,
                                 .bytes_per_second = 280e9,
                                 .seconds_per_collective = 20e-6};
}

/* Every rank's part holds what process_grid_rank gives it and nothing else, the parts cover the
 * tensor, and the cost counts the fullest one. */
static void check_grid(const struct process_grid *g, const struct grid_cost *cost,
                       const struct coo *x)
{
    struct error error = {0};
    uint64_t *nonzeros = memory_zeros((size_t)g->ranks, sizeof *nonzeros, &error), largest = 0;
    double volume = 0, whole = 1;
    assert_non_null(nonzeros);
    for (uint64_t i = 0; i < x->nnz; i++) {
        uint32_t index[MAX_ORDER];
        coo_coordinates(x, i, index);
        int rank = process_grid_rank(g, index);
        assert_in_range(rank, 0, g->ranks - 1);
        struct part part = process_grid_part(g, rank);
        for (int n = 0; n < x->shape.order; n++)
            assert_true(index[n] >= part.first[n] && index[n] - part.first[n] < part.here.dims[n]);
        nonzeros[rank]++;
    }
    for (int r = 0; r < g->ranks; r++) {
        struct part part = process_grid_part(g, r);
        double rows = 1;
        assert_true(shape_equal(&part.whole, &x->shape));
        for (int n = 0; n < x->shape.order; n++)
            rows *= (double)part.here.dims[n];
        volume += rows;
        largest = nonzeros[r] > largest ? nonzeros[r] : largest;
    }
    for (int n = 0; n < x->shape.order; n++)
        whole *= (double)x->shape.dims[n];
    assert_true(volume == whole);
    assert_int_equal(cost->largest_nnz, largest);
    assert_true(cost->imbalance >= -1e-12);
    memory_free(nonzeros);
}

static void test_choose(void **state)
{
    (void)state;
    static const struct shape shapes[] = {
        {1, {300}}, {2, {40, 500}}, {3, {70, 1, 900}}, {3, {2, 3, 2}}, {4, {9, 30, 500, 60}}};
    static const int ranks[] = {1, 2, 3, 4, 7, 12, 64};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (size_t r = 0; r < sizeof ranks / sizeof *ranks; r++) {
            struct error error = {0};
            struct coo_census c;
            struct process_grid g;
            struct grid_cost cost;
            struct grid_request q = request_of(ranks[r]);
            make_counted(&c, &shapes[s], s == 3 ? 12 : 3000, s % 2);
            assert_int_equal(process_grid_choose(&g, &cost, &q, &c, c.sample.nnz, &error),
                             STATUS_OK);
            check_grid(&g, &cost, &c.sample);
            process_grid_free(&g);
            coo_census_free(&c);
        }
}

/* The cost of the grid as the header defines it, row by row and nonzero by nonzero. */
static double naive_seconds(const struct coo_census *c, const struct grid_request *q,
                            const int *parts)
{
    struct process_grid g = {.shape = c->sample.shape, .ranks = q->ranks};
    uint64_t nonzeros[64] = {0}, cut[MAX_ORDER][65], largest = 0;
    double seconds = 0;
    for (int n = 0; n < g.shape.order; n++) {
        uint64_t longest = 0;
        g.parts[n] = parts[n];
        g.cut[n] = cut[n];
        naive_cut(c->count[n], g.shape.dims[n], parts[n], cut[n]);
        for (int p = 0; p < parts[n]; p++)
            longest = cut[n][p + 1] - cut[n][p] > longest ? cut[n][p + 1] - cut[n][p] : longest;
        int sharing = q->ranks / parts[n];
        if (sharing > 1)
            seconds += 2.0 * (sharing - 1) / sharing * (double)(longest * q->row_bytes) /
                           q->bytes_per_second +
                       2 * q->seconds_per_collective;
    }
    for (uint64_t i = 0; i < c->sample.nnz; i++) {
        uint32_t index[MAX_ORDER];
        coo_coordinates(&c->sample, i, index);
        nonzeros[process_grid_rank(&g, index)]++;
    }
    for (int r = 0; r < q->ranks; r++)
        largest = nonzeros[r] > largest ? nonzeros[r] : largest;
    return seconds + (double)largest * q->seconds_per_nonzero;
}

/* No grid is cheaper than the chosen one. */
static void test_cheapest(void **state)
{
    (void)state;
    static const struct shape shapes[] = {{3, {70, 300, 20}}, {4, {9, 1, 90, 60}}};
    static const int ranks[] = {5, 12, 64};
    for (int i = 0; i < 18; i++) {
        struct error error = {0};
        struct coo_census c;
        struct process_grid g;
        struct grid_cost cost;
        struct grid_request q = request_of(ranks[i % 3]);
        q.seconds_per_nonzero = i % 2 ? 1e-7 : 1e-10;
        make_counted(&c, &shapes[i % 2], 2000 + 100 * (uint64_t)i, i / 2 % 2);
        assert_int_equal(process_grid_choose(&g, &cost, &q, &c, c.sample.nnz, &error), STATUS_OK);
        double chosen = cost.mttkrp_seconds + cost.move_seconds, least = INFINITY;
        for (int parts[MAX_ORDER] = {0}; process_grid_next(parts, c.sample.shape.order, q.ranks);)
            least = fmin(least, naive_seconds(&c, &q, parts));
        assert_true(chosen <= least * (1 + 1e-12));
        assert_true(chosen >= least * (1 - 1e-12));
        process_grid_free(&g);
        coo_census_free(&c);
    }
}

/* More grids than are compared by their nonzeros: one of 16 modes is long, and is cut alone. */
static void test_many_grids(void **state)
{
    (void)state;
    struct shape shape = {16, {0}};
    struct error error = {0};
    struct coo_census c;
    struct process_grid g;
    struct grid_cost cost;
    struct grid_request q = request_of(64);
    for (int n = 0; n < shape.order; n++)
        shape.dims[n] = n == 5 ? 60000 : 64; /* volumes are exact */
    make_counted(&c, &shape, 20000, 0);
    assert_int_equal(process_grid_choose(&g, &cost, &q, &c, c.sample.nnz, &error), STATUS_OK);
    assert_int_equal(g.parts[5], 64);
    check_grid(&g, &cost, &c.sample);
    process_grid_free(&g);
    coo_census_free(&c);
}

/* A long mode that is cut alone moves only the rows of the short ones. */
static void test_long_mode_is_cut(void **state)
{
    (void)state;
    static const struct shape shape = {3, {20, 30, 200000}};
    struct error error = {0};
    struct coo_census c;
    struct process_grid g;
    struct grid_cost cost;
    struct grid_request q = request_of(4);
    make_counted(&c, &shape, 50000, 0);
    assert_int_equal(process_grid_choose(&g, &cost, &q, &c, c.sample.nnz, &error), STATUS_OK);
    assert_true(g.parts[0] == 1 && g.parts[1] == 1 && g.parts[2] == 4);
    assert_int_equal(cost.moved_bytes, 2 * (20 + 30) * 256 * 3 / 4);
    assert_true(cost.imbalance < 0.02);
    process_grid_free(&g);
    coo_census_free(&c);
}

/* One row has nearly all nonzeros: its mode is left whole, and another one is cut. */
static void test_heavy_row(void **state)
{
    (void)state;
    static const struct shape shape = {2, {1000, 1200}};
    struct error error = {0};
    struct coo_census c;
    struct process_grid g;
    struct grid_cost cost;
    struct grid_request q = request_of(4);
    q.seconds_per_nonzero = 1e-6; /* nonzeros are what counts */
    naive_random_coo(&c.sample, &shape, 20000, 1, 0);
    for (uint64_t i = 0; i < c.sample.nnz; i++)
        c.sample.index[0][i] = i % 20 ? 7 : c.sample.index[0][i];
    count_slices(&c);
    assert_int_equal(process_grid_choose(&g, &cost, &q, &c, c.sample.nnz, &error), STATUS_OK);
    assert_true(g.parts[0] == 1 && g.parts[1] == 4);
    assert_true(cost.imbalance < 0.05);
    process_grid_free(&g);
    coo_census_free(&c);
}

static void test_fixed(void **state)
{
    (void)state;
    static const struct shape shape = {3, {30, 40, 50}};
    struct error error = {0};
    struct coo_census c;
    struct process_grid g;
    struct grid_cost cost;
    struct grid_request q = request_of(12);
    char name[16];
    make_counted(&c, &shape, 2000, 1);
    memcpy(q.parts, (int[]){2, 3, 2}, 3 * sizeof(int));
    assert_int_equal(process_grid_choose(&g, &cost, &q, &c, c.sample.nnz, &error), STATUS_OK);
    process_grid_name(g.parts, 3, name, sizeof name);
    assert_string_equal(name, "2x3x2");
    check_grid(&g, &cost, &c.sample);
    process_grid_free(&g);
    static const int wrong[][3] = {{2, 3, 1}, {2, 0, 6}, {12, 12, 12}, {-2, -3, 2}, {24, 1, 1}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        error = (struct error){0};
        memcpy(q.parts, wrong[i], sizeof wrong[i]);
        assert_int_equal(process_grid_choose(&g, &cost, &q, &c, c.sample.nnz, &error),
                         STATUS_INPUT);
        assert_non_null(strstr(error.message, ", expected a product of 12, the number of ranks"));
        assert_null(g.cut[0]);
    }
    coo_census_free(&c);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    static const struct shape shape = {3, {30, 40, 50}};
    struct coo_census c;
    struct grid_request q = request_of(4);
    make_counted(&c, &shape, 2000, 1);
    for (long k = 0, fired = 1; fired; k++) {
        struct error error = {0};
        struct process_grid g;
        struct grid_cost cost;
        memory_hook_set(k);
        enum status status = process_grid_choose(&g, &cost, &q, &c, c.sample.nnz, &error);
        fired = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(status, fired ? STATUS_MEMORY : STATUS_OK);
        process_grid_free(&g);
    }
    coo_census_free(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_next),
        cmocka_unit_test(test_choose),
        cmocka_unit_test(test_cheapest),
        cmocka_unit_test(test_many_grids),
        cmocka_unit_test(test_long_mode_is_cut),
        cmocka_unit_test(test_heavy_row),
        cmocka_unit_test(test_fixed),
        cmocka_unit_test(test_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
