#include "als/cpals_ranks.h"

#include <string.h>

#include "ranks/model_collect.h"
#include "ranks/model_redistribute.h"
#include "als/nvecs.h"

/* Afterwards the backend has its own copy of the nonzeros. */
static enum status open_part(struct backend *b, struct rank_tensor *t, struct rank_rows *ranks,
                             const struct cpals_setting *s, struct error *error)
{
    progress_stage(s->progress, "building");
    backend_open_part(b, t, ranks, &s->options, s->progress, error);
    rank_tensor_free_nonzeros(t);
    if (error->status != STATUS_OK)
        return error->status;
    int orderings = plan_orderings(&b->plan);
    progress_done(s->progress, "%d ordering%s on each rank", orderings, orderings == 1 ? "" : "s");
    return STATUS_OK;
}

static void tell(struct rank_report *report, struct backend *b, double communication)
{
    struct backend_built built;
    backend_built(b, &built);
    *report = (struct rank_report){.nnz = built.nnz, .communication = communication};
    memcpy(report->operation, backend_times(b)->seconds, sizeof report->operation);
}

/* The rows that the ranks have solved, and which are arranged, become the model. */
static enum status collect(struct ktensor *model, struct ktensor *part,
                           const struct rank_rows *ranks, bool spread, struct error *error)
{
    if (ranks->all->shares_memory && !spread)
        return model_collect(model, part, ranks, error);
    return model_redistribute(model, part, ranks, spread, error);
}

/* What goes along with the starts on one rank. */
struct work {
    struct backend b;
    struct rank_rows ranks;
    const struct cpals_setting *setting;
    struct starts starts; /* this rank's own account of them; the models are elsewhere */
    struct ktensor part;  /* this rank's rows of the present model                     */
    double communication; /* struct rank_report                                        */
};

/* Room for the model, and the start in it, unless als->random begins with *start. */
static enum status make_start(struct work *w, struct ktensor_start *start,
                              struct cpals_options *als, struct error *error)
{
    const struct cpals_setting *s = w->setting;
    *start = s->start;
    start->seed = w->starts.start[w->starts.made].seed;
    als->random = NULL;
    if (ktensor_create_part(&w->part, &w->ranks.part, s->options.problem.rank, error) != STATUS_OK)
        return error->status;
    if (s->nvecs && w->starts.made == 0)
        return nvecs_start(&w->part, &w->b, start->seed, s->progress, error);
    if (start->from)
        ktensor_begin(&w->part, &w->ranks.part.whole, start, s->options.problem.rules.nonneg);
    else
        als->random = start;
    return STATUS_OK;
}

/* The trace is rank 0's, whether the ranks' options share it or not. */
static struct fit_trace *trace_of(const struct work *w)
{
    return w->ranks.all->rank == 0 ? w->setting->als.trace : NULL;
}

/* The next start, to this rank's rows of its model. A numerical breakdown is that of all ranks at
 * the same step: they find it in sums of all ranks, which have the same bits. */
static enum status iterate(struct work *w, struct error *error)
{
    const struct cpals_setting *s = w->setting;
    struct cpals_options als = starts_options(&w->starts, &s->als);
    struct cpals_result result = {0};
    struct ktensor_start start;
    als.trace = trace_of(w);
    if (make_start(w, &start, &als, error) == STATUS_OK) {
        double before = rank_rows_seconds(&w->ranks);
        cpals_iterate(&w->b, &w->part, &als, s->progress, &result, error);
        w->communication += rank_rows_seconds(&w->ranks) - before;
    }
    if (error->status == STATUS_OK &&
        cpals_store(&w->b, &w->part, &als, s->progress, &result, error) == STATUS_OK)
        starts_note(&w->starts, &result, als.trace);
    else
        starts_note_breakdown(&w->starts, &result, s->progress, error);
    return error->status;
}

/* The model of the start made last, unless there is none. */
static enum status collect_last(struct work *w, struct ktensor *model, struct error *error)
{
    int last = w->starts.made - 1;
    if (last < 0 || w->starts.start[last].result.stop == CPALS_BREAKDOWN)
        return STATUS_OK;
    return collect(&model[last], &w->part, &w->ranks, w->setting->spread, error);
}

/* All starts; the last one's model stays in w->part, until the backend has made room. */
static enum status iterate_all(struct work *w, struct ktensor *model, struct rank_report *report,
                               struct error *error)
{
    while (starts_go_on(&w->starts)) {
        if (collect_last(w, model, error) != STATUS_OK)
            return error->status;
        ktensor_free(&w->part);
        if (iterate(w, error) != STATUS_OK)
            return error->status;
    }
    starts_give_trace(&w->starts, trace_of(w));
    tell(report, &w->b, w->communication);
    return STATUS_OK;
}

/* Before the backend closes, whoever may wait for this rank learns of its failure. */
static enum status decompose(struct work *w, struct rank_tensor *t, struct ktensor *model,
                             struct rank_report *report, struct error *error)
{
    const struct cpals_setting *s = w->setting;
    bool opened = open_part(&w->b, t, &w->ranks, s, error) == STATUS_OK;
    if (opened && s->opened)
        s->opened();
    if (opened &&
        starts_create(&w->starts, s->starts > 0 ? s->starts : 1, s->start.seed, error) == STATUS_OK)
        iterate_all(w, model, report, error);
    if (error->status != STATUS_OK)
        comm_abort(w->ranks.all, error);
    backend_close(&w->b);
    return error->status;
}

enum status cpals_run_rank(struct comm *c, struct rank_tensor *t,
                           const struct cpals_setting *setting, struct ktensor *model,
                           struct cpals_result *result, struct rank_report *report,
                           struct error *error)
{
    struct work w = {.setting = setting};
    if (rank_rows_open(&w.ranks, c, &t->grid, error) != STATUS_OK)
        return error->status;
    w.ranks.devices = setting->devices;
    if (backend_prepare_part(&w.b, setting->kind, t, &w.ranks, &setting->options, setting->progress,
                             error) == STATUS_OK) {
        if (decompose(&w, t, model, report, error) == STATUS_OK)
            collect_last(&w, model, error);
        for (int i = 0; error->status == STATUS_OK && i < w.starts.asked; i++)
            result[i] = w.starts.start[i].result;
        if (error->status != STATUS_OK) /* the other ranks may be anywhere */
            comm_abort(c, error);
        else if (starts_check(&w.starts, error) != STATUS_OK)
            comm_end_phase(c, error);
    }
    starts_free(&w.starts);
    ktensor_free(&w.part);
    rank_rows_close(&w.ranks);
    return error->status;
}
