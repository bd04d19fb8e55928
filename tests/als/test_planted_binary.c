/* Planted models of binary data are found again, as well as the ones tell of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <math.h>

#include <cmocka.h>

#include "model/ktensor_match.h"
#include "support/naive.h"
#include "support/rank_runs.h"

#define RANK   3
#define STARTS 5
#define FOUND  4 /* of so many plants the score is to be above .99 */

/* A cube of this length. Each component has so many indices of each mode, with exponentially
 * distributed entries, all of them multiplied by `scale`. */
struct plant {
    uint64_t length, side;
    double scale, density;
};

static double uniform(uint64_t *seed)
{
    return ((double)(naive_random(seed) >> 11) + .5) * 0x1p-53;
}

static void plant_model(struct ktensor *k, const struct plant *p, uint64_t *seed)
{
    const uint64_t dims[] = {p->length, p->length, p->length};
    struct error error = {0};
    assert_int_equal(ktensor_create(k, SHAPE(3, dims), RANK, &error), STATUS_OK);
    for (uint64_t r = 0; r < RANK; r++) {
        k->lambda[r] = p->scale;
        for (int n = 0; n < 3; n++) {
            for (uint64_t i = 0; i < p->length; i++)
                k->factor[n][i * RANK + r] = 0;
            for (uint64_t left = p->side; left > 0;) {
                double *entry = &k->factor[n][naive_random(seed) % p->length * RANK + r];
                left -= *entry == 0;
                *entry = *entry == 0 ? -log(uniform(seed)) : *entry;
            }
        }
    }
}

static double rate_at(const struct ktensor *k, const uint32_t *at)
{
    double sum = 0;
    for (uint64_t r = 0; r < RANK; r++)
        sum += k->lambda[r] * k->factor[0][at[0] * RANK + r] * k->factor[1][at[1] * RANK + r] *
               k->factor[2][at[2] * RANK + r];
    return sum;
}

/* A one wherever a Poisson variable of the planted rate is not 0. Returns by how much the score of
 * an estimate is expected to miss 1: of a cell of rate m, the Fisher information of m is
 * 1 / (exp(m) - 1); the inverse of an entry's information is the variance of its estimate; and a
 * column of norm 1 whose entries have the sum of variances v is off by an angle of cosine 1 - v
 * / 2.
 */
static double draw_ones(struct coo *x, const struct ktensor *k, const struct plant *p,
                        uint64_t *seed)
{
    struct error error = {0};
    const uint32_t length = (uint32_t)p->length;
    double *information[3], missed = 0;
    uint64_t count = 0;
    uint32_t at[3];
    assert_int_equal(coo_create(x, &k->shape, RANK * p->side * p->side * p->side, &error),
                     STATUS_OK);
    for (int n = 0; n < 3; n++)
        information[n] = calloc(length * RANK, sizeof *information[n]);
    for (at[0] = 0; at[0] < length; at[0]++)
        for (at[1] = 0; at[1] < length; at[1]++) {
            bool some = false;
            for (uint64_t r = 0; r < RANK; r++)
                some |= k->factor[0][at[0] * RANK + r] * k->factor[1][at[1] * RANK + r] > 0;
            for (at[2] = 0; some && at[2] < length; at[2]++) {
                const double m = rate_at(k, at);
                for (uint32_t e = 0; m > 0 && e < 3 * RANK; e++) {
                    double z = k->lambda[e % RANK];
                    for (uint32_t n = 0; n < 3; n++)
                        z *= n == e / RANK ? 1 : k->factor[n][at[n] * RANK + e % RANK];
                    information[e / RANK][at[e / RANK] * RANK + e % RANK] += z * z / expm1(m);
                }
                if (!(m > 0 && uniform(seed) < -expm1(-m)))
                    continue;
                for (int n = 0; n < 3; n++)
                    x->index[n][count] = at[n];
                x->value[count++] = 1;
            }
        }
    assert_int_equal(coo_resize(x, count, &error), STATUS_OK);
    for (int n = 0; n < 3; n++) {
        for (uint64_t r = 0; r < RANK; r++) {
            double square = 0, variance = 0;
            for (uint64_t i = r; i < length * RANK; i += RANK) {
                square += k->factor[n][i] * k->factor[n][i];
                variance += k->factor[n][i] > 0 ? 1 / information[n][i] : 0;
            }
            missed += variance / square / 2 / RANK;
        }
        free(information[n]);
    }
    return missed;
}

static double log_likelihood(const struct ktensor *k, const struct coo *x)
{
    double sum = 0;
    for (uint64_t r = 0; r < RANK; r++) {
        double all = k->lambda[r];
        for (int n = 0; n < 3; n++) {
            double column = 0;
            for (uint64_t i = 0; i < k->shape.dims[n]; i++)
                column += k->factor[n][i * RANK + r];
            all *= column;
        }
        sum -= all; /* the rates of all cells */
    }
    for (uint64_t i = 0; i < x->nnz; i++) {
        const uint32_t at[] = {x->index[0][i], x->index[1][i], x->index[2][i]};
        const double m = rate_at(k, at);
        sum += m + log(-expm1(-m));
    }
    return sum;
}

/* The log-likelihood of the best of so many starts, which *k becomes. */
static double find_best(struct ktensor *k, const struct coo *x, uint64_t starts)
{
    const struct cpals_options als = {.max_iterations = 200, .tolerance = 1e-6};
    struct backend_options options = {
        .problem = {.rank = RANK, .loss = LOSS_BINARY, .acceleration = ACCELERATE_MOMENTUM}};
    double best = -INFINITY;
    problem_complete_loss(&options.problem);
    for (uint64_t seed = 1; seed <= starts; seed++) {
        struct ktensor found;
        run_random(x, &options, seed, &als, &found);
        const double likelihood = log_likelihood(&found, x);
        struct ktensor worse = found;
        if (likelihood > best) {
            worse = *k;
            *k = found;
            best = likelihood;
        }
        ktensor_free(&worse);
    }
    return best;
}

/* The model of most likelihood, which is more than the planted one's, is off by what the ones leave
 * open, whatever the density. The angle between it and the planted one falls as the root of the
 * number of ones for each parameter. */
static void test_found(void **state)
{
    use_ranks(state);
    static const struct plant plants[] = {
        {262, 26, 1, .001}, {127, 26, 1, .01}, {70, 26, 1, .05},
        {50, 33, .55, .2},                                      /* found again */
        {20, 12, 1, .2},    {40, 24, 1, .2},   {60, 36, 1, .2}, /* of three sizes */
    };
    for (size_t c = 0; c < (SANITIZED ? 2 : sizeof plants / sizeof *plants); c++) {
        const struct plant *p = &plants[c];
        const double cells = pow((double)p->length, 3);
        uint64_t seed = c;
        struct ktensor_match match;
        struct ktensor planted, found = {0};
        struct error error = {0};
        struct coo x;
        plant_model(&planted, p, &seed);
        const double expected = draw_ones(&x, &planted, p, &seed), density = (double)x.nnz / cells;
        const double best = find_best(&found, &x, c < FOUND ? STARTS : 2),
                     of_planted = log_likelihood(&planted, &x);
        assert_int_equal(ktensor_match(&match, &planted, &found, false, NULL, &error), STATUS_OK);
        const double missed = 1 - match.score;
        if (!(missed > .5 * expected && missed < 1.5 * expected && best > of_planted &&
              fabs(density / p->density - 1) < .3 && (c >= FOUND || match.score > .99)))
            fail_msg("case %zu: density %g, score %g, expected %g, log-likelihood %g, planted %g",
                     c, density, match.score, 1 - expected, best, of_planted);
        ktensor_match_free(&match);
        ktensor_free(&planted);
        ktensor_free(&found);
        coo_free(&x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {ON_RANKS_OF(test_found, backend_host, 1),
                                       ON_RANKS_OF(test_found, backend_cuda, 1)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
