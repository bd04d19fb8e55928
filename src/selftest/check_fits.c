#include <math.h>

#include "model/ktensor_match.h"
#include "selftest/known_tensors.h"
#include "selftest/naive_mttkrp.h"
#include "selftest/selftest_checks.h"

/* One run of ALS, of which the result is known. */
struct known_run {
    int iterations;                /* at most */
    double fit;                    /* expected */
    double tolerance;              /* of the fit */
    const struct ktensor *planted; /* the model that is expected; NULL: not known */
};

/* Decomposes x from *start. Compares the fit with the known one and with the oracle's for the
 * model, and the model with the known one. */
static enum status compare_run(const struct selftest_place *p, const struct coo *x,
                               const struct ktensor *start, const struct known_run *known,
                               struct verdict *f, struct error *error)
{
    const struct decomposition d = {
        .guess = {.kind = GUESS_MODEL, .model = start},
        .als = {.max_iterations = known->iterations, .tolerance = 1e-12}};
    const struct problem problem = {.rank = start->rank};
    struct place_outcome o = {0};
    const double digits = known->fit < 1 ? 1e-9 : 1e-6; /* near 1 large terms cancel */
    double score = 0;
    int rank = (int)start->rank;
    TRY_OR(done, place_decompose(p, x, &problem, &d, &o, error));
    if (!place_compares(p))
        goto done;
    verdict_near(f, o.result.fit, known->fit, known->tolerance, "rank %d: fit", rank);
    verdict_near(f, (double)naive_fit(x, &o.model), o.result.fit, digits,
                 "rank %d: fit of the model by its definition", rank);
    if (!known->planted)
        goto done;
    TRY_OR(done, ktensor_score(&o.model, known->planted, 1, &score, NULL, error));
    verdict_near(f, score, 1, 1e-3, "rank %d: factor match score", rank);
done:
    ktensor_free(&o.model);
    return error->status;
}

/* Adds uniform random numbers from -size to size to all factor matrices. */
static enum status disturb(struct ktensor *k, double size, uint64_t seed, struct error *error)
{
    struct ktensor noise;
    TRY(ktensor_create(&noise, &k->shape, k->rank, error));
    ktensor_randomise(&noise, KTENSOR_RANDOM, seed);
    for (int n = 0; n < k->shape.order; n++)
        for (uint64_t i = 0; i < k->shape.dims[n] * k->rank; i++)
            k->factor[n][i] += size * (2 * noise.factor[n][i] - 1);
    ktensor_free(&noise);
    return STATUS_OK;
}

enum status check_multiplication(const struct selftest_place *p, struct verdict *f,
                                 struct error *error)
{
    const struct known_run known = {200, 1 - sqrt(7.0 / 8.0), 1e-9, NULL};
    struct coo x;
    struct ktensor start = {0};
    TRY_OR(done, known_multiplication(&x, 2, error));
    TRY_OR(done, ktensor_create(&start, &x.shape, 1, error));
    ktensor_randomise(&start, KTENSOR_RANDOM, 1);
    compare_run(p, &x, &start, &known, f, error);
done:
    ktensor_free(&start);
    coo_free(&x);
    return error->status;
}

enum status check_strassen(const struct selftest_place *p, struct verdict *f, struct error *error)
{
    static const struct known_run known = {500, 1, 1e-6, NULL};
    struct coo x;
    struct ktensor start = {0};
    TRY_OR(done, known_multiplication(&x, 2, error));
    TRY_OR(done, ktensor_create(&start, &x.shape, 7, error));
    known_strassen(&start);
    TRY_OR(done, disturb(&start, 0.1, 1, error));
    compare_run(p, &x, &start, &known, f, error);
done:
    ktensor_free(&start);
    coo_free(&x);
    return error->status;
}

/* Rank R keeps the R largest entries; the start is near them. */
static enum status keep_largest(const struct selftest_place *p, const struct coo *x, uint64_t rank,
                                struct verdict *f, struct error *error)
{
    static const double fit[] = {.2614511, .4954750, .6984887, .8651600};
    const struct known_run known = {200, fit[rank - 1], 1e-7, NULL};
    struct ktensor start;
    TRY(ktensor_create(&start, &x->shape, rank, error));
    for (int n = 0; n < 3; n++)
        for (uint64_t i = 0; i < 5 * rank; i++)
            start.factor[n][i] = i / rank == i % rank;
    TRY_OR(done, disturb(&start, 0.1, rank, error));
    compare_run(p, x, &start, &known, f, error);
done:
    ktensor_free(&start);
    return error->status;
}

enum status check_superdiagonal(const struct selftest_place *p, struct verdict *f,
                                struct error *error)
{
    struct coo x;
    TRY(known_superdiagonal(&x, 5, error));
    for (uint64_t rank = 1; rank <= 4; rank++)
        TRY_OR(done, keep_largest(p, &x, rank, f, error));
done:
    coo_free(&x);
    return error->status;
}

/* Arranges *planted, and finds it again from a random start. */
static enum status find_again(const struct selftest_place *p, struct ktensor *planted,
                              enum ktensor_init init, struct verdict *f, struct error *error)
{
    const struct known_run known = {1000, 1, 1e-5, planted};
    struct coo x = {0};
    struct ktensor start = {0};
    TRY_OR(done, ktensor_arrange(planted, error));
    TRY_OR(done, known_planted(&x, planted, error));
    TRY_OR(done, ktensor_create(&start, &x.shape, planted->rank, error));
    ktensor_randomise(&start, init, 1);
    compare_run(p, &x, &start, &known, f, error);
done:
    ktensor_free(&start);
    coo_free(&x);
    return error->status;
}

enum status check_planted_dense(const struct selftest_place *p, struct verdict *f,
                                struct error *error)
{
    static const struct shape shapes[] = {{3, {12, 9, 14}}, {4, {12, 9, 14, 6}}};
    for (int i = 0; i < 2; i++) {
        struct ktensor planted;
        TRY(ktensor_create(&planted, &shapes[i], 4, error));
        ktensor_randomise(&planted, KTENSOR_NORMAL, 99);
        for (int r = 0; r < 4; r++)
            planted.lambda[r] = 1 + r;
        find_again(p, &planted, KTENSOR_NORMAL, f, error);
        ktensor_free(&planted);
        TRY(error->status);
    }
    return STATUS_OK;
}

/* Factor matrices that are mostly zero make a sparse tensor. */
enum status check_planted_sparse(const struct selftest_place *p, struct verdict *f,
                                 struct error *error)
{
    static const struct shape shape = {3, {50, 40, 60}};
    struct ktensor planted;
    TRY(ktensor_create(&planted, &shape, 5, error));
    ktensor_randomise(&planted, KTENSOR_RANDOM, 3);
    for (int n = 0; n < 3; n++)
        for (uint64_t i = 0; i < shape.dims[n] * 5; i++)
            if (planted.factor[n][i] < 0.8)
                planted.factor[n][i] = 0;
    find_again(p, &planted, KTENSOR_RANDOM, f, error);
    ktensor_free(&planted);
    return error->status;
}
