/* Runs of which the result is known: best fits, planted models, deviances of counts. */
#include <math.h>

#include "base/memory.h"
#include "model/ktensor_match.h"
#include "selftest/known_tensors.h"
#include "selftest/naive_mttkrp.h"
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
 * other deviances are those of another program from the same start. */
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

/* *x = the tensor of the run, and *planted its model where one is planted. */
static enum status make_tensor(struct coo *x, struct ktensor *planted, const struct known_run *run,
                               struct error *error)
{
    if (run->tensor == MULTIPLICATION)
        return known_multiplication(x, 2, error);
    if (run->tensor == SUPERDIAGONAL)
        return known_superdiagonal(x, 5, error);
    if (run->tensor == ADMISSIONS)
        return known_admissions(x, error);
    TRY(make_planted(planted, run, error));
    return known_planted(x, planted, error);
}

/* Columns that add up to 1. */
static void make_smooth(struct ktensor *k)
{
    const uint64_t rank = k->rank;
    for (uint64_t n = 0; n < (uint64_t)k->shape.order; n++)
        for (uint64_t r = 0; r < rank; r++) {
            double sum = 0;
            for (uint64_t i = 0; i < k->shape.dims[n]; i++) {
                k->factor[n][i * rank + r] = 1 + (double)((7 * i + 13 * r + 5 * n) % 11) / 11;
                sum += k->factor[n][i * rank + r];
            }
            for (uint64_t i = 0; i < k->shape.dims[n]; i++)
                k->factor[n][i * rank + r] /= sum;
        }
}

static void make_unit(struct ktensor *k)
{
    for (int n = 0; n < k->shape.order; n++)
        for (uint64_t i = 0; i < k->shape.dims[n] * k->rank; i++)
            k->factor[n][i] = i / k->rank == i % k->rank;
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

static enum status make_start(struct ktensor *k, const struct known_run *run,
                              const struct shape *shape, struct error *error)
{
    TRY(ktensor_create(k, shape, run->rank, error));
    if (run->start == STRASSEN)
        known_strassen(k);
    else if (run->start == UNIT)
        make_unit(k);
    else if (run->start == SMOOTH)
        make_smooth(k);
    else
        ktensor_randomise(k, run->start == NORMAL ? KTENSOR_NORMAL : KTENSOR_RANDOM, 1);
    if (run->disturbed == 0)
        return STATUS_OK;
    return disturb(k, run->disturbed, run->start == UNIT ? run->rank : 1, error);
}

/* --- results --- */

static double sum_of(const double *x, uint64_t count)
{
    double sum = 0;
    for (uint64_t i = 0; i < count; i++)
        sum += x[i];
    return sum;
}

static void compare_counts(const struct coo *x, const struct known_run *run,
                           const struct place_outcome *o, struct verdict *f)
{
    const int rank = (int)run->rank;
    const char *solver = run->solver == SOLVER_MU ? "mu" : "newton";
    verdict_near(f, o->result.deviance, run->expected, run->tolerance, "%s, rank %d: deviance",
                 solver, rank);
    if (run->solver == SOLVER_MU) /* each multiplicative step keeps the total */
        verdict_near(f, sum_of(o->model.lambda, run->rank), sum_of(x->value, x->nnz), 1e-8,
                     "%s, rank %d: sum of the weights", solver, rank);
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
    struct problem problem = {.rank = run->rank, .loss = run->loss, .solver = run->solver};
    const struct decomposition d = {
        .guess = {.kind = GUESS_MODEL, .model = &start},
        .als = {.max_iterations = run->iterations, .tolerance = run->loss ? 0 : 1e-12}};
    problem_complete_loss(&problem);
    TRY_OR(done, make_tensor(&x, &planted, run, error));
    if (problem_has_rates(&problem) && place_refuses(p, &x, &problem, &why)) {
        verdict_leave_out(f, why.message);
        goto done;
    }
    TRY_OR(done, make_start(&start, run, &x.shape, error));
    TRY_OR(done, place_decompose(p, &x, &problem, &d, &o, error));
    if (!place_compares(p))
        goto done;
    if (problem_has_rates(&problem))
        compare_counts(&x, run, &o, f);
    else
        compare_fit(&x, &planted, run, &o, f, error);
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

static const struct problem problem = {.rank = RANK};

/* Runs to the checkpoint at `path`, then on from there. *o is the outcome of the second run. */
static enum status run_in_two(const struct selftest_place *p, const struct coo *x,
                              const struct ktensor *start, const char *path,
                              struct place_outcome *o, struct error *error)
{
    const struct checkpoint_options saving = {
        .path = path,
        .about = {.tensor = {.shape = x->shape, .nnz = x->nnz, .hash = fingerprint_hash(x, NULL)},
                  .problem = problem}};
    struct decomposition d = {.guess = {.kind = GUESS_MODEL, .model = start},
                              .als = {.max_iterations = STOP, .saving = &saving}};
    struct checkpoint c;
    TRY(place_decompose(p, x, &problem, &d, o, error));
    ktensor_free(&o->model);
    *error = o->result.not_saved;
    TRY(error->status);
    TRY(checkpoint_open(&c, path, 0, 1, error));
    d.guess.model = &c.model[CHECKPOINT_STATE].rows;
    d.als = (struct cpals_options){.max_iterations = WHOLE, .resume = &c};
    place_decompose(p, x, &problem, &d, o, error);
    checkpoint_close(&c);
    return error->status;
}

static void compare(const struct selftest_place *p, struct verdict *f,
                    const struct place_outcome *in_two, const struct place_outcome *in_one)
{
    const double tolerance = p->kind->devices ? NEARLY : 0;
    verdict_equal(f, (uint64_t)in_two->result.iterations, WHOLE, "iterations");
    verdict_near(f, in_two->result.fit, in_one->result.fit, tolerance, "fit after resuming");
    verdict_same_model(f, &in_two->model, &in_one->model, tolerance, "model after resuming");
}

enum status check_resume(const struct selftest_place *p, int which, struct verdict *f,
                         struct error *error)
{
    (void)which;
    static const struct shape shape = {3, {60, 52, 90}};
    struct coo x = {0};
    struct ktensor start = {0};
    struct place_outcome in_one = {0}, in_two = {0};
    const struct decomposition d = {.guess = {.kind = GUESS_MODEL, .model = &start},
                                    .als = {.max_iterations = WHOLE}};
    char *path = memory_text(error, "%s/checkpoint", p->folder);
    if (!path)
        goto done;
    TRY_OR(done, known_scattered(&x, &shape, 3000, 4, 1, error));
    TRY_OR(done, ktensor_create(&start, &shape, RANK, error));
    ktensor_randomise(&start, KTENSOR_RANDOM, 3);
    TRY_OR(done, place_decompose(p, &x, &problem, &d, &in_one, error));
    TRY_OR(done, run_in_two(p, &x, &start, path, &in_two, error));
    if (place_compares(p))
        compare(p, f, &in_two, &in_one);
done:
    ktensor_free(&in_two.model);
    ktensor_free(&in_one.model);
    ktensor_free(&start);
    coo_free(&x);
    memory_free(path);
    return error->status;
}
