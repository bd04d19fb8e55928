/* Runs of which the result is known: best fits, planted models, deviances of counts. */

#include "base/memory.h"
#include "model/ktensor_match.h"
#include "selftest/known_tensors.h"
#include "selftest/selftest_checks.h"

enum tensor { MULTIPLICATION, SUPERDIAGONAL, ADMISSIONS, DENSE, DENSE_4, SPARSE };
enum start { RANDOM, NORMAL, STRASSEN, UNIT, SMOOTH };

struct known_run {
    enum selftest_runs check;
    enum tensor tensor;
    uint64_t rank;
    enum start start;
    double disturbed; /* by so much, at most, is each number of the start changed */
    int iterations;   /* at most */
    double expected;  /* the fit; of counts the deviance */
    double tolerance;
    enum loss_name loss;
    enum solver solver;
};

/* The best fit of rank 1 for the multiplication of matrices is 1 - sqrt(7/8); V. Strassen's model
 * has rank 7. Rank R keeps the R largest entries of a superdiagonal. Rank 1 of the table of
 * admissions is the independence of the modes, whose deviance is the G^2 that loglm of R finds; the
 * other deviances are those of another program from the same start. Of binary data, rank 1 has one
 * optimum, as the likelihood is concave in the logarithms of the entries: for the multiplication of
 * matrices, in which all indices are alike, one probability, 1/8. */
static const struct known_run runs[] = {
    {RUNS_MULTIPLICATION, MULTIPLICATION, 1, RANDOM, 0, 200, .0645856533065148, 1e-9, 0, 0},
    {RUNS_STRASSEN, MULTIPLICATION, 7, STRASSEN, .1, 500, 1, 1e-6, 0, 0},
    {RUNS_SUPERDIAGONAL, SUPERDIAGONAL, 1, UNIT, .1, 200, .2614511, 1e-7, 0, 0},
    {RUNS_SUPERDIAGONAL, SUPERDIAGONAL, 2, UNIT, .1, 200, .4954750, 1e-7, 0, 0},
    {RUNS_SUPERDIAGONAL, SUPERDIAGONAL, 3, UNIT, .1, 200, .6984887, 1e-7, 0, 0},
    {RUNS_SUPERDIAGONAL, SUPERDIAGONAL, 4, UNIT, .1, 200, .8651600, 1e-7, 0, 0},
    {RUNS_DENSE, DENSE, 4, NORMAL, 0, 1000, 1, 1e-5, 0, 0},
    {RUNS_DENSE, DENSE_4, 4, NORMAL, 0, 1000, 1, 1e-5, 0, 0},
    {RUNS_SPARSE, SPARSE, 5, RANDOM, 0, 1000, 1, 1e-5, 0, 0},
    {RUNS_COUNTS, ADMISSIONS, 1, SMOOTH, 0, 20, 2097.671, 6e-4, LOSS_POISSON, SOLVER_NEWTON},
    {RUNS_COUNTS, ADMISSIONS, 1, SMOOTH, 0, 20, 2097.671, 6e-4, LOSS_POISSON, SOLVER_MU},
    {RUNS_COUNTS, ADMISSIONS, 2, SMOOTH, 0, 5, 2 * 208.014305487, 1e-6, LOSS_POISSON,
     SOLVER_NEWTON},
    {RUNS_COUNTS, ADMISSIONS, 2, SMOOTH, 0, 5, 2 * 402.833789322, 1e-6, LOSS_POISSON, SOLVER_MU},
    {RUNS_COUNTS, MULTIPLICATION, 1, RANDOM, 0, 60, 48.22658, 1e-6, LOSS_BINARY, SOLVER_NEWTON},
    {RUNS_COUNTS, MULTIPLICATION, 1, RANDOM, 0, 60, 48.22658, 1e-6, LOSS_BINARY, SOLVER_MU},
};

/* --- tensors and starts --- */

/* *k = a model; its tensor is sparse where most entries of its factor matrices are 0. */
static enum status make_planted(struct ktensor *k, const struct known_run *run, struct error *error)
{
    static const struct shape shapes[] = {
        [DENSE] = {3, {12, 9, 14}}, [DENSE_4] = {4, {12, 9, 14, 6}}, [SPARSE] = {3, {50, 40, 60}}};
    const struct shape *shape = &shapes[run->tensor];
    const bool sparse = run->tensor == SPARSE;
    TRY(ktensor_create(k, shape, run->rank, error));
    ktensor_randomise(k, sparse ? KTENSOR_RANDOM : KTENSOR_NORMAL, sparse ? 3 : 99);
    for (uint64_t r = 0; r < run->rank && !sparse; r++)
        k->lambda[r] = (double)(1 + r);
    for (int n = 0; n < shape->order; n++)
        for (uint64_t i = 0; i < shape->dims[n] * run->rank; i++)
            if (sparse && k->factor[n][i] < 0.8)
                k->factor[n][i] = 0;
    return ktensor_arrange(k, error);
}

/* *k = the start of the run. */
static enum status make_start(struct ktensor *k, const struct known_run *run,
                              const struct shape *shape, struct error *error)
{
    const uint64_t rank = run->rank;
    struct ktensor noise;
    TRY(ktensor_create(k, shape, rank, error));
    if (run->start == STRASSEN)
        known_strassen(k);
    else
        ktensor_randomise(k, run->start == NORMAL ? KTENSOR_NORMAL : KTENSOR_RANDOM, 1);
    for (uint64_t n = 0; n < (uint64_t)shape->order && run->start == UNIT; n++)
        for (uint64_t i = 0; i < shape->dims[n] * rank; i++)
            k->factor[n][i] = i / rank == i % rank;
    for (uint64_t n = 0; n < (uint64_t)shape->order && run->start == SMOOTH; n++)
        for (uint64_t r = 0; r < rank; r++) { /* columns that add up to 1 */
            double sum = 0;
            for (uint64_t i = 0; i < shape->dims[n]; i++) {
                k->factor[n][i * rank + r] = 1 + (double)((7 * i + 13 * r + 5 * n) % 11) / 11;
                sum += k->factor[n][i * rank + r];
            }
            for (uint64_t i = 0; i < shape->dims[n]; i++)
                k->factor[n][i * rank + r] /= sum;
        }
    if (run->disturbed == 0)
        return STATUS_OK;
    TRY(ktensor_create(&noise, shape, rank, error));
    ktensor_randomise(&noise, KTENSOR_RANDOM, run->start == UNIT ? rank : 1);
    for (int n = 0; n < shape->order; n++)
        for (uint64_t i = 0; i < shape->dims[n] * rank; i++)
            k->factor[n][i] += run->disturbed * (2 * noise.factor[n][i] - 1);
    ktensor_free(&noise);
    return STATUS_OK;
}

/* --- results --- */

static double sum_of(const double *x, uint64_t count)
{
    double sum = 0;
    for (uint64_t i = 0; i < count; i++)
        sum += x[i];
    return sum;
}

/* Compares the fit with the known one and with the oracle's for the model, and the model with the
 * planted one. */
static enum status compare_fit(const struct coo *x, const struct ktensor *planted,
                               const struct known_run *run, const struct place_outcome *o,
                               struct verdict *f, struct error *error)
{
    const double digits = run->expected < 1 ? 1e-9 : 1e-6; /* near 1 large terms cancel */
    const int rank = (int)run->rank;
    double score;
    verdict_near(f, o->result.fit, run->expected, run->tolerance, "rank %d: fit", rank);
    verdict_near(f, (double)naive_fit(x, &o->model), o->result.fit, digits,
                 "rank %d: fit of the model by its definition", rank);
    if (planted->rank == 0)
        return STATUS_OK;
    TRY(ktensor_score(&o->model, planted, 1, &score, NULL, error));
    verdict_near(f, score, 1, 1e-3, "rank %d: factor match score", rank);
    return STATUS_OK;
}

static enum status make_run(const struct selftest_place *p, const struct known_run *run,
                            struct verdict *f, struct error *error)
{
    struct coo x = {0};
    struct ktensor planted = {0}, start = {0};
    struct place_outcome o = {0};
    struct error why;
    const char *solver = word_of(solver_words, (int)run->solver);
    struct problem problem = {.rank = run->rank, .loss = run->loss, .solver = run->solver};
    const struct place_run als = {
        &problem, &start, {.max_iterations = run->iterations, .tolerance = run->loss ? 0 : 1e-12}};
    problem_complete_loss(&problem);
    if (run->tensor == MULTIPLICATION) {
        TRY_OR(done, known_multiplication(&x, 2, error));
    } else if (run->tensor == SUPERDIAGONAL) {
        TRY_OR(done, known_superdiagonal(&x, 5, error));
    } else if (run->tensor == ADMISSIONS) {
        TRY_OR(done, known_admissions(&x, error));
    } else {
        TRY_OR(done, make_planted(&planted, run, error));
        TRY_OR(done, known_planted(&x, &planted, error));
    }
    if (problem_has_rates(&problem) && place_refuses(p, &x, &problem, &why)) {
        snprintf(f->left_out, sizeof f->left_out, "%.*s", (int)sizeof f->left_out - 1, why.message);
        goto done;
    }
    TRY_OR(done, make_start(&start, run, &x.shape, error));
    TRY_OR(done, place_decompose(p, &x, &als, &o, error));
    if (!place_compares(p))
        goto done;
    if (!problem_has_rates(&problem))
        TRY_OR(done, compare_fit(&x, &planted, run, &o, f, error));
    else
        verdict_near(f, o.result.deviance, run->expected, run->tolerance, "%s, rank %d: deviance",
                     solver, (int)run->rank);
    if (run->tensor == ADMISSIONS && run->solver == SOLVER_MU) /* each step keeps the total */
        verdict_near(f, sum_of(o.model.lambda, run->rank), sum_of(x.value, x.nnz), 1e-8,
                     "%s, rank %d: sum of the weights", solver, (int)run->rank);
done:
    ktensor_free(&o.model);
    ktensor_free(&start);
    ktensor_free(&planted);
    coo_free(&x);
    return error->status;
}

enum status check_runs(const struct selftest_place *p, int check, struct verdict *f,
                       struct error *error)
{
    for (size_t i = 0; i < sizeof runs / sizeof *runs && !f->left_out[0]; i++)
        if ((int)runs[i].check == check && make_run(p, &runs[i], f, error) != STATUS_OK)
            return error->status;
    return STATUS_OK;
}

#define RANK   6
#define STOP   2    /* the iteration after which the run stops */
#define WHOLE  5    /* iterations of the run that does not stop */
#define NEARLY 1e-8 /* on a device sums are added in any order */

enum status check_resume(const struct selftest_place *p, int which, struct verdict *f,
                         struct error *error)
{
    (void)which;
    static const struct shape shape = {3, {60, 52, 90}};
    static const struct problem problem = {.rank = RANK};
    const double tolerance = p->kind->devices ? NEARLY : 0;
    struct coo x = {0};
    struct ktensor start = {0};
    struct checkpoint c;
    struct place_outcome in_one = {0}, in_two = {0};
    struct place_run run = {&problem, &start, {.max_iterations = WHOLE}};
    char *path = memory_text(error, "%s/checkpoint", p->folder);
    if (!path)
        goto done;
    TRY_OR(done, known_scattered(&x, &shape, 3000, 4, 1, error));
    TRY_OR(done, ktensor_create(&start, &shape, RANK, error));
    ktensor_randomise(&start, KTENSOR_RANDOM, 3);
    TRY_OR(done, place_decompose(p, &x, &run, &in_one, error));
    const struct checkpoint_options saving = {
        .path = path,
        .about = {.tensor = {.shape = x.shape, .nnz = x.nnz, .hash = fingerprint_hash(&x, NULL)},
                  .problem = problem}};
    run.als = (struct cpals_options){.max_iterations = STOP, .saving = &saving};
    TRY_OR(done, place_decompose(p, &x, &run, &in_two, error));
    ktensor_free(&in_two.model);
    *error = in_two.result.not_saved;
    TRY_OR(done, error->status);
    TRY_OR(done, checkpoint_open(&c, path, 0, 1, error));
    run.start = &c.model[CHECKPOINT_STATE].rows;
    run.als = (struct cpals_options){.max_iterations = WHOLE, .resume = &c};
    place_decompose(p, &x, &run, &in_two, error);
    checkpoint_close(&c);
    if (error->status != STATUS_OK || !place_compares(p))
        goto done;
    verdict_equal(f, (uint64_t)in_two.result.iterations, WHOLE, "iterations");
    verdict_near(f, in_two.result.fit, in_one.result.fit, tolerance, "fit after resuming");
    verdict_same_model(f, &in_two.model, &in_one.model, tolerance, "model after resuming");
done:
    ktensor_free(&in_two.model);
    ktensor_free(&in_one.model);
    ktensor_free(&start);
    coo_free(&x);
    memory_free(path);
    return error->status;
}
