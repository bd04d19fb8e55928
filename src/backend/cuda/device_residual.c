/* The residual on the device: thread blocks sum over nonzeros and rows, and the host adds their
 * sums; likewise what each component explains. And the terms of entries. */
#include "backend/cuda/device_state.h"

#include "backend/cuda/device_orderings.h"
#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "base/least.h"
#include "base/memory.h"

#define PART (UINT64_C(1) << 22) /* coordinates at a time */

static const char valuing[] = "the model's values";

/* weight (R, host) = lambda over the norms of all modes' columns: what the products of the factor
 * matrices' entries are multiplied by. Waits. */
static enum status fetch_weights(struct device_state *s, double *weight, struct error *error)
{
    double *norm = memory_array(s->rank, sizeof *norm, error);
    TRY(error->status);
    TRY_OR(done, device_state_weights(s, weight, error));
    for (int n = 0; n < s->order; n++) {
        TRY_OR(done, device_fetch(norm, s->model.norm[n], s->rank * sizeof *norm, s->stream,
                                  valuing, error));
        for (uint64_t r = 0; r < s->rank; r++)
            weight[r] /= norm[r] != 0 ? norm[r] : 1;
    }
done:
    memory_free(norm);
    return error->status;
}

/* The same into an array of the device. */
static enum status put_weights(struct device_state *s, double *to, struct error *error)
{
    double *weight = memory_array(s->rank, sizeof *weight, error);
    TRY(error->status);
    if (fetch_weights(s, weight, error) == STATUS_OK)
        device_send(to, weight, s->rank * sizeof *weight, s->stream, valuing, error);
    memory_free(weight);
    return error->status;
}

/* The model, with weight (R, device), and the nonzeros of t, an ordering in device memory; t NULL:
 * none, or those of a streamed tensor, of which each batch is set later. */
static struct residual_args model_args(const struct device_state *s, const double *weight,
                                       const struct device_tensor *t)
{
    const struct device_factors *f = &s->sweep.factors;
    const struct device_orderings *o = &s->sweep.orderings;
    struct residual_args args = {.order = s->order,
                                 .weight = weight,
                                 .rank = (uint32_t)s->rank,
                                 .unlisted = s->problem->count.weight,
                                 .rates = problem_has_rates(s->problem->asked)};
    if (t)
        device_tensor_args(t, 0, 0, &args.mttkrp);
    args.mttkrp.vectors = f->vectors;
    args.mttkrp.precision = f->precision;
    args.mttkrp.wide_values = f->wide_values && !o->plan.streamed;
    for (int n = 0; n < s->order; n++) /* t's modes are groups of the tensor's */
        args.mode[n] = (struct residual_mode){
            .field = t ? device_tensor_field(t, mode_groups_of(&o->sweep.groups, n))
                       : device_stream_field(&o->stream, n),
            .coordinate = o->coordinate[n],
            .rows = f->factor[n]};
    return args;
}

enum status device_state_values(void *state, const struct coo *at, double *value,
                                struct error *error)
{
    struct device_state *s = state;
    const uint64_t part = least_of(at->nnz, PART);
    uint32_t *index = NULL;                /* (order x part), device */
    double *values = NULL, *weight = NULL; /* (part), (R); device    */
    TRY_OR(done, device_state_wait(s, error));
    TRY_OR(done, device_array_into(&index, (uint64_t)s->order * part, sizeof *index, error));
    TRY_OR(done, device_array_into(&values, part, sizeof *values, error));
    TRY_OR(done, device_array_into(&weight, s->rank, sizeof *weight, error));
    TRY_OR(done, put_weights(s, weight, error));
    struct residual_args args = model_args(s, weight, NULL);
    for (uint64_t first = 0; first < at->nnz; first += part) {
        const uint64_t count = least_of(part, at->nnz - first);
        for (int n = 0; n < s->order; n++) {
            uint32_t *to = index + (uint64_t)n * count;
            args.mode[n].coordinate = to;
            TRY_OR(done, device_copy(to, at->index[n] + first, count * sizeof *to, s->stream,
                                     valuing, error));
        }
        TRY_OR(done, cuda_status(residual_values(&args, count, values, s->stream), valuing, error));
        TRY_OR(done, device_fetch(value + first, values, count * sizeof *value, s->stream, valuing,
                                  error));
    }
done:
    device_free(index, values, weight);
    return error->status;
}

static const char doing[] = "the residual";

/* gram += the Gram of the rows of mode n that this rank solves. */
static enum status add_gram(struct device_state *s, int n, struct double_double *gram,
                            struct error *error)
{
    const struct device_factors *f = &s->sweep.factors;
    const struct mode_rows *rows = &s->ranks.ranks->mode[n];
    uint64_t size = s->rank * s->rank;
    uint32_t slices = residual_gram_slices(rows->count, (uint32_t)s->rank);
    struct double_double *partial = NULL, *host = NULL;
    const void *own = device_state_row(s, f->factor[n], rows->first);
    host = memory_array(slices, size * sizeof *host, error);
    TRY_OR(done, error->status);
    TRY_OR(done, device_array_into(&partial, slices * size, sizeof *partial, error));
    cudaError_t code = residual_gram(own, rows->count, f->vectors, (uint32_t)s->rank, f->precision,
                                     slices, partial, s->stream);
    TRY_OR(done, cuda_status(code, doing, error));
    TRY_OR(done,
           device_fetch(host, partial, slices * size * sizeof *host, s->stream, doing, error));
    for (uint64_t i = 0; i < s->rank; i++)
        for (uint64_t j = i; j < s->rank; j++)
            for (uint64_t k = 0; k < slices; k++)
                gram[i * s->rank + j] =
                    dd_add(gram[i * s->rank + j], host[k * size + i * s->rank + j]);
done:
    device_free(partial);
    memory_free(host);
    return error->status;
}

/* sum (PLAN_WORKSPACES x RESIDUAL_BLOCKS) += the misfits of the nonzeros, or where there is
 * `components` (2 x R), that += their terms. On the device, as weight (R). */
static enum status queue_nonzeros(struct device_state *s, const double *weight,
                                  struct double_double *sum, double *components,
                                  struct error *error)
{
    struct device_orderings *o = &s->sweep.orderings;
    int g = 0;
    while (!o->plan.streamed && !o->sweep.alto && !o->sweep.ordered[g])
        g++;
    const struct device_tensor *in_memory = o->sweep.alto ? &o->alto : &o->ordered[g];
    struct residual_args args = model_args(s, weight, o->plan.streamed ? NULL : in_memory);
    args.components = components;
    if (o->plan.streamed)
        return device_stream_residual(&o->stream, &args, sum, s->stream, error);
    return cuda_status(components ? residual_components(&args, s->stream)
                                  : residual_nonzeros(&args, sum, s->stream),
                       doing, error);
}

/* r->nonzeros, from a sum of each thread block. */
static enum status sum_nonzeros(struct device_state *s, struct backend_residual *r,
                                struct error *error)
{
    const uint64_t sums = PLAN_WORKSPACES * RESIDUAL_BLOCKS;
    struct double_double *host = memory_array(sums, sizeof *host, error), *sum = NULL;
    double *weight = NULL;
    TRY_OR(done, error->status);
    TRY_OR(done, device_array_into(&sum, sums, sizeof *sum, error));
    TRY_OR(done, device_array_into(&weight, s->rank, sizeof *weight, error));
    TRY_OR(done, cuda_status(cudaMemsetAsync(sum, 0, sums * sizeof *sum, s->stream), doing, error));
    TRY_OR(done, device_copy(weight, r->weight, s->rank * sizeof *weight, s->stream, doing, error));
    TRY_OR(done, queue_nonzeros(s, weight, sum, NULL, error));
    TRY_OR(done, device_fetch(host, sum, sums * sizeof *host, s->stream, doing, error));
    for (uint64_t k = 0; k < sums; k++)
        r->nonzeros = dd_add(r->nonzeros, host[k]);
done:
    device_free(weight, sum);
    memory_free(host);
    return error->status;
}

/* An MTTKRP that was begun early is begun again later: otherwise its time would count as the
 * residual's, and the residual's as the MTTKRP's. */
enum status device_state_residual(void *state, struct backend_residual *r, struct error *error)
{
    struct device_state *s = state;
    TRY(device_state_wait(s, error));
    device_state_drop_m(s);
    r->norm_sq = s->sweep.orderings.norm_sq;
    r->unlisted = s->problem->count.weight;
    if (s->sweep.factors.precision == PRECISION_SINGLE)
        r->rounded.high = (double)s->sweep.orderings.nnz;
    TRY(fetch_weights(s, r->weight, error));
    for (int n = 0; n < s->order; n++)
        TRY(add_gram(s, n, r->gram[n], error));
    return s->sweep.is_empty ? STATUS_OK : sum_nonzeros(s, r, error);
}

static const char explaining[] = "what components explain";

enum status device_state_components(void *state, double *sum, struct error *error)
{
    struct device_state *s = state;
    const uint64_t bytes = s->rank * sizeof *sum;
    double *room = NULL; /* (3 x R), device: the weights, and the sums */
    TRY(device_state_wait(s, error));
    device_state_drop_m(s);
    if (s->sweep.is_empty)
        return STATUS_OK;
    TRY(device_array_into(&room, 3 * s->rank, sizeof *room, error));
    TRY_OR(done, put_weights(s, room, error));
    TRY_OR(done, device_send(room + s->rank, sum, 2 * bytes, s->stream, explaining, error));
    TRY_OR(done, queue_nonzeros(s, room, NULL, room + s->rank, error));
    device_fetch(sum, room + s->rank, 2 * bytes, s->stream, explaining, error);
done:
    device_free(room);
    return error->status;
}

static const char holding[] = "the terms of entries";

/* A copy of the factor matrices, which loads do not change, makes the terms of a streamed tensor.
 */
static enum status copy_model(struct device_state *s, struct error *error)
{
    struct device_terms *terms = &s->terms;
    struct device_stream *stream = &s->sweep.orderings.stream;
    const struct device_factors *f = &s->sweep.factors;
    stream->bytes -= terms->bytes;
    TRY(device_stream_rearrange(stream, error));
    for (int n = 0; n < s->order; n++) {
        const uint64_t row = (uint64_t)f->vectors * VECTOR_BYTES, rows = f->shape.dims[n];
        TRY(device_array_into(&terms->factor[n], rows, row, error));
        TRY(device_copy(terms->factor[n], f->factor[n], rows * row, s->stream, holding, error));
        terms->args.mode[n].rows = terms->factor[n];
    }
    stream->terms = &terms->args;
    return STATUS_OK;
}

/* The terms of an ordering in device memory, and the array that takes the place of its values. */
static enum status make_terms(struct device_state *s, struct device_tensor *t, struct error *error)
{
    struct device_terms *terms = &s->terms;
    const struct mttkrp_args *m = &terms->args.mttkrp;
    const uint64_t size = m->wide_values ? sizeof(double) : precision_bytes(m->precision);
    void *term;
    TRY(device_array_into(&term, t->blco.nnz, size, error));
    terms->value = t->blco.value;
    t->blco.value = term;
    return cuda_status(residual_terms(&terms->args, term, s->stream), holding, error);
}

/* Where rows have systems, each mode has an ordering of its own, without tiles. */
enum status device_state_hold(void *state, int mode, bool *held, struct error *error)
{
    struct device_state *s = state;
    struct device_orderings *o = &s->sweep.orderings;
    struct device_tensor *t = &o->ordered[mode];
    struct device_terms *terms = &s->terms;
    uint64_t bytes = o->plan.streamed ? 0 : t->blco.nnz * sizeof(double);
    for (int n = 0; o->plan.streamed && n < s->order; n++)
        bytes += s->sweep.factors.shape.dims[n] * s->sweep.factors.vectors * VECTOR_BYTES;
    *held =
        o->plan.streamed ? device_stream_room(&o->stream) >= bytes : plan_has_room(&o->plan, bytes);
    if (!*held)
        return STATUS_OK;
    TRY(device_state_wait(s, error));
    device_state_drop_m(s);
    TRY(device_array_into(&terms->weight, s->rank, sizeof *terms->weight, error));
    TRY(put_weights(s, terms->weight, error));
    terms->args = model_args(s, terms->weight, o->plan.streamed ? NULL : t);
    terms->mode = mode;
    terms->bytes = bytes;
    terms->held = true;
    if (o->plan.streamed)
        TRY(copy_model(s, error));
    else if (t->blco.nnz > 0)
        TRY(make_terms(s, t, error));
    return cuda_status(cudaStreamSynchronize(s->stream), holding, error);
}

void device_terms_close(struct device_state *s)
{
    struct device_terms *terms = &s->terms;
    struct device_blco *ordering = &s->sweep.orderings.ordered[terms->mode].blco;
    if (terms->value) {
        device_free(ordering->value);
        ordering->value = terms->value;
    }
    for (int n = 0; n < s->order; n++)
        device_free(terms->factor[n]);
    device_free(terms->weight);
    s->sweep.orderings.stream.terms = NULL;
    *terms = (struct device_terms){.held = false};
}

enum status device_state_drop(void *state, struct error *error)
{
    struct device_state *s = state;
    struct device_orderings *o = &s->sweep.orderings;
    const uint64_t bytes = s->terms.bytes;
    if (!s->terms.held)
        return STATUS_OK;
    TRY(device_state_wait(s, error));
    device_state_drop_m(s);
    device_terms_close(s);
    if (!o->plan.streamed)
        return STATUS_OK;
    o->stream.bytes += bytes;
    return device_stream_rearrange(&o->stream, error);
}
