#include "backend/cuda/device_sweep.h"

#include <string.h>

#include "backend/cuda/device_ranks.h"
#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"

static uint64_t row_bytes(const struct device_sweep *s)
{
    return (uint64_t)s->factors.vectors * VECTOR_BYTES;
}

static enum status open_mttkrps(struct device_sweep *s, struct error *error)
{
    const struct device_orderings *o = &s->orderings;
    const struct mode_groups *groups = &o->sweep.groups;
    if (s->is_empty || o->plan.streamed)
        return STATUS_OK;
    for (int g = 0; g < groups->groups; g++) {
        enum conflict conflict = o->sweep.conflict[g];
        const struct device_tensor *tensor =
            conflict_traits[conflict].ordered ? &o->ordered[g] : &o->alto;
        if (tensor->blco.nnz == 0)
            continue;
        TRY(device_mttkrp_open(&s->reduced[g], tensor, g, conflict, &o->pool, error));
        int first = groups->first[g], size = mode_groups_size(groups, g);
        for (int k = 0; k < size && size > 1; k++)
            TRY(device_mttkrp_open(&s->within[first + k], &o->tuple_tensor[first + k], k, conflict,
                                   &o->pool, error));
    }
    return STATUS_OK;
}

enum status device_sweep_open(struct device_sweep *s, const struct tensor_source *source,
                              const struct plan *plan, struct device_staging *staging,
                              struct progress *progress, struct error *error)
{
    memset(s, 0, sizeof *s);
    s->factors.vectors = (uint32_t)(plan->request.row_bytes / VECTOR_BYTES);
    TRY_OR(done, device_orderings_build(&s->orderings, source, plan, staging, progress, error));
    s->is_empty = s->orderings.nnz == 0;
    TRY_OR(done, open_mttkrps(s, error));
    struct device_factors *f = &s->factors;
    uint64_t longest = 0;
    plan = &s->orderings.plan;
    f->shape = s->orderings.shape;
    f->precision = plan->request.precision;
    f->copies = (uint32_t)plan->request.copies;
    for (int n = 0; n < f->shape.order; n++) {
        uint64_t copies = conflict_traits[plan->conflict[n]].copied ? f->copies : 1;
        uint64_t stripes = device_ranks_rows(source->ranks, n), copied = copies * f->shape.dims[n];
        uint64_t rows = stripes > copied ? stripes : copied;
        longest = rows > longest ? rows : longest;
        TRY_OR(done, device_array_into(&f->factor[n], stripes, row_bytes(s), error));
    }
    TRY_OR(done, device_array_into(&f->m, longest, row_bytes(s), error));
    for (int n = 0; n < MAX_ORDER; n++) {
        const struct device_mttkrp *parts[] = {&s->reduced[n], &s->within[n]};
        for (int i = 0; i < 2; i++) {
            uint64_t rows = parts[i]->tensor ? device_mttkrp_table_rows(parts[i]) : 0;
            f->table_rows = rows > f->table_rows ? rows : f->table_rows;
        }
    }
    device_array_into(&f->table, f->table_rows, row_bytes(s), error);
done:
    if (error->status != STATUS_OK)
        device_sweep_close(s);
    return error->status;
}

void device_sweep_close(struct device_sweep *s)
{
    for (int n = 0; n < MAX_ORDER; n++) {
        device_mttkrp_close(&s->reduced[n]);
        device_mttkrp_close(&s->within[n]);
        device_free(s->factors.factor[n]);
    }
    device_free(s->factors.m, s->factors.table);
    device_orderings_free(&s->orderings);
    memset(s, 0, sizeof *s);
}

void device_sweep_kernel(const struct device_sweep *s, int mode,
                         struct backend_mttkrp_kernel *kernel)
{
    const struct device_orderings *o = &s->orderings;
    char *name = kernel->name;
    *kernel = (struct backend_mttkrp_kernel){.chosen = true};
    if (s->is_empty)
        return;
    if (o->plan.streamed) {
        device_stream_describe(&o->stream, mode, name, sizeof kernel->name);
        device_replicas_describe(&o->replicas, mode, name, sizeof kernel->name);
        kernel->chosen = device_replicas_decided(&o->replicas);
        kernel->bus_bytes = device_stream_bytes(&o->stream, mode);
        return;
    }
    const int group = mode_groups_of(&o->sweep.groups, mode);
    const struct device_mttkrp *reduced = &s->reduced[group], *within = &s->within[mode];
    if (!reduced->tensor) /* the ordering has no nonzeros */
        return;
    device_mttkrp_describe(reduced, reduced->best, name, sizeof kernel->name);
    kernel->chosen = device_mttkrp_tried(reduced);
    if (mode_groups_size(&o->sweep.groups, group) > 1) {
        strncat(name, " + ", sizeof kernel->name - strlen(name) - 1);
        const size_t used = strlen(name);
        device_mttkrp_describe(within, within->best, name + used, sizeof kernel->name - used);
        kernel->chosen = kernel->chosen && device_mttkrp_tried(within);
    }
}

void device_sweep_changed(struct device_sweep *s, int mode)
{
    sweep_changed(&s->orderings.sweep, mode);
}

void device_sweep_set_precision(struct device_sweep *s, enum precision precision, uint32_t vectors)
{
    s->factors.precision = precision;
    s->factors.vectors = vectors;
    s->orderings.stream.precision = precision;
    sweep_restart(&s->orderings.sweep);
    for (int n = 0; n < MAX_ORDER; n++) {
        device_mttkrp_retry(&s->reduced[n]);
        device_mttkrp_retry(&s->within[n]);
    }
}

/* The products of a group's factors, a row per tuple. */
static enum status make_products(struct device_sweep *s, int group, cudaStream_t stream,
                                 struct error *error)
{
    const struct device_orderings *o = &s->orderings;
    int first = o->sweep.groups.first[group], size = mode_groups_size(&o->sweep.groups, group);
    struct mttkrp_tuples tuples = {.modes = size, .count = o->tuples[group]};
    for (int k = 0; k < size; k++) {
        tuples.coordinate[k] = o->coordinate[first + k];
        tuples.rows[k] = s->factors.factor[first + k];
    }
    return cuda_status(mttkrp_tuple_products(o->product[group], &tuples, s->factors.vectors,
                                             s->factors.precision, stream),
                       "products of factors", error);
}

/* MTTKRP of the reduced tensor: M where the group is one mode, otherwise its partial products. */
static enum status run_reduced(struct device_sweep *s, int group, cudaStream_t stream,
                               struct error *error)
{
    const struct device_orderings *o = &s->orderings;
    const struct mode_groups *groups = &o->sweep.groups;
    struct device_factors f = s->factors;
    f.shape = shape_of(groups->groups, o->tuples);
    for (int g = 0; g < groups->groups; g++)
        f.factor[g] = o->product[g] ? o->product[g] : s->factors.factor[groups->first[g]];
    if (o->partial[group])
        f.m = o->partial[group];
    return device_mttkrp_run(&s->reduced[group], &f, stream, error);
}

/* MTTKRP of the group's tuples, with the partial products as one more factor. */
static enum status run_within(struct device_sweep *s, int group, int mode, cudaStream_t stream,
                              struct error *error)
{
    const struct device_orderings *o = &s->orderings;
    int first = o->sweep.groups.first[group], size = mode_groups_size(&o->sweep.groups, group);
    struct device_factors f = s->factors;
    f.shape.order = size + 1;
    for (int k = 0; k < size; k++) {
        f.shape.dims[k] = o->shape.dims[first + k];
        f.factor[k] = s->factors.factor[first + k];
    }
    f.shape.dims[size] = o->tuples[group];
    f.factor[size] = o->partial[group];
    return device_mttkrp_run(&s->within[mode], &f, stream, error);
}

enum status device_sweep_mttkrp(struct device_sweep *s, int mode, cudaStream_t stream,
                                struct error *error)
{
    struct device_orderings *o = &s->orderings;
    if (s->is_empty ||
        (!o->plan.streamed && !s->reduced[mode_groups_of(&o->sweep.groups, mode)].tensor))
        return cuda_status(
            cudaMemsetAsync(s->factors.m, 0, s->factors.shape.dims[mode] * row_bytes(s), stream),
            "MTTKRP", error);
    if (o->plan.streamed) { /* from alto, until it pays to build orderings of the modes */
        bool due;
        TRY(device_replicas_due(&o->replicas, &o->stream, mode, &due, error));
        if (due)
            TRY(device_replicas_build(&o->replicas, &o->stream, error));
        if (due)
            memcpy(o->seconds.replica, o->replicas.seconds, sizeof o->seconds.replica);
        return device_stream_mttkrp(&o->stream, mode, &s->factors, stream, error);
    }
    struct sweep_steps steps = sweep_steps(&o->sweep, mode);
    for (int i = 0; i < steps.count && error->status == STATUS_OK; i++) {
        const int group = steps.step[i].group;
        switch (steps.step[i].action) {
        case SWEEP_PRODUCTS:
            make_products(s, group, stream, error);
            break;
        case SWEEP_REDUCED:
            run_reduced(s, group, stream, error);
            break;
        case SWEEP_TUPLES:
            run_within(s, group, mode, stream, error);
            break;
        }
    }
    if (error->status != STATUS_OK)
        sweep_restart(&o->sweep);
    return error->status;
}
