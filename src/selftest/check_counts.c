#include "selftest/known_tensors.h"
#include "selftest/selftest_checks.h"

/* One run on the table of admissions, of which the deviance is known. */
struct known_counts {
    const char *name;
    uint64_t rank;
    enum solver solver;
    int iterations;
    double deviance, tolerance;
};

/* Rank 1 is the independence of the modes: its deviance is the G^2 that loglm of R finds. The
 * others are those of another program from the same start. */
static const struct known_counts known[] = {
    {"newton", 1, SOLVER_NEWTON, 20, 2097.671, 6e-4},
    {"mu", 1, SOLVER_MU, 20, 2097.671, 6e-4},
    {"newton", 2, SOLVER_NEWTON, 5, 2 * 208.014305487, 1e-6},
    {"mu", 2, SOLVER_MU, 5, 2 * 402.833789322, 1e-6},
};

/* Columns that add up to 1, equal weights. */
static void fill_start(struct ktensor *k)
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

static double sum_of(const double *x, uint64_t count)
{
    double sum = 0;
    for (uint64_t i = 0; i < count; i++)
        sum += x[i];
    return sum;
}

static void compare(const struct coo *x, const struct known_counts *c,
                    const struct place_outcome *o, struct verdict *f)
{
    const int rank = (int)c->rank;
    verdict_near(f, o->result.deviance, c->deviance, c->tolerance, "%s, rank %d: deviance", c->name,
                 rank);
    if (c->solver == SOLVER_MU) /* each multiplicative step keeps the total */
        verdict_near(f, sum_of(o->model.lambda, c->rank), sum_of(x->value, x->nnz), 1e-8,
                     "%s, rank %d: sum of the weights", c->name, rank);
}

static enum status run(const struct selftest_place *p, const struct coo *x,
                       const struct known_counts *c, struct verdict *f, struct error *error)
{
    struct problem problem = {.rank = c->rank, .loss = LOSS_POISSON, .solver = c->solver};
    struct error why;
    struct ktensor start;
    struct place_outcome o = {0};
    problem_complete_loss(&problem);
    if (place_refuses(p, x, &problem, &why)) {
        verdict_leave_out(f, why.message);
        return STATUS_OK;
    }
    TRY(ktensor_create(&start, &x->shape, c->rank, error));
    fill_start(&start);
    const struct decomposition d = {.guess = {.kind = GUESS_MODEL, .model = &start},
                                    .als = {.max_iterations = c->iterations}};
    TRY_OR(done, place_decompose(p, x, &problem, &d, &o, error));
    if (place_compares(p))
        compare(x, c, &o, f);
done:
    ktensor_free(&o.model);
    ktensor_free(&start);
    return error->status;
}

enum status check_counts(const struct selftest_place *p, struct verdict *f, struct error *error)
{
    struct coo x;
    TRY(known_admissions(&x, error));
    for (size_t i = 0; i < sizeof known / sizeof *known && !f->left_out[0]; i++)
        TRY_OR(done, run(p, &x, &known[i], f, error));
done:
    coo_free(&x);
    return error->status;
}
