#include "backend/cuda/stream/device_stream_residual.h"

#include "backend/cuda/runtime/cuda_error.h"

/* What is the same for all batches of a pass. */
struct misfit {
    const struct device_stream *stream;
    struct residual_args args;
    struct double_double *sum; /* each workspace has sums of its own: batches overlap */
};

static cudaError_t add_batch(void *context, const struct device_packed_tensor *o, uint64_t b,
                             const struct device_stream_workspace *workspace)
{
    struct misfit *m = context;
    const struct device_chunk_table *table = device_packed_tensor_chunks(o, b);
    m->args.index[0] = workspace->index[0];
    m->args.index[1] = workspace->index[1];
    m->args.value = workspace->value;
    m->args.chunk = table->chunk;
    m->args.chunks = table->count;
    cudaError_t code = device_stream_workspace_ready(workspace);
    return code == cudaSuccess
               ? residual_nonzeros(&m->args,
                                   m->sum + (workspace - m->stream->workspace) * RESIDUAL_BLOCKS,
                                   workspace->product)
               : code;
}

/* From the ordering that the next iteration begins with. */
enum status device_stream_residual(struct device_stream *s, const struct residual_args *args,
                                   struct double_double *sum, cudaStream_t stream,
                                   struct error *error)
{
    struct misfit misfit = {.stream = s, .args = *args, .sum = sum};
    const struct device_stream_pass pass = {.ordering = s->serves[0],
                                            .following = s->serves[0],
                                            .precision = s->precision,
                                            .consume = add_batch,
                                            .context = &misfit};
    for (int n = 0; n < s->order; n++)
        misfit.args.mode[n].field = device_stream_field(s, n);
    return cuda_status(device_stream_pass(s, &pass, stream), "the residual of a streamed tensor",
                       error);
}
