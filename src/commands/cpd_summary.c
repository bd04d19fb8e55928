#include "commands/cpd_summary.h"

#include "base/clock.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/number.h"

void cpd_warn_shape(struct progress *progress, const struct shape *shape, uint64_t rank)
{
    if (shape->order == 1)
        progress_note(progress, "warning: a tensor of one mode is a vector: one component gives "
                                "fit 1 and any further ones say nothing");
    for (int n = 0; shape->order > 1 && n < shape->order; n++)
        if (shape->dims[n] < rank)
            progress_note(progress,
                          "warning: rank %ju is larger than mode %d (length %ju): its columns "
                          "cannot be independent",
                          (uintmax_t)rank, n + 1, (uintmax_t)shape->dims[n]);
}

static double sum_over_modes(const struct cpd_times *times, enum operation op, int order)
{
    double sum = 0;
    for (int n = 0; n < order; n++)
        sum += times->operation[op][n];
    return sum;
}

#define SHORT_STAGE 0.01 /* of the total: a stage that is shown only where all are */

/* How the table of stages is shown. */
struct table {
    struct progress *progress;
    double total; /* seconds */
    bool all;     /* also short stages, and the time of each mode */
};

static void show_stage(const struct table *t, const char *name, double seconds)
{
    if (t->all || seconds >= SHORT_STAGE * t->total)
        progress_note(t->progress, "  %-12s %10.3f s %5.1f %%", name, seconds,
                      100 * seconds / t->total);
}

/* An operation of the backend; returns its seconds. */
static double show_operation(const struct table *t, const struct cpd_times *times,
                             enum operation op, int order)
{
    const double seconds = sum_over_modes(times, op, order);
    if (op == OP_RESIDUAL && seconds == 0)
        return 0;
    show_stage(t, op == OP_OPEN ? "build" : operation_name(op), seconds);
    for (int n = 0; t->all && operation_has_modes(op) && n < order; n++)
        progress_note(t->progress, "    mode %-5d %10.3f s", n + 1, times->operation[op][n]);
    return seconds;
}

static void show_times(struct progress *progress, const struct cpd_times *times, int order,
                       bool all)
{
    const struct table t = {progress, clock_now() - times->start, all};
    double other = t.total - times->read - times->exchange - times->clean - times->write;
    show_stage(&t, "read", times->read);
    if (times->exchange > 0)
        show_stage(&t, "exchange", times->exchange);
    show_stage(&t, "clean", times->clean);
    for (int op = 0; op < OP_COUNT; op++)
        other -= show_operation(&t, times, (enum operation)op, order);
    show_stage(&t, "write", times->write);
    show_stage(&t, "other", other);
    show_stage(&t, "total", t.total);
}

void cpd_summarise(struct progress *progress, const struct cpals_result *result,
                   const struct cpd_times *times, int order, bool all_times,
                   const struct ktensor_files *files)
{
    static const char *const why[] = {
        [CPALS_CONVERGED] = "converged",
        [CPALS_ITERATIONS] = "stopped at the limit of iterations",
        [CPALS_INTERRUPTED] = "interrupted",
        [CPALS_TIME_LIMIT] = "stopped at the time limit",
    };
    char size[NUMBER_SIZE_TEXT];
    progress_note(progress, "fit %.9f after %d iteration%s, %s (last change %.1e)", result->fit,
                  result->iterations, result->iterations == 1 ? "" : "s", why[result->stop],
                  result->change);
    show_times(progress, times, order, all_times);
    if (times->communication > 0)
        progress_note(progress, "moving rows and sums among ranks took %.1f %% of the iterations",
                      100 * times->communication / result->seconds);
    progress_note(progress, "peak memory %s", number_size(machine_memory_peak(), size));
    for (int i = 0; i < files->count; i++)
        progress_note(progress, "wrote %s", files->path[i]);
}
