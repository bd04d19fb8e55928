#include "als/cpals_ranks.h"

#include <string.h>

#include "als/model_share.h"
#include "als/model_spread.h"
#include "ranks/model_arrange.h"

/* Copies lambda and the rows that are here from the whole model. */
static void copy_start(struct ktensor *part, const struct ktensor *whole)
{
    memcpy(part->lambda, whole->lambda, part->rank * sizeof *part->lambda);
    size_t bytes = part->rank * sizeof *part->lambda;
    for (int n = 0; n < part->shape.order; n++)
        for (uint64_t i = 0; i < part->shape.dims[n]; i++) {
            uint64_t row = ktensor_row(part, n, i);
            if (row == NO_ROW)
                memset(part->factor[n] + i * part->rank, 0, bytes);
            else
                memcpy(part->factor[n] + i * part->rank, whole->factor[n] + row * part->rank,
                       bytes);
        }
}

static enum status make_start(struct ktensor *k, const struct part *part,
                              const struct cpals_setting *s, struct error *error)
{
    if (ktensor_create_part(k, part, s->options.rank, error) != STATUS_OK)
        return error->status;
    if (s->start)
        copy_start(k, s->start);
    else
        ktensor_randomise(k, s->init, s->seed);
    return STATUS_OK;
}

/* The parts differ, so that some may fit into memory and others not: before the ranks begin to
 * build, the failure of one becomes that of all. */
static enum status check_plan(struct comm *c, const struct rank_tensor *t,
                              const struct cpals_setting *s, struct error *error)
{
    const struct plan_tensor tensor = {.shape = t->x.shape, .nnz = t->x.nnz};
    backend_check_plan(s->kind, &tensor, &s->options, error);
    return comm_settle(c, error);
}

/* Opens the backend; afterwards the backend has its own copy of the nonzeros. */
static enum status open_part(struct backend *b, struct rank_tensor *t,
                             const struct backend_ranks *ranks, const struct cpals_setting *s,
                             struct error *error)
{
    progress_stage(s->progress, "building");
    backend_open_part(b, s->kind, &t->x, ranks, &s->options, s->progress, error);
    coo_free(&t->x);
    if (error->status != STATUS_OK)
        return error->status;
    int orderings = plan_orderings(&b->plan);
    progress_done(s->progress, "%d ordering%s on each rank", orderings, orderings == 1 ? "" : "s");
    return STATUS_OK;
}

static void tell(struct rank_report *report, const struct backend *b, uint64_t nnz,
                 double communication)
{
    *report = (struct rank_report){.nnz = nnz, .communication = communication};
    memcpy(report->operation, b->seconds, sizeof report->operation);
}

/* Before the backend closes, whoever may wait for this rank learns of its failure. */
static enum status decompose(struct rank_tensor *t, const struct backend_ranks *ranks,
                             const struct cpals_setting *s, struct ktensor *part,
                             struct cpals_result *result, struct rank_report *report,
                             struct error *error)
{
    struct backend b = {0};
    uint64_t nnz = t->x.nnz;
    if (open_part(&b, t, ranks, s, error) == STATUS_OK) {
        double before = backend_ranks_seconds(ranks);
        if (s->opened)
            s->opened();
        if (cpals_iterate(&b, part, &s->als, s->progress, result, error) == STATUS_OK) {
            tell(report, &b, nnz, backend_ranks_seconds(ranks) - before);
            backend_store(&b, part, error);
        }
    }
    if (error->status != STATUS_OK)
        comm_abort(ranks->all, error);
    backend_close(&b);
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
    const struct ktensor_rows all = ktensor_rows_all(model);
    return spread                  ? model_arrange_together(model, &all, ranks->all, error)
           : ranks->all->rank == 0 ? ktensor_arrange(model, error)
                                   : STATUS_OK;
}

/* A failure ends the other ranks: they may be anywhere. */
static enum status run_part(struct rank_tensor *t, const struct backend_ranks *ranks,
                            const struct cpals_setting *s, struct ktensor *part,
                            struct ktensor *model, struct cpals_result *result,
                            struct rank_report *report, struct error *error)
{
    if (make_start(part, &ranks->part, s, error) == STATUS_OK &&
        decompose(t, ranks, s, part, result, report, error) == STATUS_OK &&
        collect(model, part, ranks, s->spread, error) == STATUS_OK)
        cpals_tell(result, s->progress);
    if (error->status != STATUS_OK)
        comm_abort(ranks->all, error);
    return error->status;
}

enum status cpals_run_rank(struct comm *c, struct rank_tensor *t,
                           const struct cpals_setting *setting, struct ktensor *model,
                           struct cpals_result *result, struct rank_report *report,
                           struct error *error)
{
    struct backend_ranks ranks;
    struct ktensor part = {0};
    if (backend_ranks_open(&ranks, c, &t->grid, &t->x, error) != STATUS_OK)
        return error->status;
    if (check_plan(c, t, setting, error) == STATUS_OK)
        run_part(t, &ranks, setting, &part, model, result, report, error);
    ktensor_free(&part);
    backend_ranks_close(&ranks);
    return error->status;
}
