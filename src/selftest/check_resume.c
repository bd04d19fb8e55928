#include "base/memory.h"
#include "selftest/known_tensors.h"
#include "selftest/selftest_checks.h"

#define RANK   6
#define STOP   2    /* the iteration after which the run stops */
#define WHOLE  5    /* iterations of the run that does not stop */
#define NEARLY 1e-8 /* on a device sums are added in any order */

/* Runs to the checkpoint at `path`, then on from there. *model and *result are of the second run.
 */
static enum status run_in_two(const struct selftest_place *p, const struct coo *x,
                              const struct ktensor *start, const char *path, struct ktensor *model,
                              struct cpals_result *result, struct error *error)
{
    const struct checkpoint_options saving = {
        .path = path,
        .about = {.tensor = {.shape = x->shape, .nnz = x->nnz, .hash = fingerprint_hash(x, NULL)},
                  .problem.rank = RANK}};
    struct decomposition d = {.guess = {.kind = GUESS_MODEL, .model = start},
                              .als = {.max_iterations = STOP, .saving = &saving}};
    struct checkpoint c;
    if (place_decompose(p, x, &d, model, result, error) != STATUS_OK)
        return error->status;
    ktensor_free(model);
    if (result->not_saved.status != STATUS_OK) {
        *error = result->not_saved;
        return error->status;
    }
    if (checkpoint_open(&c, path, 0, 1, error) != STATUS_OK)
        return error->status;
    d.guess.model = &c.model[CHECKPOINT_STATE].rows;
    d.als = (struct cpals_options){.max_iterations = WHOLE, .resume = &c};
    place_decompose(p, x, &d, model, result, error);
    checkpoint_close(&c);
    return error->status;
}

static void compare(const struct selftest_place *p, struct verdict *f,
                    const struct ktensor *resumed, const struct cpals_result *in_two,
                    const struct ktensor *whole, const struct cpals_result *in_one)
{
    const double tolerance = p->kind->devices ? NEARLY : 0;
    verdict_equal(f, (uint64_t)in_two->iterations, WHOLE, "iterations");
    verdict_near(f, in_two->fit, in_one->fit, tolerance, "fit after resuming");
    verdict_same_model(f, resumed, whole, tolerance, "model after resuming");
}

enum status check_resume(const struct selftest_place *p, struct verdict *f, struct error *error)
{
    static const struct shape shape = {3, {60, 52, 90}};
    struct coo x;
    struct ktensor start = {0}, whole = {0}, resumed = {0};
    struct cpals_result in_one, in_two;
    char *path = memory_text(error, "%s/checkpoint", p->folder);
    if (known_scattered(&x, &shape, 3000, 4, 1, error) == STATUS_OK &&
        ktensor_create(&start, &shape, RANK, error) == STATUS_OK) {
        ktensor_randomise(&start, KTENSOR_RANDOM, 3);
        const struct decomposition d = {.guess = {.kind = GUESS_MODEL, .model = &start},
                                        .als = {.max_iterations = WHOLE}};
        if (place_decompose(p, &x, &d, &whole, &in_one, error) == STATUS_OK &&
            run_in_two(p, &x, &start, path, &resumed, &in_two, error) == STATUS_OK &&
            place_compares(p))
            compare(p, f, &resumed, &in_two, &whole, &in_one);
    }
    ktensor_free(&resumed);
    ktensor_free(&whole);
    ktensor_free(&start);
    coo_free(&x);
    memory_free(path);
    return error->status;
}
