#include "backend/cuda/rows/device_row_systems.h"

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "base/least.h"
#include "kernels/mttkrp/mttkrp.h"
#include "numerics/poisson_term.h"

#define SPANS_OF_WARP 8                     /* so that all warps end at about the same time */
#define PART_BYTES    (UINT64_C(128) << 20) /* of the parts of systems, at most             */
#define SHORT_AVERAGE 1024 /* nonzeros of a row: in modes with more, few rows are short */

static const char doing[] = "systems of rows on the GPU";

static uint64_t most_spans(uint64_t rank, uint64_t nnz)
{
    return least_of(nnz / DEVICE_ROW_SPAN_NNZ + 1, PART_BYTES / device_row_room_span_bytes(rank));
}

uint64_t device_row_systems_bytes(uint64_t rank, uint64_t nnz)
{
    return rank <= ROW_SYSTEMS_RANK ? most_spans(rank, nnz) * device_row_room_span_bytes(rank) : 0;
}

uint64_t device_row_systems_flow_bytes(int order, uint64_t rank, uint64_t nnz)
{
    return PLAN_WORKSPACES * device_row_systems_bytes(rank, nnz) +
           (uint64_t)order * device_row_spans_bytes(nnz);
}

uint64_t device_row_systems_batch_bytes(int order, uint64_t rank)
{
    return device_row_room_span_bytes(rank) + 2 * sizeof(struct row_totals) +
           (uint64_t)order * device_row_spans_bytes(0);
}

static enum status open_common(struct device_row_systems *s, struct error *error)
{
    const uint64_t rank = s->rank;
    if (device_array_into(&s->common.v, rank * rank, sizeof *s->common.v, error) != STATUS_OK)
        return error->status;
    if (device_array_into(&s->common.ridge, rank, sizeof *s->common.ridge, error) != STATUS_OK)
        return error->status;
    if (device_array_into(&s->common.inverse, rank, sizeof *s->common.inverse, error) != STATUS_OK)
        return error->status;
    if (device_array_into(&s->common.now, rank, sizeof *s->common.now, error) != STATUS_OK)
        return error->status;
    if (device_array_into(&s->common.out, rank, sizeof *s->common.out, error) != STATUS_OK)
        return error->status;
    if (device_array_into(&s->common.linear, rank, sizeof *s->common.linear, error) != STATUS_OK)
        return error->status;
    return device_array_into(&s->common.unit, rank, sizeof *s->common.unit, error);
}

/* The spans of mode n. warps: as in row_systems_warps. */
static enum status open_mode(struct device_row_systems *s, const struct device_row_source *source,
                             int n, uint32_t warps, cudaStream_t stream, struct error *error)
{
    const uint64_t most = (uint64_t)warps * SPANS_OF_WARP;
    const struct device_tensor *tensor = source->tensor[n];
    if (source->stream)
        return device_row_spans_stream(
            &s->mode[n], source->stream, n,
            least_of(most, most_spans(s->rank, source->stream->batch_nnz)), stream, error);
    if (!tensor)
        return STATUS_OK;
    return device_row_spans_open(&s->mode[n], tensor, n,
                                 least_of(most, most_spans(s->rank, tensor->blco.nnz)), stream,
                                 error);
}

enum status device_row_systems_open(struct device_row_systems *s,
                                    const struct device_row_source *source, uint64_t rank,
                                    cudaStream_t stream, struct error *error)
{
    uint32_t warps;
    uint64_t spans = 0, totals = 0;
    *s = (struct device_row_systems){.rank = (uint32_t)rank};
    if (open_common(s, error) != STATUS_OK)
        return error->status;
    if (cuda_status(
            row_systems_warps(s->rank, (uint32_t)source->order - 1, PRECISION_DOUBLE, &warps),
            doing, error) != STATUS_OK)
        return error->status;
    for (int n = 0; n < source->order; n++) {
        const struct device_row_spans *d = &s->mode[n];
        if (open_mode(s, source, n, warps, stream, error) != STATUS_OK)
            return error->status;
        spans = d->most_spans > spans ? d->most_spans : spans;
        totals = d->most_totals > totals ? d->most_totals : totals;
    }
    return source->stream ? device_row_stream_open(&s->stream, source->stream, s->mode, rank, error)
                          : device_row_room_open(&s->room, rank, spans, totals, error);
}

void device_row_systems_close(struct device_row_systems *s)
{
    for (int n = 0; n < MAX_ORDER; n++)
        device_row_spans_close(&s->mode[n]);
    device_row_room_close(&s->room);
    device_row_stream_close(&s->stream);
    device_free(s->common.v);
    device_free(s->common.ridge);
    device_free(s->common.inverse);
    device_free(s->common.now);
    device_free(s->common.out);
    device_free(s->common.linear);
    device_free(s->common.unit);
    *s = (struct device_row_systems){0};
}

/* *args for all nonzeros of an ordering in device memory, or for the pieces of a streamed one. */
static void set_spans(const struct device_row_systems *s, int mode, struct row_systems_args *args)
{
    const struct device_row_spans *d = &s->mode[mode];
    if (s->stream.from) {
        device_row_stream_args(&s->stream, d, args);
        return;
    }
    device_row_spans_args(d, 0, args);
    device_row_room_args(&s->room, args);
}

/* The nonzeros, but for those that are streamed, and the factor matrices. */
static void set_mttkrp(const struct device_row_systems *s, int mode, const struct device_factors *f,
                       struct mttkrp_args *m)
{
    const struct device_tensor *t = s->mode[mode].tensor;
    const struct device_stream *from = s->stream.from;
    if (from)
        m->output = device_stream_field(from, mode);
    else
        device_tensor_args(t, 0, mode, m);
    for (int n = 0; n < f->shape.order; n++)
        if (n != mode)
            m->gather[m->gathers++] = (struct mttkrp_gather){
                from ? device_stream_field(from, n) : device_tensor_field(t, n), f->factor[n]};
    m->m = f->m;
    m->vectors = f->vectors;
    m->precision = f->precision;
    m->wide_values = f->wide_values && !from;
}

/* Rows without nonzeros. */
static cudaError_t zero_rows(const struct device_row_systems *s, int mode,
                             const struct device_factors *f, cudaStream_t stream)
{
    const struct device_tensor *t = s->mode[mode].tensor;
    if (s->stream.from)
        return cudaMemsetAsync(f->m, 0, f->shape.dims[mode] * f->vectors * VECTOR_BYTES, stream);
    return mttkrp_zero_rows(f->m, f->vectors, t->zero_row, t->zero_rows, stream);
}

/* The most nonzeros of a row that the pass for short rows takes; 0 where the mode has few of them,
 * where they have no systems of their own, or where they are streamed. */
static int short_rows_of(const struct device_row_systems *s, const struct device_row_rules *rules,
                         int mode)
{
    if (s->stream.from)
        return 0;
    const struct device_blco *b = &s->mode[mode].tensor->blco;
    if (b->nnz / SHORT_AVERAGE > b->shape.dims[mode])
        return 0;
    if (rules->counts && rules->matrix)
        return (int)least_of(ROW_SHORT_DIAGONAL, (uint64_t)poisson_short_rows(s->rank));
    if (rules->counts)
        return ROW_SHORT_DESCENT;
    if (rules->unlisted != 0)
        return 0;
    if (rules->nonneg)
        return ROW_SHORT_DESCENT;
    return rules->ridge ? ROW_SHORT_EQUATIONS : 0;
}

enum status device_row_systems_solve(struct device_row_systems *s, int mode,
                                     const struct device_factors *f,
                                     const struct device_row_rules *rules, cudaStream_t stream,
                                     struct error *error)
{
    struct row_systems_args args = {.old = f->factor[mode],
                                    .rank = s->rank,
                                    .common = s->common,
                                    .unlisted = rules->unlisted,
                                    .nonneg = rules->nonneg,
                                    .counted = rules->counted,
                                    .counts = rules->counts,
                                    .matrix = rules->matrix,
                                    .weighed = rules->weighed,
                                    .of_count = rules->of_count,
                                    .floor = f->precision == PRECISION_SINGLE ? POISSON_FLOOR_SINGLE
                                                                              : POISSON_FLOOR,
                                    .short_rows = short_rows_of(s, rules, mode)};
    set_spans(s, mode, &args);
    set_mttkrp(s, mode, f, &args.mttkrp);
    if (!rules->values && cuda_status(zero_rows(s, mode, f, stream), doing, error) != STATUS_OK)
        return error->status;
    if (s->stream.from)
        return cuda_status(
            device_row_stream_pass(&s->stream, &s->mode[mode], &args, rules->values, stream), doing,
            error);
    return cuda_status(rules->values ? row_systems_values(&args, stream)
                                     : row_systems_solve(&args, stream),
                       doing, error);
}

enum status device_row_systems_totals(const struct device_row_systems *s, int mode, bool values,
                                      struct row_totals *sum, const struct row_model_args *model,
                                      cudaStream_t stream, struct error *error)
{
    struct row_systems_args args = {.rank = s->rank, .common = s->common};
    set_spans(s, mode, &args);
    const uint32_t count = args.spans + (values ? 0 : args.joins);
    return cuda_status(row_totals_sum(&args, count, sum, model, stream), doing, error);
}
