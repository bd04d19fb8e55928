#include "selftest/selftest_checks.h"

#include <omp.h>

#include "als/decompose.h"

bool place_compares(const struct selftest_place *p)
{
    return !p->comm || p->comm->rank == 0;
}

static struct backend_options options_of(const struct selftest_place *p,
                                         const struct problem *problem)
{
    return (struct backend_options){
        .problem = *problem, .device = p->device, .host_memory = p->host_memory};
}

bool place_refuses(const struct selftest_place *p, const struct coo *x,
                   const struct problem *problem, struct error *why)
{
    const struct backend_options options = options_of(p, problem);
    const struct plan_tensor tensor = {
        .shape = x->shape, .nnz = x->nnz, .is_part = p->comm->size > 1};
    struct plan plan;
    *why = (struct error){0};
    return backend_plan(&plan, p->kind, &tensor, &options, why) == STATUS_INPUT;
}

enum status place_decompose(const struct selftest_place *p, const struct coo *x,
                            const struct place_run *run, struct place_outcome *o,
                            struct error *error)
{
    struct backend b;
    struct rank_report report;
    int unused = 0;
    struct rank_tensor t = {0};
    struct runs s = {0};
    const struct backend_options options = options_of(p, run->problem);
    const struct decomposition d = {.als = run->als};
    const struct run_list one = {.starts = 1, .guess = {.kind = GUESS_MODEL, .model = run->start}};
    const struct rank_request request = {
        .row_bytes = run->problem->rank * sizeof(double),
        .machine = {.device = p->kind->device != NULL,
                    .one_host = p->comm->local_size == p->comm->size,
                    .threads = omp_get_max_threads()}};
    runs_create(&s, &one, p->shared, error);
    TRY_OR(done, comm_end_phase(p->comm, error));
    TRY_OR(done, rank_tensor_share(&t, p->comm, x, &request, error));
    t.rows.devices = p->devices;
    TRY_OR(done, backend_prepare(&b, p->kind, &t, &options, NULL, error));
    TRY_OR(done, decompose(&b, &t, &d, &s, &report, error));
    o->result = s.run[0].result;
    /* The rank that compares takes the model, which ranks that share memory have in common. All
     * ranks wait until it is complete, and then until it is taken. */
    TRY_OR(done, comm_allreduce_max(p->comm, &unused, error));
    if (place_compares(p)) {
        o->model = s.model[0];
        s.model[0] = (struct ktensor){0};
    }
    comm_allreduce_max(p->comm, &unused, error);
done:
    runs_free(&s);
    rank_tensor_close(&t);
    return error->status;
}
