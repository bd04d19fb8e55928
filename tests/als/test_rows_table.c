/* Runs in which rows have systems of their own, on a table of small tensors of which little is
 * known: the fit that is told is that of the model, and weights stay near the values. BLCO_TABLE is
 * the number of tensors (make table: 2000). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/random_stream.h"
#include "support/naive_rows.h"
#include "support/rank_runs.h"

#define TENSORS 120
#define GROWN   1e8   /* the largest weight, beside the norm of the known entries */
#define NOISES  4     /* that the fit may be off by ...                           */
#define DIGITS  1e-13 /* ... and what writing a model and taking it apart adds    */

static double uniform_of(struct random_stream *s)
{
    return (double)(random_next(s) >> 11) * 0x1p-53;
}

static uint64_t below(struct random_stream *s, uint64_t limit)
{
    return random_next(s) % limit;
}

static double value_of(struct random_stream *s, uint64_t kind, bool nonneg)
{
    const double sign = nonneg || below(s, 2) ? 1 : -1;
    if (kind == 0)
        return sign * (double)(1 + below(s, 5));
    return sign * (kind == 1 ? uniform_of(s) : pow(10, 6 * uniform_of(s)));
}

/* Listed cells, at random, of a tensor with up to 5 slices in each mode. Half of the tensors have a
 * slice of which nothing is known. */
static void fill_cells(struct coo *x, bool nonneg, struct random_stream *s)
{
    struct error error = {0};
    struct shape shape = {.order = 2 + (int)below(s, 3)};
    const double listed = below(s, 3) ? uniform_of(s) : 1,
                 unknown = below(s, 2) ? 0 : .7 * uniform_of(s);
    const uint64_t kind = below(s, 3);
    uint64_t cells = 1;
    for (int n = 0; n < shape.order; n++)
        cells *= shape.dims[n] = 1 + below(s, 5);
    const int mode = (int)below(s, (uint64_t)shape.order);
    const uint64_t slice = below(s, 2 * shape.dims[mode]);
    const bool has_rest = shape.dims[mode] > 1;
    assert_int_equal(coo_create(x, &shape, cells + 1, &error), STATUS_OK);
    x->nnz = 0;
    for (uint64_t cell = 0, known = 0; cell < cells; cell++) {
        uint64_t left = cell;
        for (int n = 0; n < shape.order; n++, left /= shape.dims[n - 1])
            x->index[n][x->nnz] = (uint32_t)(left % shape.dims[n]);
        const bool empty = has_rest && x->index[mode][x->nnz] == slice;
        const bool needed = !empty && known == 0;
        if (!needed && uniform_of(s) >= listed)
            continue;
        const bool has_value = needed || (!empty && uniform_of(s) >= unknown);
        known += has_value;
        x->value[x->nnz++] = has_value ? value_of(s, kind, nonneg) : COO_UNKNOWN;
    }
    if (x->nnz > 1 && !isnan(x->value[0])) /* some entry is unknown */
        x->value[x->nnz - 1] = COO_UNKNOWN;
}

/* Tensor `number` of the table and what is asked of it, as blco cpd asks for it. */
static struct problem make_trial(struct coo *x, int number)
{
    struct random_stream s = random_stream_at(2, (uint64_t)number, 0);
    const int kind = number % 3;
    const bool nonneg = number / 3 % 2;
    static const enum precision_policy precisions[] = {POLICY_DOUBLE, POLICY_SINGLE, POLICY_DOUBLE,
                                                       POLICY_AUTO};
    struct problem p = {.rank = 1 + below(&s, 5),
                        .precision = precisions[number / 6 % 4],
                        .acceleration = ACCELERATE_AUTO,
                        .ridge_scale = RIDGE_BALANCED};
    for (int n = 0; n < MAX_ORDER; n++)
        p.rules.nonneg[n] = nonneg;
    if (kind < 2)
        p.unlisted = (struct unlisted){
            .weighed = true, .weight = kind == 0 ? 0 : pow(10, -3 * uniform_of(&s)), .fade = .8};
    fill_cells(x, nonneg, &s);
    problem_take_unknown(&p, coo_count_listed(x).unknown);
    problem_begin_fading(&p, &x->shape, x->nnz);
    return p;
}

/* The fit of the model k, by plain sums over the cells. */
static double fit_of(const struct coo *x, const struct ktensor *k, const struct problem *p)
{
    const double weight = p->unlisted.weighed ? p->unlisted.weight : 1;
    long double sum = 0, of_x = 0;
    uint32_t at[MAX_ORDER];
    uint64_t cells = 1;
    for (int n = 0; n < x->shape.order; n++)
        cells *= x->shape.dims[n];
    for (uint64_t cell = 0, i = 0; cell < cells; cell++) {
        uint64_t left = cell;
        bool is_listed = i < x->nnz;
        for (int n = 0; n < x->shape.order; n++, left /= x->shape.dims[n - 1]) {
            at[n] = (uint32_t)(left % x->shape.dims[n]);
            is_listed = is_listed && x->index[n][i] == at[n];
        }
        const long double model = naive_model_value(k, at);
        const double value = is_listed ? x->value[i++] : 0;
        if (isnan(value))
            continue;
        of_x += (long double)value * value;
        sum += (is_listed ? 1 : weight) * (value - model) * (value - model);
    }
    return (double)(1 - sqrtl(sum / of_x));
}

static double norm_of(const struct coo *x)
{
    double sum = 0;
    for (uint64_t i = 0; i < x->nnz; i++)
        sum += isnan(x->value[i]) ? 0 : x->value[i] * x->value[i];
    return sqrt(sum);
}

/* How runs ended. */
struct ends {
    int wrong, grown, failed;
};

static void note(struct ends *e, int number, const struct coo *x, const struct problem *p,
                 const struct ktensor *k, const struct cpals_result *result)
{
    const double fit = fit_of(x, k, p), off = fabs(fit - result->fit), norm = norm_of(x);
    const double noise = NOISES * result->trust.noise + DIGITS;
    double most = 0;
    for (uint64_t r = 0; r < k->rank; r++)
        most = fmax(most, fabs(k->lambda[r]));
    const bool wrong = !(off <= noise), grown = !(most <= GROWN * norm);
    e->wrong += wrong;
    e->grown += grown;
    if (wrong || grown)
        printf("tensor %d (rank %ju, weight %g%s, precision %d): fit %.12f, of the model %.12f "
               "(off %.2g, "
               "noise %.1g), largest weight %g of %g, %d iterations\n",
               number, (uintmax_t)p->rank, p->unlisted.weighed ? p->unlisted.weight : -1,
               p->rules.nonneg[0] ? ", nonnegative" : "", (int)p->precision, result->fit, fit, off,
               result->trust.noise, most, norm, result->iterations);
}

static void run_trial(struct ends *e, int number)
{
    const struct cpals_options als = {.max_iterations = 200, .tolerance = 1e-5};
    struct coo x;
    const struct backend_options options = {.problem = make_trial(&x, number)};
    struct error error = {0};
    struct cpals_result result;
    struct ktensor k;
    assert_int_equal(ktensor_create(&k, &x.shape, options.problem.rank, &error), STATUS_OK);
    ktensor_randomise(&k, KTENSOR_RANDOM, (uint64_t)number);
    run_from(&x, &k, &options, &als, &result, &error);
    if (error.status == STATUS_OK) {
        note(e, number, &x, &options.problem, &k, &result);
    } else {
        if (error.status != STATUS_NUMERICAL)
            fail_msg("tensor %d: %s", number, error.message);
        printf("tensor %d: %s\n", number, error.message);
        e->failed++;
    }
    ktensor_free(&k);
    coo_free(&x);
}

static void test_table(void **state)
{
    use_ranks(state);
    const char *asked = getenv("BLCO_TABLE");
    const int tensors = asked ? atoi(asked) : TENSORS;
    struct ends e = {0};
    for (int number = 0; number<tensors; number += under_test.ranks> 1 || SANITIZED ? 5 : 1)
        run_trial(&e, number);
    printf("%d fits are wrong, weights of %d runs have grown, %d runs failed\n", e.wrong, e.grown,
           e.failed);
    assert_true(e.wrong == 0 && e.grown == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_RANKS_OF(test_table, backend_host, 1), ON_RANKS_OF(test_table, backend_host, 2),
        ON_RANKS_OF(test_table, backend_host, 3), ON_RANKS_OF(test_table, backend_cuda, 1),
        ON_RANKS_OF(test_table, backend_cuda, 2), ON_FLOW(test_table, IN_BATCHES)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
