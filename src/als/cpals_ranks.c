#include "als/cpals_ranks.h"

#include <string.h>

#include "als/model_share.h"
#include "als/model_spread.h"
#include "ranks/model_arrange.h"

static enum status make_start(struct ktensor *k, const struct part *part,
                              const struct cpals_setting *s, struct error *error)
{
    if (ktensor_create_part(k, part, s->options.rank, error) != STATUS_OK)
        return error->status;
    ktensor_begin(k, &part->whole, &s->start, s->options.rules.nonneg);
    return STATUS_OK;
}

/* Afterwards the backend has its own copy of the nonzeros. */
static enum status open_part(struct backend *b, struct rank_tensor *t, struct backend_ranks *ranks,
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
    memcpy(report->operation, b->seconds, sizeof report->operation);
}

/* From the nonzeros to this rank's rows of the model, *part. */
static enum status iterate(struct backend *b, const struct backend_ranks *ranks,
                           const struct cpals_setting *s, struct ktensor *part,
                           struct cpals_result *result, struct rank_report *report,
                           struct error *error)
{
    double before = backend_ranks_seconds(ranks);
    if (make_start(part, &ranks->part, s, error) == STATUS_OK &&
        cpals_iterate(b, part, &s->als, s->progress, result, error) == STATUS_OK) {
        tell(report, b, backend_ranks_seconds(ranks) - before);
        backend_store(b, part, error);
        memcpy(part->nonneg, b->rules.nonneg, sizeof part->nonneg);
        memcpy(part->fixed, b->rules.fixed, sizeof part->fixed);
    }
    return error->status;
}

/* Before the backend closes, whoever may wait for this rank learns of its failure. */
static enum status decompose(struct backend *b, struct rank_tensor *t, struct backend_ranks *ranks,
                             const struct cpals_setting *s, struct ktensor *part,
                             struct cpals_result *result, struct rank_report *report,
                             struct error *error)
{
    bool opened = open_part(b, t, ranks, s, error) == STATUS_OK;
    if (opened && s->opened)
        s->opened();
    if (opened)
        iterate(b, ranks, s, part, result, report, error);
    if (error->status != STATUS_OK)
        comm_abort(ranks->all, error);
    backend_close(b);
    return error->status;
}

/* The rows that the ranks have solved become the arranged model. */
static enum status collect(struct ktensor *model, struct ktensor *part,
                           const struct backend_ranks *ranks, bool spread, struct error *error)
{
    if (ranks->all->shares_memory && !spread)
        return model_share(model, part, ranks, error);
    if (model_spread(model, part, ranks, spread, error) != STATUS_OK)
        return error->status;
    memcpy(model->nonneg, part->nonneg, sizeof model->nonneg);
    memcpy(model->fixed, part->fixed, sizeof model->fixed);
    const struct ktensor_rows all = ktensor_rows_all(model);
    return spread                  ? model_arrange_together(model, &all, ranks->all, error)
           : ranks->all->rank == 0 ? ktensor_arrange(model, error)
                                   : STATUS_OK;
}

enum status cpals_run_rank(struct comm *c, struct rank_tensor *t,
                           const struct cpals_setting *setting, struct ktensor *model,
                           struct cpals_result *result, struct rank_report *report,
                           struct error *error)
{
    struct backend_ranks ranks;
    struct backend b = {0};
    struct ktensor part = {0};
    if (backend_ranks_open(&ranks, c, &t->grid, error) != STATUS_OK)
        return error->status;
    ranks.devices = setting->devices;
    if (backend_prepare_part(&b, setting->kind, t, &ranks, &setting->options, setting->progress,
                             error) == STATUS_OK) {
        if (decompose(&b, t, &ranks, setting, &part, result, report, error) == STATUS_OK &&
            collect(model, &part, &ranks, setting->spread, error) == STATUS_OK)
            cpals_tell(result, setting->progress);
        if (error->status != STATUS_OK) /* the other ranks may be anywhere */
            comm_abort(c, error);
    }
    ktensor_free(&part);
    backend_ranks_close(&ranks);
    return error->status;
}
