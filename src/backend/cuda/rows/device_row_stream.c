#include "backend/cuda/rows/device_row_stream.h"

void device_row_stream_args(const struct device_row_stream *s, const struct device_row_spans *d,
                            struct row_systems_args *args)
{
    args->spans = d->pieces;
    args->join = d->shared;
    args->joins = d->shared_rows;
    args->slices = 0;
    args->first_is_part = args->last_is_part = 0;
    device_row_room_args(&s->pieces, args);
}

struct pass {
    const struct device_row_stream *rows;
    const struct device_row_spans *spans;
    const struct row_systems_args *args;
    bool values;
};

/* Keeps the parts of the rows that piece b shares with others. */
static cudaError_t keep_parts(const struct pass *pass, uint64_t b, const double *part,
                              cudaStream_t stream)
{
    const struct device_row_piece *piece = &pass->spans->piece[b];
    const uint64_t length = row_system_length(pass->args->rank, pass->args->matrix),
                   bytes = length * sizeof *part;
    double *to = pass->rows->pieces.part + 2 * b * length;
    cudaError_t code = cudaSuccess;
    if (piece->enters)
        code = cudaMemcpyAsync(to, part, bytes, cudaMemcpyDeviceToDevice, stream);
    if (piece->leaves && code == cudaSuccess)
        code = cudaMemcpyAsync(to + length, part + piece->leaving * length, bytes,
                               cudaMemcpyDeviceToDevice, stream);
    return code;
}

static cudaError_t solve_piece(const struct pass *pass, const struct row_systems_args *args,
                               uint64_t b, cudaStream_t stream)
{
    if (pass->values)
        return row_systems_values(args, stream);
    cudaError_t code = row_systems_solve(args, stream);
    return code == cudaSuccess ? keep_parts(pass, b, args->part, stream) : code;
}

static cudaError_t run_piece(void *context, const struct device_packed_tensor *o, uint64_t b,
                             const struct device_stream_workspace *workspace)
{
    const struct pass *pass = context;
    const struct device_row_stream *s = pass->rows;
    const struct row_model_args none = {.lambda = NULL};
    struct row_systems_args args = *pass->args;
    device_row_spans_args(pass->spans, b, &args);
    device_row_room_args(&s->workspace[workspace - s->from->workspace], &args);
    device_stream_batch(o, b, workspace, &args.mttkrp);
    cudaError_t code = device_stream_workspace_ready(workspace);
    if (code != cudaSuccess)
        return code;
    if ((code = solve_piece(pass, &args, b, workspace->product)) != cudaSuccess)
        return code;
    return row_totals_sum(&args, args.spans + (pass->values ? 0 : row_systems_joined(&args)),
                          s->pieces.totals + b, &none, workspace->product);
}

cudaError_t device_row_stream_pass(struct device_row_stream *s, const struct device_row_spans *d,
                                   const struct row_systems_args *args, bool values,
                                   cudaStream_t stream)
{
    struct pass pass = {.rows = s, .spans = d, .args = args, .values = values};
    const struct device_stream_pass batches = {.ordering = s->from->serves[d->mode],
                                               .following =
                                                   s->from->serves[(d->mode + 1) % s->from->order],
                                               .precision = s->from->precision,
                                               .consume = run_piece,
                                               .context = &pass};
    struct row_systems_args shared = *args;
    cudaError_t code = device_stream_pass(s->from, &batches, stream);
    if (code != cudaSuccess || values)
        return code;
    device_row_stream_args(s, d, &shared);
    return row_systems_join(&shared, stream);
}

enum status device_row_stream_open(struct device_row_stream *s, struct device_stream *from,
                                   const struct device_row_spans *modes, uint64_t span_bytes,
                                   struct error *error)
{
    uint64_t spans = 0, totals = 0, pieces = 0, all = 0;
    s->from = from;
    for (int n = 0; n < from->order; n++) {
        const struct device_row_spans *d = &modes[n];
        const uint64_t of_pieces = (uint64_t)d->pieces + d->shared_rows;
        spans = d->most_spans > spans ? d->most_spans : spans;
        totals = d->most_totals > totals ? d->most_totals : totals;
        pieces = d->pieces > pieces ? d->pieces : pieces;
        all = of_pieces > all ? of_pieces : all;
    }
    for (int k = 0; k < PLAN_WORKSPACES; k++)
        TRY(device_row_room_open(&s->workspace[k], span_bytes, spans, totals, error));
    return device_row_room_open(&s->pieces, span_bytes, pieces, all, error);
}

void device_row_stream_close(struct device_row_stream *s)
{
    for (int k = 0; k < PLAN_WORKSPACES; k++)
        device_row_room_close(&s->workspace[k]);
    device_row_room_close(&s->pieces);
    *s = (struct device_row_stream){0};
}
