#include "als/cpals.h"

#include <math.h>

#include "base/clock.h"

/* The least-squares step of mode n: A_n changes, all other factor matrices stay. */
static enum status update_mode(struct backend *b, int n, struct error *error)
{
    /* M = X_(n) (A_N kr ... A_n+1 kr A_n-1 ... kr A_1) */
    enum status status = backend_mttkrp(b, n, error);
    /* V = G_1 * ... (without n) ... * G_N;  A_n = M V^+
     * lambda_r = ||A_n(:,r)||;  A_n(:,r) /= lambda_r;  G_n = A_n'A_n */
    return status == STATUS_OK ? backend_update(b, n, error) : status;
}

enum status cpals_sweep(struct backend *b, struct backend_fit *fit, struct error *error)
{
    for (int n = 0; n < b->order; n++) {
        enum status status = update_mode(b, n, error);
        if (status != STATUS_OK)
            return status;
    }
    /* fit = 1 - ||X - Y|| / ||X|| with the model Y = [lambda; A_1, ..., A_N]:
     * ||X - Y||^2 = ||X||^2 - 2 <X, Y> + ||Y||^2, <X, Y> = sum_ir M(i,r) A_N(i,r) lambda_r,
     * ||Y||^2 = lambda' (G_1 * ... * G_N) lambda */
    return backend_fit(b, b->order - 1, fit, error);
}

/* *interrupted = the largest value of the options' on any rank. */
static enum status find_stop(struct backend *b, const struct cpals_options *options,
                             int *interrupted, struct error *error)
{
    *interrupted = options->interrupted ? *options->interrupted : 0;
    return comm_agree(b->ranks->all, interrupted, error);
}

/* One sweep; *fit = its fit, from the residual where the options or rounding ask for that. */
static enum status iterate(struct backend *b, const struct cpals_options *options, int i,
                           struct cpals_result *result, struct error *error)
{
    struct backend_fit fit;
    bool due = options->check_every > 0 && i % options->check_every == 0;
    if (cpals_sweep(b, &fit, error) != STATUS_OK ||
        fit_trust_check(&result->trust, b, due, options->tolerance, &fit, error) != STATUS_OK)
        return error_prefix(error, "iteration %d: ", i);
    result->change = fit.value - result->fit;
    result->fit = fit.value;
    result->iterations = i;
    fit_trust_note(&result->trust, &fit, result->change);
    return STATUS_OK;
}

/* Iterates until the options say to stop. */
static enum status iterate_all(struct backend *b, const struct cpals_options *options,
                               struct weight_history *weights, struct progress *progress,
                               struct cpals_result *result, struct error *error)
{
    for (int i = 1; i <= options->max_iterations; i++) {
        if (iterate(b, options, i, result, error) != STATUS_OK ||
            weight_history_note(weights, b, i, error) != STATUS_OK)
            return error->status;
        progress_update(progress, (double)i / options->max_iterations,
                        "iteration %d of %d, fit %.6f, change %.1e", i, options->max_iterations,
                        result->fit, result->change);
        if (i > 1 && fabs(result->change) < options->tolerance) {
            result->stop = CPALS_CONVERGED;
            break;
        }
        if (find_stop(b, options, &result->interrupted, error) != STATUS_OK)
            return error->status;
        if (result->interrupted) {
            result->stop = CPALS_INTERRUPTED;
            break;
        }
    }
    return STATUS_OK;
}

/* Where fits are checked, the last one is. */
static enum status check_last(struct backend *b, const struct cpals_options *options,
                              struct cpals_result *result, struct error *error)
{
    struct backend_fit fit = {result->fit, result->trust.noise};
    bool due = options->check_every > 0 && !result->trust.exact;
    if (!due || fit_trust_check(&result->trust, b, due, 0, &fit, error) != STATUS_OK)
        return error->status;
    result->fit = fit.value;
    result->trust.noise = fit.noise;
    return STATUS_OK;
}

enum status cpals_iterate(struct backend *b, const struct ktensor *k,
                          const struct cpals_options *options, struct progress *progress,
                          struct cpals_result *result, struct error *error)
{
    struct weight_history weights;
    double start = clock_now();
    *result = (struct cpals_result){.stop = CPALS_ITERATIONS};
    if (weight_history_create(&weights, k->rank, error) != STATUS_OK)
        return error->status;
    progress_stage(progress, "decomposing");
    if (backend_load(b, k, error) == STATUS_OK &&
        iterate_all(b, options, &weights, progress, result, error) == STATUS_OK &&
        check_last(b, options, result, error) == STATUS_OK) {
        result->seconds = clock_now() - start;
        model_health(&result->health, b, &weights, result->iterations, error);
    }
    weight_history_free(&weights);
    return error->status;
}

void cpals_tell(const struct cpals_result *result, struct progress *progress)
{
    static const char *const why[] = {[CPALS_CONVERGED] = "converged",
                                      [CPALS_ITERATIONS] = "iteration limit",
                                      [CPALS_INTERRUPTED] = "interrupted"};
    progress_done(progress, "%d iterations, fit %.6f, %s", result->iterations, result->fit,
                  why[result->stop]);
}

enum status cpals_run(struct backend *b, struct ktensor *k, const struct cpals_options *options,
                      struct progress *progress, struct cpals_result *result, struct error *error)
{
    if (cpals_iterate(b, k, options, progress, result, error) != STATUS_OK ||
        backend_store(b, k, error) != STATUS_OK || ktensor_arrange(k, error) != STATUS_OK)
        return error->status;
    cpals_tell(result, progress);
    return STATUS_OK;
}
