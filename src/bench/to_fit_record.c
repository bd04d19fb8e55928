#include <math.h>

#include "bench/to_fit_show.h"
#include "record/run_record.h"

static void put_options(struct json *j, const struct to_fit_request *q, int order)
{
    json_put_object(j, "options");
    run_record_options(j, &q->options);
    run_record_modes(j, "nonneg", q->options.problem.rules.nonneg, order);
    json_put_unsigned(j, "iterations", (uint64_t)q->iterations);
    json_put_number(j, "tolerance", q->tolerance);
    json_put_unsigned(j, "seed", q->seed);
    json_put_unsigned(j, "starts", (uint64_t)q->starts);
    json_end(j);
}

static void put_ranks(struct json *j, const struct to_fit *t)
{
    if (t->ranks == 0)
        return;
    json_put_object(j, "ranks");
    json_put_unsigned(j, "count", (uint64_t)t->ranks);
    json_put_counts(j, "grid", t->parts, (size_t)t->shape.order);
    json_end(j);
}

static void put_run(struct json *j, const struct to_fit_run *run)
{
    static const char *const stops[] = {
        [CPALS_CONVERGED] = "converged", [CPALS_ITERATIONS] = "iteration_limit"};
    double reached[TO_FIT_LEVELS];
    for (int level = 0; level < TO_FIT_LEVELS; level++)
        reached[level] = run->reached[level] ? (double)run->reached[level] : (double)INFINITY;
    json_put_object(j, NULL);
    json_put_unsigned(j, "seed", run->seed);
    json_put_unsigned(j, "iterations", (uint64_t)run->iterations);
    json_put_number(j, "seconds", run->seconds);
    json_put_number(j, "fit", run->fit);
    json_put_number(j, "off_by", run->off_by);
    json_put_string(j, "stop", stops[run->stop]);
    json_put_numbers(j, "reached_iterations", reached, TO_FIT_LEVELS);
    json_put_numbers(j, "reached_seconds", run->reached_seconds, TO_FIT_LEVELS);
    json_end(j);
}

static void put_way(struct json *j, const struct to_fit_way *way, int starts)
{
    const struct to_fit_summary *s = &way->summary;
    json_put_object(j, NULL);
    json_put_string(j, "name", way->way->name);
    json_put_string(j, "precision", word_of(precision_words, (int)way->way->precision));
    json_put_string(j, "accelerate",
                    way->way->acceleration == ACCELERATE_MOMENTUM ? "momentum" : "off");
    json_put_number(j, "open_seconds", way->open_seconds);
    json_put_object(j, "built");
    run_record_built(j, &way->built);
    json_end(j);
    json_put_numbers(j, "median_iterations", s->iterations, TO_FIT_LEVELS);
    json_put_numbers(j, "median_seconds", s->seconds, TO_FIT_LEVELS);
    json_put_counts(j, "never", s->never, TO_FIT_LEVELS);
    json_put_counts(j, "worse", s->worse, TO_FIT_GAPS);
    json_put_counts(j, "better", s->better, TO_FIT_GAPS);
    json_put_array(j, "runs");
    for (int i = 0; i < starts; i++)
        put_run(j, &way->run[i]);
    json_end(j);
    json_end(j);
}

void to_fit_record(struct json *j, const char *tensor, const struct to_fit_request *request,
                   const struct to_fit *t)
{
    run_record_tensor(j, tensor, &t->shape, t->nnz, NULL, NULL);
    put_options(j, request, t->shape.order);
    json_put_object(j, "to_fit");
    json_put_numbers(j, "levels", to_fit_level, TO_FIT_LEVELS);
    json_put_numbers(j, "gaps", to_fit_gap, TO_FIT_GAPS);
    json_put_numbers(j, "best", t->best, (size_t)t->starts);
    json_put_array(j, "ways");
    for (int w = 0; w < t->ways; w++)
        put_way(j, &t->way[w], t->starts);
    json_end(j);
    json_end(j);
    put_ranks(j, t);
}
