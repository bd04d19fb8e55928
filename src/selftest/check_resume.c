#include "base/memory.h"
#include "selftest/known_tensors.h"
#include "selftest/selftest_checks.h"

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
