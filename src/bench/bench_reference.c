#include "bench/bench_reference.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

#define HOST_PRODUCTS (UINT64_C(1) << 29) /* nonzeros x rank, at most, for the host to be quick */

/* How the reference is computed: by a backend of this kind, or, if that is NULL, by some rows. */
struct maker {
    const struct backend_kind *kind;
    struct backend_options options;
};

static enum status choose(struct maker *s, const struct bench_request *request, struct error *error)
{
    const struct tensor_input *input = &request->tensor->input;
    const struct backend_kind *kind = request->kind;
    const struct plan_tensor tensor = input_for_plan(input);
    bool atomic_only = request->options.conflict == CONFLICT_ATOMIC;
    struct plan plan = {0};
    *s = (struct maker){.kind = kind, .options = request->options};
    s->options.problem.precision = POLICY_DOUBLE;
    s->options.no_sharing = true;
    s->options.conflict = atomic_only ? CONFLICT_REGISTER : CONFLICT_ATOMIC;
    if (strcmp(kind->name, backend_host.name) == 0)
        return STATUS_OK;
    TRY(backend_plan(&plan, kind, &tensor, &s->options, error));
    bool soon = tensor.nnz <= HOST_PRODUCTS / s->options.problem.rank;
    if (input->unread || (plan.streamed && !soon)) {
        s->kind = NULL;
    } else if (!plan.fits || soon) {
        s->kind = &backend_host;
        s->options.conflict = CONFLICT_AUTO;
    }
    return STATUS_OK;
}

static void name_it(struct bench_reference *f, const struct maker *s)
{
    if (!s->kind)
        snprintf(f->name, sizeof f->name, "sampled rows on the host");
    else if (s->options.conflict == CONFLICT_AUTO)
        snprintf(f->name, sizeof f->name, "the host");
    else
        snprintf(f->name, sizeof f->name, "%s on %s", conflict_name(s->options.conflict),
                 s->kind->name);
}

static enum status compute(struct bench_reference *f, const struct maker *s, const struct coo *x,
                           const struct ktensor *start, struct progress *progress,
                           struct error *error)
{
    struct backend b = {0};
    for (int n = 0; n < f->shape.order; n++) {
        f->m[n] = memory_array(f->shape.dims[n], f->rank * sizeof(double), error);
        if (!f->m[n])
            return error->status;
    }
    TRY_OR(done, backend_open(&b, s->kind, x, &s->options, progress, error));
    TRY_OR(done, backend_load(&b, start, error));
    for (int n = 0; n < f->shape.order; n++) {
        TRY_OR(done, backend_mttkrp(&b, n, error));
        TRY_OR(done, backend_fetch(&b, n, f->m[n], error));
    }
done:
    backend_close(&b);
    return error->status;
}

enum status bench_reference_create(struct bench_reference *f, const struct bench_request *request,
                                   const struct ktensor *start, struct progress *progress,
                                   struct error *error)
{
    struct maker maker;
    const struct rank_tensor *t = request->tensor;
    *f = (struct bench_reference){.shape = part_shape(&t->rows.part),
                                  .rank = request->options.problem.rank};
    TRY(choose(&maker, request, error));
    f->other = memory_array(shape_longest(&f->shape), f->rank * sizeof *f->other, error);
    if (!f->other)
        return error->status;
    name_it(f, &maker);
    progress_update(progress, -1, "reference: %s", f->name);
    if (!maker.kind)
        return bench_reference_rows_create(&f->sample, t, start, error);
    return compute(f, &maker, &t->input.x, start, progress, error);
}

/* Adds the squared differences of two arrays, and the squares of the expected one, to the sums. */
static void compare_rows(const double *got, const double *expected, uint64_t entries,
                         double *difference_sq, double *norm_sq)
{
    double d_sq = 0, e_sq = 0;
#pragma omp parallel for schedule(static) reduction(+ : d_sq, e_sq)
    for (uint64_t i = 0; i < entries; i++) {
        double d = got[i] - expected[i];
        d_sq += d * d;
        e_sq += expected[i] * expected[i];
    }
    *difference_sq += d_sq;
    *norm_sq += e_sq;
}

enum status bench_reference_compare(const struct bench_reference *f, struct backend *b, int mode,
                                    double *difference, struct error *error)
{
    const struct bench_reference_rows *s = &f->sample;
    double difference_sq = 0, norm_sq = 0;
    TRY(backend_fetch(b, mode, f->other, error));
    if (f->m[mode])
        compare_rows(f->other, f->m[mode], f->shape.dims[mode] * f->rank, &difference_sq, &norm_sq);
    for (uint64_t i = 0; i < s->rows[mode]; i++)
        compare_rows(f->other + s->row[mode][i] * f->rank, s->m[mode] + i * f->rank, f->rank,
                     &difference_sq, &norm_sq);
    *difference = difference_sq == 0 ? 0 : sqrt(difference_sq / norm_sq);
    return STATUS_OK;
}

double bench_tolerance(enum precision precision, enum conflict conflict, uint64_t nnz)
{
    if (precision == PRECISION_DOUBLE)
        return 1e-12;
    /* `atomic` rounds once for each nonzero of a row, and all nonzeros may be in one row. Errors
     * that are as often up as down grow with the root of their number. */
    double rounding = conflict == CONFLICT_ATOMIC ? 0x1p-24 * sqrt((double)nnz) : 0;
    return rounding > 1e-5 ? rounding : 1e-5;
}

void bench_reference_free(struct bench_reference *f)
{
    for (int n = 0; n < f->shape.order; n++)
        memory_free(f->m[n]);
    memory_free(f->other);
    bench_reference_rows_free(&f->sample);
    memset(f, 0, sizeof *f);
}
