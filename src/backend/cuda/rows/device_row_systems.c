#include "backend/cuda/rows/device_row_systems.h"

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "base/least.h"
#include "kernels/mttkrp/mttkrp.h"
#include "numerics/poisson_term.h"

#define CHUNKS_OF_BLOCK 8 /* so that all thread blocks end together, about, ...            */
#define CHUNKS_OF_GROUP 4 /* ... and all lane groups, where there is no G, ...             */
#define BLOCK_CHUNK_NNZ                                                                            \
    2048                    /* ... and a chunk has so many nonzeros, beside which its parts ...    \
                             */
#define GROUP_CHUNK_NNZ 256 /* ... take little time */
#define PART_BYTES      (UINT64_C(128) << 20) /* of the parts of systems, at most */
#define SHORT_AVERAGE                                                                              \
    1024 /* nonzeros of a row that has some: in modes with more, few rows are short */

static const char doing[] = "systems of rows on the GPU";

/* Bytes of a chunk's two parts, with G or without. */
static uint64_t chunk_bytes(const struct device_row_size *size)
{
    return 2 * row_system_length((uint32_t)size->rank, size->matrix) * sizeof(double);
}

/* For so many chunks of so many bytes, and totals. The caller closes it, also after a failure.
 * STATUS_MEMORY. */
static enum status open_room(struct chunk_room *room, uint64_t bytes, uint64_t chunks,
                             uint64_t totals, struct error *error)
{
    TRY(device_array_into(&room->part, chunks, bytes, error));
    TRY(device_array_into(&room->left, chunks, sizeof *room->left, error));
    TRY(device_array_into(&room->totals, totals, sizeof *room->totals, error));
    return device_array_into(&room->next, 1, sizeof *room->next, error);
}

/* Accepts a zeroed one. */
static void close_room(struct chunk_room *room)
{
    device_free(room->part, room->left, room->totals, room->next);
    *room = (struct chunk_room){0};
}

static cudaError_t run(const struct device_row_pass *pass, const struct row_systems_args *args,
                       cudaStream_t stream)
{
    return pass->values ? row_systems_values(args, stream) : row_systems_solve(args, stream);
}

/* A pass over an ordering that is streamed. */
struct streamed_pass {
    const struct device_row_systems *systems;
    const struct device_row_pass *pass;
};

/* Runs piece b, and keeps its parts of the rows that it shares with others. */
static cudaError_t run_piece(void *context, const struct device_packed_tensor *o, uint64_t b,
                             const struct device_stream_workspace *workspace)
{
    const struct streamed_pass *streamed = context;
    const struct device_row_pass *pass = streamed->pass;
    const struct device_row_stream *s = &streamed->systems->stream;
    const struct device_row_chunks *chunks = &streamed->systems->mode[pass->mode];
    const struct row_model_args none = {.lambda = NULL};
    struct row_systems_args args = pass->args;
    device_row_chunks_args(chunks, b, &args);
    args.room = s->workspace[workspace - s->from->workspace];
    device_stream_batch(o, b, workspace, &args.mttkrp);
    CUDA_TRY(device_stream_workspace_ready(workspace));
    CUDA_TRY(run(pass, &args, workspace->product));
    const struct device_row_piece *piece = &chunks->piece[b];
    const uint64_t length = row_system_length(args.rank, args.rules.matrix),
                   bytes = length * sizeof *args.room.part;
    double *to = s->pieces.part + 2 * b * length;
    if (!pass->values && piece->enters)
        CUDA_TRY(cudaMemcpyAsync(to, args.room.part, bytes, cudaMemcpyDeviceToDevice,
                                 workspace->product));
    if (!pass->values && piece->leaves)
        CUDA_TRY(cudaMemcpyAsync(to + length, args.room.part + piece->leaving * length, bytes,
                                 cudaMemcpyDeviceToDevice, workspace->product));
    return row_totals_sum(&args, args.chunks + (pass->values ? 0 : row_systems_joined(&args)),
                          s->pieces.totals + b, &none, workspace->product);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t most_chunks(const struct device_row_size *size, uint64_t nnz)
{
    return least_of(nnz / DEVICE_ROW_CHUNK_NNZ + 1, PART_BYTES / chunk_bytes(size));
}

void device_row_systems_plan(const struct device_row_size *size, struct plan_request *request)
{
    const uint64_t nnz = request->tensor.nnz, order = (uint64_t)request->tensor.shape.order;
    request->system_bytes = most_chunks(size, nnz) * chunk_bytes(size);
    request->flow_system_bytes =
        PLAN_WORKSPACES * request->system_bytes + order * device_row_chunks_bytes(nnz);
    request->batch_system_bytes =
        chunk_bytes(size) + 2 * sizeof(struct row_totals) + order * device_row_chunks_bytes(0);
}

/* Chunks of so many nonzeros, about. walkers: as in row_systems_walkers. Of chunks that lane groups
 * walk, all have equally many, since those are begun all at once. */
static uint64_t chunks_of(const struct device_row_size *size, uint32_t walkers, uint64_t nnz)
{
    const uint64_t most = most_chunks(size, nnz);
    const uint64_t usual = size->matrix ? BLOCK_CHUNK_NNZ : GROUP_CHUNK_NNZ;
    const uint64_t each =
        least_of(size->matrix ? CHUNKS_OF_BLOCK : CHUNKS_OF_GROUP, nnz / usual / walkers);
    return least_of(most, walkers * (each > 0 ? each : 1));
}

enum status device_row_systems_open(struct device_row_systems *s,
                                    const struct device_row_source *source,
                                    const struct device_row_size *size, cudaStream_t stream,
                                    struct error *error)
{
    const uint64_t rank = size->rank;
    uint32_t walkers;
    uint64_t chunks = 0, totals = 0;      /* as in struct device_row_chunks */
    uint64_t pieces = 0, with_shared = 0; /* of a mode: pieces; pieces and the rows they share */
    *s = (struct device_row_systems){.size = *size};
    TRY(device_array_into(&s->common.v, rank * rank, sizeof *s->common.v, error));
    TRY(device_array_into(&s->common.v_inverse, rank * rank, sizeof *s->common.v_inverse, error));
    TRY(device_array_into(&s->common.ridge, rank, sizeof *s->common.ridge, error));
    TRY(device_array_into(&s->common.inverse, rank, sizeof *s->common.inverse, error));
    TRY(device_array_into(&s->common.cell, rank, sizeof *s->common.cell, error));
    TRY(device_array_into(&s->common.now, rank, sizeof *s->common.now, error));
    TRY(device_array_into(&s->common.out_scale, rank, sizeof *s->common.out_scale, error));
    TRY(device_array_into(&s->common.linear, rank, sizeof *s->common.linear, error));
    TRY(device_array_into(&s->common.unit, rank, sizeof *s->common.unit, error));
    TRY(cuda_status(
        row_systems_walkers((uint32_t)rank, (uint32_t)source->order - 1, size->matrix, &walkers),
        doing, error));
    for (int n = 0; n < source->order; n++) {
        struct device_row_chunks *d = &s->mode[n];
        const struct device_tensor *tensor = source->tensor[n];
        const uint64_t nnz = source->stream ? source->stream->batch_nnz
                             : tensor       ? tensor->blco.nnz
                                            : 0;
        const uint64_t most = chunks_of(size, walkers, nnz);
        const struct device_row_ordering ordering = {.tensor = tensor,
                                                     .mode = n,
                                                     .cuts = source->cuts ? &source->cuts[n] : NULL,
                                                     .most = most};
        if (source->stream)
            TRY(device_row_chunks_stream(d, source->stream, n, most, stream, error));
        else if (tensor)
            TRY(device_row_chunks_open(d, &ordering, stream, error));
        chunks = larger(chunks, d->most_chunks);
        totals = larger(totals, d->totals);
        pieces = larger(pieces, d->pieces);
        with_shared = larger(with_shared, (uint64_t)d->pieces + d->shared_rows);
    }
    s->stream.from = source->stream;
    if (!source->stream)
        return open_room(&s->room, chunk_bytes(size), chunks, totals + source->sums, error);
    for (int k = 0; k < PLAN_WORKSPACES; k++)
        TRY(open_room(&s->stream.workspace[k], chunk_bytes(size), chunks, totals, error));
    return open_room(&s->stream.pieces, chunk_bytes(size), pieces, with_shared, error);
}

void device_row_systems_close(struct device_row_systems *s)
{
    for (int n = 0; n < MAX_ORDER; n++)
        device_row_chunks_close(&s->mode[n]);
    close_room(&s->room);
    for (int k = 0; k < PLAN_WORKSPACES; k++)
        close_room(&s->stream.workspace[k]);
    close_room(&s->stream.pieces);
    device_free(s->common.v, s->common.v_inverse, s->common.ridge, s->common.inverse,
                s->common.cell, s->common.now, s->common.out_scale, s->common.linear,
                s->common.unit);
    *s = (struct device_row_systems){0};
}

/* The place of mode n's row number in the index, where `mode` is passed over. */
static struct mttkrp_field field_of(const struct device_row_systems *s, int mode, int n)
{
    const struct device_tensor *t = s->mode[mode].tensor;
    if (s->stream.from)
        return device_stream_field(s->stream.from, n);
    return t ? device_tensor_field(t, n) : (struct mttkrp_field){0};
}

/* The most nonzeros of a row that the pass for short rows takes; 0 where the mode has few of them,
 * or where they have no systems of their own. */
static int short_rows_of(const struct device_row_systems *s, const struct row_rules *rules,
                         int mode, uint64_t length)
{
    const struct device_tensor *t = s->mode[mode].tensor;
    const struct device_stream *from = s->stream.from;
    if (!s->size.matrix || s->mode[mode].pieces == 0)
        return 0;
    const uint64_t nnz = from ? from->ordering[from->serves[mode]].packed.nnz : t->blco.nnz;
    if (nnz / SHORT_AVERAGE > (from ? length : length - t->zero_rows))
        return 0; /* few rows of the mode are short */
    if (rules->rates)
        return (int)least_of(ROW_SHORT_DIAGONAL, (uint64_t)poisson_short_rows(s->size.rank));
    if (rules->nonneg)
        return ROW_SHORT_DESCENT;
    if (rules->unlisted == 0)
        return rules->ridge > 0 ? ROW_SHORT_EQUATIONS : 0;
    return rules->ridge > 0 && rules->counted ? 0 : ROW_SHORT_EQUATIONS;
}

enum status device_row_systems_begin(struct device_row_systems *s, const struct device_factors *f,
                                     const struct row_rules *rules, struct device_row_pass *pass,
                                     struct error *error)
{
    const int mode = pass->mode;
    const struct device_tensor *t = s->mode[mode].tensor;
    struct row_systems_args *args = &pass->args;
    struct mttkrp_args *m = &args->mttkrp;
    *args =
        (struct row_systems_args){.old = f->factor[mode],
                                  .rank = (uint32_t)s->size.rank,
                                  .common = s->common,
                                  .rules = *rules,
                                  .short_rows = short_rows_of(s, rules, mode, f->shape.dims[mode])};
    s->totals = 0;
    if (t)
        device_tensor_args(t, 0, mode, m);
    m->output = field_of(s, mode, mode);
    for (int n = 0; n < f->shape.order; n++)
        if (n != mode)
            m->gather[m->gathers++] = (struct mttkrp_gather){field_of(s, mode, n), f->factor[n]};
    m->m = f->m;
    m->vectors = f->vectors;
    m->precision = f->precision;
    m->wide_values = f->wide_values && !s->stream.from;
    if (pass->values)
        return STATUS_OK;
    TRY(cuda_status(row_short_prepare(args, pass->stream), doing, error));
    /* rows without nonzeros */
    const uint64_t bytes = f->shape.dims[mode] * f->vectors * VECTOR_BYTES;
    const cudaError_t code =
        t ? mttkrp_zero_rows(f->m, f->vectors, t->zero_row, t->zero_rows, pass->stream)
          : cudaMemsetAsync(f->m, 0, bytes, pass->stream);
    return cuda_status(code, doing, error);
}

/* The rows of all batches, and then those that they share. */
static enum status solve_streamed(struct device_row_systems *s, const struct device_row_pass *pass,
                                  struct error *error)
{
    struct device_stream *from = s->stream.from;
    const struct device_row_chunks *d = &s->mode[pass->mode];
    struct streamed_pass batches = {s, pass};
    const struct device_stream_pass all = {.ordering = from->serves[d->mode],
                                           .following = from->serves[(d->mode + 1) % from->order],
                                           .precision = from->precision,
                                           .consume = run_piece,
                                           .context = &batches};
    struct row_systems_args args = pass->args;
    args.room = s->stream.pieces;
    args.chunks = args.most_parts = d->pieces;
    args.join = d->shared;
    args.joins = d->shared_rows;
    s->totals = d->pieces + (pass->values ? 0 : d->shared_rows);
    TRY(cuda_status(device_stream_pass(from, &all, pass->stream), doing, error));
    return pass->values ? STATUS_OK
                        : cuda_status(row_systems_join(&args, pass->stream), doing, error);
}

enum status device_row_systems_piece(struct device_row_systems *s,
                                     const struct device_row_pass *pass, uint32_t p,
                                     const struct row_sent *sent, struct error *error)
{
    struct row_systems_args args = pass->args;
    if (s->stream.from)
        return solve_streamed(s, pass, error);
    if (!device_row_chunks_any(&s->mode[pass->mode], p))
        return STATUS_OK;
    device_row_chunks_args(&s->mode[pass->mode], p, &args);
    args.room = s->room;
    args.room.totals += s->totals;
    if (sent) {
        args.sent = *sent;
        args.short_rows = 0; /* their kernels solve rows and leave no systems */
    } else {
        s->totals += args.chunks + (pass->values ? 0 : args.joins);
    }
    return cuda_status(run(pass, &args, pass->stream), doing, error);
}

enum status device_row_systems_take(struct device_row_systems *s,
                                    const struct device_row_pass *pass, const struct row_sent *sent,
                                    uint64_t rows, struct error *error)
{
    struct row_systems_args args = pass->args;
    args.room = s->room;
    args.room.totals += s->totals;
    args.sent = *sent;
    s->totals += (uint32_t)rows;
    return cuda_status(row_sent_solve(&args, (uint32_t)rows, pass->stream), doing, error);
}

enum status device_row_systems_totals(const struct device_row_systems *s, struct row_totals *sum,
                                      const struct row_model_args *model, cudaStream_t stream,
                                      struct error *error)
{
    const struct row_systems_args args = {.rank = (uint32_t)s->size.rank,
                                          .common = s->common,
                                          .room = s->stream.from ? s->stream.pieces : s->room};
    return cuda_status(row_totals_sum(&args, s->totals, sum, model, stream), doing, error);
}
