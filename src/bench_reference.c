#include "bench_reference.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "memory.h"

#define HOST_PRODUCTS (UINT64_C(1) << 29) /* nonzeros times rank that the host still does soon */

static enum status allocate(struct bench_reference *f, struct error *error)
{
    uint64_t longest = 0;
    for (int n = 0; n < f->order; n++) {
        longest = f->dims[n] > longest ? f->dims[n] : longest;
        f->m[n] = memory_array(f->dims[n], f->rank * sizeof(double), error);
        if (!f->m[n])
            return error->status;
    }
    f->other = memory_array(longest, f->rank * sizeof(double), error);
    return error->status;
}

/* Whether the backend that is measured has room to compute it, in double. */
static enum status has_room(const struct bench_request *request,
                            const struct backend_options *options, bool *room, struct error *error)
{
    const struct coo *x = request->x;
    struct plan plan = {0};
    enum status status = request->ops->plan(x->order, x->dims, x->nnz, options, &plan, error);
    *room = plan.fits;
    return status;
}

/* Where the reference comes from: *ops and *options. */
static enum status choose(const struct bench_request *request, const struct backend_ops **ops,
                          struct backend_options *options, struct error *error)
{
    bool atomic_only = request->options.conflict == CONFLICT_ATOMIC, room;
    *ops = request->ops;
    *options = request->options;
    options->precision = PRECISION_DOUBLE;
    options->no_sharing = true;
    options->conflict = atomic_only ? CONFLICT_REGISTER : CONFLICT_ATOMIC;
    if (strcmp(request->ops->name, backend_host.name) == 0)
        return STATUS_OK;
    if (has_room(request, options, &room, error) != STATUS_OK)
        return error->status;
    if (!room || request->x->nnz <= HOST_PRODUCTS / options->rank) {
        *ops = &backend_host;
        options->conflict = CONFLICT_AUTO;
    }
    return STATUS_OK;
}

enum status bench_reference_create(struct bench_reference *f, const struct bench_request *request,
                                   const struct ktensor *start, struct progress *progress,
                                   struct error *error)
{
    const struct coo *x = request->x;
    const struct backend_ops *ops;
    struct backend_options options;
    *f = (struct bench_reference){.order = x->order, .rank = request->options.rank};
    memcpy(f->dims, x->dims, sizeof f->dims);
    if (choose(request, &ops, &options, error) != STATUS_OK)
        return error->status;
    if (options.conflict == CONFLICT_AUTO)
        snprintf(f->name, sizeof f->name, "the host");
    else
        snprintf(f->name, sizeof f->name, "%s on %s", conflict_name(options.conflict), ops->name);
    progress_update(progress, -1, "reference: %s", f->name);

    struct backend b = {0};
    enum status status = allocate(f, error);
    if (status == STATUS_OK)
        status = backend_open(&b, ops, x, &options, progress, error);
    if (status == STATUS_OK)
        status = backend_load(&b, start, error);
    for (int n = 0; n < f->order && status == STATUS_OK; n++) {
        status = backend_mttkrp(&b, n, error);
        if (status == STATUS_OK)
            status = ops->fetch(b.state, n, f->m[n], error);
    }
    backend_close(&b);
    return status;
}

enum status bench_reference_compare(const struct bench_reference *f, struct backend *b, int mode,
                                    double *difference, struct error *error)
{
    const double *expected = f->m[mode], *got = f->other;
    uint64_t count = f->dims[mode] * f->rank;
    double difference_sq = 0, norm_sq = 0;
    if (b->ops->fetch(b->state, mode, f->other, error) != STATUS_OK)
        return error->status;
#pragma omp parallel for schedule(static) reduction(+ : difference_sq, norm_sq)
    for (uint64_t i = 0; i < count; i++) {
        double d = got[i] - expected[i];
        difference_sq += d * d;
        norm_sq += expected[i] * expected[i];
    }
    *difference = difference_sq == 0 ? 0 : sqrt(difference_sq / norm_sq);
    return STATUS_OK;
}

void bench_reference_free(struct bench_reference *f)
{
    for (int n = 0; n < f->order; n++)
        memory_free(f->m[n]);
    memory_free(f->other);
    memset(f, 0, sizeof *f);
}
