#include "selftest/selftest_place.h"

#include <omp.h>
#include <string.h>

#include "als/cpals_ranks.h"

bool place_compares(const struct selftest_place *p)
{
    return !p->comm || p->comm->rank == 0;
}

static enum status decompose_alone(const struct selftest_place *p, const struct coo *x,
                                   const struct ktensor *start,
                                   const struct backend_options *options,
                                   const struct cpals_options *als, struct ktensor *model,
                                   struct cpals_result *result, struct error *error)
{
    struct backend b = {0};
    if (ktensor_create(model, &start->shape, start->rank, error) != STATUS_OK)
        return error->status;
    memcpy(model->lambda, start->lambda, start->rank * sizeof *start->lambda);
    for (int n = 0; n < start->shape.order; n++)
        memcpy(model->factor[n], start->factor[n],
               start->shape.dims[n] * start->rank * sizeof *start->factor[n]);
    if (backend_open(&b, p->kind, x, options, NULL, NULL, error) == STATUS_OK)
        cpals_run(&b, model, als, NULL, result, error);
    backend_close(&b);
    return error->status;
}

/* The one model of ranks that share memory becomes that of the rank that compares, when all have
 * come this far; the others go on only when that rank joins them again. */
static enum status take_shared(const struct selftest_place *p, struct ktensor *model,
                               struct error *error)
{
    int unused = 0;
    if (!p->comm->shares_memory || comm_allreduce_max(p->comm, &unused, error) != STATUS_OK)
        return error->status;
    if (place_compares(p)) {
        *model = *p->shared;
        *p->shared = (struct ktensor){0};
    }
    return comm_allreduce_max(p->comm, &unused, error);
}

static enum status decompose_together(const struct selftest_place *p, const struct coo *x,
                                      const struct ktensor *start,
                                      const struct backend_options *options,
                                      const struct cpals_options *als, struct ktensor *model,
                                      struct cpals_result *result, struct error *error)
{
    struct rank_tensor tensor;
    struct rank_report report;
    struct ktensor *target = p->comm->shares_memory ? p->shared : model;
    const struct rank_request request = {
        .row_bytes = options->problem.rank * precision_bytes(options->problem.precision),
        .machine = {.device = p->kind->device != NULL,
                    .one_host = p->comm->local_size == p->comm->size,
                    .threads = omp_get_max_threads()}};
    const struct cpals_setting setting = {.kind = p->kind,
                                          .options = *options,
                                          .start = {.from = start},
                                          .als = *als,
                                          .devices = p->devices};
    if (rank_tensor_share(&tensor, p->comm, x, &request, error) == STATUS_OK &&
        cpals_run_rank(p->comm, &tensor, &setting, target, result, &report, error) == STATUS_OK)
        take_shared(p, model, error);
    rank_tensor_close(&tensor);
    return error->status;
}

enum status place_decompose(const struct selftest_place *p, const struct coo *x,
                            const struct ktensor *start, const struct backend_options *options,
                            const struct cpals_options *als, struct ktensor *model,
                            struct cpals_result *result, struct error *error)
{
    struct backend_options here = *options;
    here.device = p->device;
    here.host_memory = p->host_memory;
    return p->comm ? decompose_together(p, x, start, &here, als, model, result, error)
                   : decompose_alone(p, x, start, &here, als, model, result, error);
}
