/* Means of slices: as the formulas say, over all cells of small tensors, on several ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>

#include <cmocka.h>

#include "base/memory.h"
#include "ranks/holdout_set.h"
#include "ranks/slice_means.h"
#include "support/naive.h"
#include "support/rank_threads.h"

#define MOST_CELLS 2000

/* All cells of a tensor, each with a weight (0: unknown or held out), as if the tensor were dense.
 */
struct cells {
    struct shape shape;
    uint64_t count, held;
    double value[MOST_CELLS], weight[MOST_CELLS];
    bool listed[MOST_CELLS], out[MOST_CELLS];
};

static uint64_t index_of(const struct cells *c, uint64_t cell, int n)
{
    for (int k = 0; k < n; k++)
        cell /= c->shape.dims[k];
    return cell % c->shape.dims[n];
}

static void fill_cells(struct cells *c, const struct coo *x, const struct problem *p)
{
    static const uint64_t first[MAX_ORDER];
    bool *chosen = calloc(x->nnz, sizeof *chosen);
    assert_non_null(chosen);
    *c = (struct cells){.shape = x->shape, .count = 1};
    for (int n = 0; n < x->shape.order; n++)
        c->count *= x->shape.dims[n];
    assert_true(c->count <= MOST_CELLS);
    for (uint64_t i = 0; i < c->count; i++)
        c->weight[i] = p->unlisted.weighed ? p->unlisted.weight : 1;
    if (p->holdout.share > 0)
        holdout_choose(&p->holdout, x, first, chosen);
    for (uint64_t i = 0; i < x->nnz; i++) {
        uint64_t cell = 0;
        for (int n = x->shape.order - 1; n >= 0; n--)
            cell = cell * x->shape.dims[n] + x->index[n][i];
        c->listed[cell] = true;
        c->out[cell] = chosen[i];
        c->held += chosen[i];
        c->weight[cell] = isnan(x->value[i]) || chosen[i] ? 0 : 1;
        c->value[cell] = isnan(x->value[i]) ? 0 : x->value[i];
    }
    free(chosen);
}

/* mu + the means of all modes but `but`; of rates mu times them. */
static double naive_at(const struct cells *c, const struct slice_means *m, uint64_t cell, int but)
{
    double value = m->mean;
    for (int n = 0; n < c->shape.order; n++)
        if (m->of[n] && n != but)
            value = m->rates ? value * m->of[n][index_of(c, cell, n)]
                             : value + m->of[n][index_of(c, cell, n)];
    return value;
}

static void naive_means(struct slice_means *m, const struct cells *c, double k)
{
    double total = 0, weight = 0;
    for (uint64_t i = 0; i < c->count; i++) {
        total += c->weight[i] * c->value[i];
        weight += c->weight[i];
    }
    m->mean = total / weight;
    for (int n = 0; n < c->shape.order; n++)
        if (m->mode[n])
            m->of[n] = calloc(c->shape.dims[n], sizeof *m->of[n]);
    for (int step = 0; step < (m->rates ? 1 : 2) * c->shape.order; step++) {
        const int n = step % c->shape.order;
        for (uint64_t slice = 0; m->mode[n] && slice < c->shape.dims[n]; slice++) {
            double sum = 0, count = 0;
            for (uint64_t i = 0; i < c->count; i++) {
                if (index_of(c, i, n) != slice)
                    continue;
                sum += c->weight[i] * (c->value[i] - (m->rates ? 0 : naive_at(c, m, i, n)));
                count += c->weight[i];
            }
            if (count + k > 0) /* else the slice has no known entry, and its mean is 0 */
                m->of[n][slice] =
                    m->rates ? (sum + k * m->mean) / (count + k) / m->mean : sum / (count + k);
        }
    }
}

static double naive_error(const struct cells *c, const struct slice_means *m, bool mean_alone)
{
    double sum = 0;
    for (uint64_t i = 0; i < c->count; i++) {
        if (!c->out[i])
            continue;
        const double x = c->value[i], value = mean_alone ? m->mean : naive_at(c, m, i, -1);
        const double rate = fmax(value, 1e-3 * m->mean);
        sum +=
            m->rates ? 2 * (rate - x + (x > 0 ? x * log(x / rate) : 0)) : (x - value) * (x - value);
    }
    return m->rates ? sum / (double)c->held : sqrt(sum / (double)c->held);
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= 1e-12 * (1 + fabs(b));
}

/* A rank, and what it has found. */
struct job {
    const struct coo *x;
    const struct problem *problem;
    const struct slice_means *old;
    struct slice_means means;
    struct baseline baseline;
    bool takes_off;
    struct cells left; /* with takes_off: the values of the rank's cells then */
    struct fingerprint print;
};

static void work(struct comm *c, void *context, struct error *error)
{
    static const struct tns_options one_based = {.index_base = 1};
    struct job *job = context;
    const struct rank_request request = {.tns = &one_based,
                                         .row_bytes = 64,
                                         .machine = {.one_host = true, .threads = 1},
                                         .hashed = true};
    struct rank_tensor t;
    if (rank_tensor_share(&t, c, job->x, &request, error) != STATUS_OK)
        return;
    TRY_OR(done, slice_means_find(&job->means, &job->baseline, &t, job->problem, job->old, error));
    if (!job->takes_off)
        goto done;
    TRY_OR(done, slice_means_take_off(&job->means, &t, error));
    job->left.shape = t.shape;
    for (uint64_t i = 0; i < t.input.x.nnz; i++) {
        uint64_t cell = 0;
        for (int n = t.shape.order - 1; n >= 0; n--)
            cell = cell * t.shape.dims[n] + t.part.first[n] + t.input.x.index[n][i];
        job->left.listed[cell] = true;
        job->left.value[cell] = t.input.x.value[i];
    }
    rank_tensor_fingerprint(&job->print, &t, error);
done:
    rank_tensor_close(&t);
}

static struct job *run(const struct job *like, int ranks)
{
    static struct job job[MOST_RANKS];
    struct error error[MOST_RANKS];
    for (int k = 0; k < ranks; k++)
        job[k] = *like;
    assert_true(run_rank_threads(ranks, work, job, sizeof *job, error));
    for (int k = 0; k < ranks; k++)
        assert_int_equal(error[k].status, STATUS_OK);
    return job;
}

static void assert_means(const struct slice_means *m, const struct slice_means *expected)
{
    assert_true(is_near(m->mean, expected->mean));
    for (int n = 0; n < m->shape.order; n++) {
        assert_int_equal(m->of[n] != NULL, expected->of[n] != NULL);
        for (uint64_t i = 0; m->of[n] && i < m->shape.dims[n]; i++)
            assert_true(is_near(m->of[n][i], expected->of[n][i]));
    }
}

static void random_tensor(struct coo *x, int order, const uint64_t *dims, uint64_t nnz, bool counts)
{
    naive_random_coo(x, SHAPE(order, dims), nnz, 3, 0);
    for (uint64_t i = 0; i < x->nnz; i++)
        x->value[i] = counts       ? (double)(i % 4)
                      : i % 9 == 2 ? COO_UNKNOWN
                                   : 3 + x->value[i] + .7 * x->index[0][i] - .3 * x->index[1][i];
}

static void test_formulas(void **state)
{
    (void)state;
    static const struct {
        int order;
        uint64_t dims[3], nnz;
        bool mode[3];
        double shrinkage, holdout, weight; /* weight 1: of ordinary zeros */
        bool rates;
    } cases[] = {
        {2, {12, 9}, 60, {true, true}, 10, 0, 0, false},
        {2, {12, 9}, 60, {true, true}, 0, .3, 0, false},
        {3, {12, 9, 5}, 250, {true, true, false}, 3, .2, 0, false},
        {3, {12, 9, 5}, 250, {false, true, true}, 10, .2, .1, false},
        {3, {12, 9, 5}, 250, {true, true, true}, 10, .2, 1, false},
        {3, {12, 9, 5}, 250, {true, true, true}, 10, .2, 1, true},
        {3, {12, 9, 5}, 250, {true, true, true}, 1, .2, 0, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static struct cells cells;
        struct problem p = {.loss = cases[i].rates ? LOSS_POISSON : LOSS_SQUARES,
                            .unlisted = {.weighed = cases[i].weight < 1, .weight = cases[i].weight},
                            .holdout = {.share = cases[i].holdout, .seed = 4}};
        struct slice_means expected = {.rates = cases[i].rates};
        struct job like = {.problem = &p, .means.shrinkage = cases[i].shrinkage};
        struct coo x;
        random_tensor(&x, cases[i].order, cases[i].dims, cases[i].nnz, cases[i].rates);
        for (int n = 0; n < 3; n++)
            like.means.mode[n] = expected.mode[n] = cases[i].mode[n];
        like.x = &x;
        fill_cells(&cells, &x, &p);
        naive_means(&expected, &cells, cases[i].shrinkage);
        for (size_t k = 0; k < RANK_COUNTS; k++) {
            struct job *job = run(&like, rank_counts[k]);
            for (int r = 0; r < rank_counts[k]; r++) {
                assert_means(&job[r].means, &expected);
                if (cells.held > 0) {
                    assert_true(
                        is_near(job[r].baseline.mean, naive_error(&cells, &expected, true)));
                    assert_true(
                        is_near(job[r].baseline.slices, naive_error(&cells, &expected, false)));
                }
                slice_means_free(&job[r].means);
            }
        }
        slice_means_free(&expected);
        coo_free(&x);
    }
}

/* The value of a model at a cell. */
static double model_at(const struct ktensor *k, const struct cells *c, uint64_t cell)
{
    double sum = 0;
    for (uint64_t r = 0; r < k->rank; r++) {
        double product = k->lambda[r];
        for (int n = 0; n < k->shape.order; n++)
            product *= k->factor[n][index_of(c, cell, n) * k->rank + r];
        sum += product;
    }
    return sum;
}

/* What is left and the means are the values; held-out entries, too. As components of a model they
 * add the same, and can be taken off it again. */
static void test_taken_off(void **state)
{
    (void)state;
    static const uint64_t dims[] = {12, 9, 5};
    static struct cells cells;
    struct error error = {0};
    struct problem p = {.unlisted = {.weighed = true}, .holdout = {.share = .2, .seed = 4}};
    struct ktensor model;
    struct coo x;
    uint64_t hash = 0;
    random_tensor(&x, 3, dims, 250, false);
    fill_cells(&cells, &x, &p);
    assert_int_equal(ktensor_create(&model, &x.shape, 2, &error), STATUS_OK);
    ktensor_randomise(&model, KTENSOR_NORMAL, 1);
    model.explained[1] = .5;
    for (size_t k = 0; k < RANK_COUNTS; k++) {
        struct job *job = run(&(struct job){.x = &x,
                                            .problem = &p,
                                            .takes_off = true,
                                            .means = {.mode = {true, false, true}, .shrinkage = 3}},
                              rank_counts[k]);
        const struct slice_means *m = &job->means;
        struct slice_means again = {.mode = {true, false, true}};
        uint64_t seen = 0;
        for (int r = 0; r < rank_counts[k]; r++)
            for (uint64_t cell = 0; cell < cells.count; cell++) {
                if (!job[r].left.listed[cell])
                    continue;
                const double means = naive_at(&cells, m, cell, -1);
                seen++;
                assert_true(is_near(job[r].left.value[cell], cells.value[cell] - means) ||
                            (isnan(job[r].left.value[cell]) && cells.weight[cell] == 0));
            }
        assert_true(seen == x.nnz);
        assert_true(k == 0 || job->print.hash == hash);
        hash = job->print.hash;
        assert_int_equal(slice_means_components(m), 3);
        double before[MOST_CELLS];
        for (uint64_t cell = 0; cell < cells.count; cell++)
            before[cell] = model_at(&model, &cells, cell);
        assert_int_equal(slice_means_append(&model, m, &error), STATUS_OK);
        assert_true(model.rank == 5 && isnan(model.explained[4]));
        for (uint64_t cell = 0; cell < cells.count; cell++)
            assert_true(is_near(model_at(&model, &cells, cell),
                                before[cell] + naive_at(&cells, m, cell, -1)));
        assert_int_equal(slice_means_split(&again, &model, &error), STATUS_OK);
        assert_true(model.rank == 2 && model.explained[1] == .5);
        assert_means(&again, m);
        for (uint64_t cell = 0; cell < cells.count; cell++)
            assert_true(model_at(&model, &cells, cell) == before[cell]);
        slice_means_free(&again);
        for (int r = 0; r < rank_counts[k]; r++)
            slice_means_free(&job[r].means);
    }
    ktensor_free(&model);
    coo_free(&x);
}

/* The fixed modes and the mean are those of another model; other fingerprints for other means. */
static void test_of_another_model(void **state)
{
    (void)state;
    static const uint64_t dims[] = {12, 9, 5};
    struct problem p = {.unlisted = {.weighed = true}, .rules.fixed = {false, true, true}};
    double given[9];
    struct slice_means old = {.mode = {true, true}, .mean = 2, .of = {NULL, given}};
    struct coo x;
    random_tensor(&x, 3, dims, 250, false);
    for (int i = 0; i < 9; i++)
        given[i] = .1 * i;
    struct job like = {
        .x = &x, .problem = &p, .takes_off = true, .means = {.mode = {true, true}, .shrinkage = 3}};
    struct job *job = run(&like, 1);
    const uint64_t own = job->print.hash;
    slice_means_free(&job->means);
    like.means.shrinkage = 4;
    job = run(&like, 1);
    assert_true(job->print.hash != own);
    slice_means_free(&job->means);
    like.old = &old;
    job = run(&like, 2);
    const struct slice_means *m = &job->means;
    assert_true(m->mean == 2);
    assert_memory_equal(m->of[1], given, sizeof given);
    for (uint64_t slice = 0; slice < dims[0]; slice++) {
        double sum = 0, count = 4;
        for (uint64_t i = 0; i < x.nnz; i++)
            if (x.index[0][i] == slice && !isnan(x.value[i])) {
                sum += x.value[i] - 2 - given[x.index[1][i]];
                count++;
            }
        assert_true(is_near(m->of[0][slice], sum / count));
    }
    for (int r = 0; r < 2; r++)
        slice_means_free(&job[r].means);
    coo_free(&x);
}

/* The chosen shrinkage is no worse than its neighbours among 1, 3, 10, ... */
static void test_choice(void **state)
{
    (void)state;
    static const double steps[] = {1, 3, 10, 30, 100};
    static const uint64_t dims[] = {40, 30};
    for (int noise = 0; noise < 3; noise++) {
        struct problem p = {.unlisted = {.weighed = true}, .holdout = {.share = .3, .seed = 1}};
        struct coo x;
        size_t at = 0;
        double error[5];
        naive_random_coo(&x, SHAPE(2, dims), 500, 3, 0);
        for (uint64_t i = 0; i < x.nnz; i++)
            x.value[i] = (double[]){.1, 2, 8}[noise] * x.value[i] + sin(x.index[0][i]) +
                         cos(7. * x.index[1][i]);
        struct job like = {.x = &x, .problem = &p, .means.mode = {true, true}};
        for (int i = 0; i < 5; i++) {
            like.means.shrinkage = steps[i];
            struct job *job = run(&like, 1);
            error[i] = job->baseline.slices;
            slice_means_free(&job->means);
        }
        like.means.shrinkage = -1;
        struct job *job = run(&like, 3);
        while (at < 5 && steps[at] != job->means.shrinkage)
            at++;
        assert_true(at < 4 || noise == 2);
        if (at < 5)
            assert_true(is_near(job->baseline.slices, error[at]));
        for (size_t i = 0; i < at && at < 5; i++)
            assert_true(error[i] > error[i + 1]);
        if (at < 4)
            assert_true(error[at] <= error[at + 1]);
        for (int r = 0; r < 3; r++)
            slice_means_free(&job[r].means);
        p.holdout.share = 0;
        job = run(&like, 1);
        assert_true(job->means.shrinkage == SLICE_SHRINKAGE);
        slice_means_free(&job->means);
        coo_free(&x);
    }
}

/* A mean that no double has is refused where it would be taken off. */
static void test_too_large(void **state)
{
    (void)state;
    static const uint64_t dims[] = {2, 2};
    struct problem p = {.unlisted = {.weighed = true}};
    struct error error[2];
    struct coo x;
    naive_random_coo(&x, SHAPE(2, dims), 4, 3, 0);
    for (uint64_t i = 0; i < x.nnz; i++)
        x.value[i] = 1.7e308;
    struct job job[2] = {{.x = &x, .problem = &p, .takes_off = true, .means.mode = {true}}};
    job[1] = job[0];
    assert_true(run_rank_threads(2, work, job, sizeof *job, error));
    for (int r = 0; r < 2; r++) {
        assert_int_equal(error[r].status, STATUS_INPUT);
        assert_non_null(strstr(error[r].message, "too large for their mean"));
        slice_means_free(&job[r].means);
    }
    coo_free(&x);
}

static void test_failing_allocations(void **state)
{
    (void)state;
    static const uint64_t dims[] = {12, 9, 5};
    struct problem p = {.unlisted = {.weighed = true}, .holdout = {.share = .2, .seed = 4}};
    struct error error = {0};
    struct coo x;
    bool failed = true;
    random_tensor(&x, 3, dims, 250, false);
    for (long k = 0; failed; k++) {
        static struct job job;
        struct ktensor model;
        struct slice_means again = {.mode = {true, true}};
        error = (struct error){0};
        job = (struct job){.x = &x,
                           .problem = &p,
                           .takes_off = true,
                           .means = {.mode = {true, true}, .shrinkage = 3}};
        struct comm *c = comm_self(&error);
        assert_int_equal(ktensor_create(&model, &x.shape, 2, &error), STATUS_OK);
        ktensor_randomise(&model, KTENSOR_NORMAL, 1);
        memory_hook_set(k);
        work(c, &job, &error);
        if (error.status == STATUS_OK)
            slice_means_append(&model, &job.means, &error);
        if (error.status == STATUS_OK)
            slice_means_split(&again, &model, &error);
        failed = memory_hook_fired();
        memory_hook_set(-1);
        assert_int_equal(error.status, failed ? STATUS_MEMORY : STATUS_OK);
        slice_means_free(&job.means);
        slice_means_free(&again);
        ktensor_free(&model);
        comm_finalize(c);
    }
    coo_free(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formulas),         cmocka_unit_test(test_taken_off),
        cmocka_unit_test(test_of_another_model), cmocka_unit_test(test_choice),
        cmocka_unit_test(test_too_large),        cmocka_unit_test(test_failing_allocations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
