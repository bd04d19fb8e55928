#include "backend/cuda/stream/device_stream.h"

#include <stdio.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/device_queue.h"
#include "tensor/ordering.h"

static const char doing[] = "streaming the tensor";

/* The ordering of the mode that is likely to be next: of the next mode, as in a sweep, or of the
 * same mode where it was asked for twice. */
static int expected_ordering(const struct device_stream *s, int mode)
{
    return s->serves[mode == s->last_mode ? mode : (mode + 1) % s->order];
}

struct mttkrp_field device_stream_field(const struct device_stream *s, int n)
{
    return (struct mttkrp_field){.word = s->layout.mode[n].word,
                                 .shift = s->layout.mode[n].shift,
                                 .mask = s->layout.mode[n].mask,
                                 .mode = n};
}

void device_stream_batch(const struct device_packed_tensor *o, uint64_t b,
                         const struct device_stream_workspace *workspace, struct mttkrp_args *args)
{
    const struct device_chunk_table *table = device_packed_tensor_chunks(o, b);
    args->index[0] = workspace->index[0];
    args->index[1] = workspace->index[1];
    args->value = workspace->value;
    args->chunk = table->chunk;
    args->chunks = table->count;
}

/* The arguments that are the same for all batches of a mode. */
static void set_args(const struct device_stream *s, int mode, const struct device_factors *f,
                     struct mttkrp_args *args)
{
    enum conflict conflict = s->conflict[mode];
    int g = 0;
    *args = (struct mttkrp_args){.index = {s->workspace[0].index[0], s->workspace[0].index[1]},
                                 .ordered = conflict == CONFLICT_ORDERED,
                                 .path = conflict == CONFLICT_ORDERED  ? MTTKRP_PLAIN
                                         : conflict == CONFLICT_ATOMIC ? MTTKRP_EACH
                                                                       : MTTKRP_SORTED};
    device_mttkrp_output(args, mode, conflict, f);
    for (int n = 0; n < s->order; n++) {
        const struct mttkrp_field field = device_stream_field(s, n);
        if (n == mode)
            args->output = field;
        else
            args->gather[g++] = (struct mttkrp_gather){field, f->factor[n]};
    }
}

/* What is the same for all batches of an MTTKRP. */
struct product {
    struct mttkrp_args args;
    bool sorted; /* each batch is sorted by output row first */
};

static cudaError_t run_mttkrp(void *context, const struct device_packed_tensor *o, uint64_t b,
                              const struct device_stream_workspace *workspace)
{
    struct product *product = context;
    struct mttkrp_args *args = &product->args;
    cudaError_t code = cudaSuccess;
    device_stream_batch(o, b, workspace, args);
    if (product->sorted)
        code = device_batch_sort_run(&workspace->sort, args, device_packed_tensor_nnz(o, b),
                                     workspace->stream);
    if (code != cudaSuccess)
        return code;
    if ((code = device_stream_workspace_ready(workspace)) != cudaSuccess)
        return code;
    return mttkrp_launch(args, workspace->product);
}

enum status device_stream_check(struct device_stream *s, int ordering, cudaStream_t stream,
                                struct error *error)
{
    struct device_packed_tensor *o = &s->ordering[ordering];
    int mode = 0;
    if (o->checked)
        return STATUS_OK;
    TRY(device_fetch(&mode, s->damaged, sizeof mode, stream, doing, error));
    if (mode)
        return error_set(error, STATUS_INPUT,
                         "the tensor is damaged: a coordinate beyond the length of mode %d", mode);
    o->checked = true;
    return STATUS_OK;
}

enum status device_stream_mttkrp(struct device_stream *s, int mode, const struct device_factors *f,
                                 cudaStream_t stream, struct error *error)
{
    static const char multiplying[] = "MTTKRP of a streamed tensor";
    struct product product = {.sorted = s->sorted[mode]};
    struct mttkrp_args *args = &product.args;
    const struct device_stream_pass pass = {.ordering = s->serves[mode],
                                            .following = expected_ordering(s, mode),
                                            .precision = s->precision,
                                            .consume = run_mttkrp,
                                            .context = &product};
    s->last_mode = mode;
    set_args(s, mode, f, args);
    TRY(cuda_status(mttkrp_prepare(args), multiplying, error));
    TRY(cuda_status(cudaEventRecord(s->started[mode], stream), multiplying, error));
    TRY(cuda_status(device_mttkrp_zero(args, stream), multiplying, error));
    TRY(cuda_status(device_stream_pass(s, &pass, stream), multiplying, error));
    TRY(cuda_status(device_mttkrp_merge(args, stream), multiplying, error));
    TRY(cuda_status(cudaEventRecord(s->ended[mode], stream), multiplying, error));
    return device_stream_check(s, pass.ordering, stream, error);
}

enum status device_stream_seconds(const struct device_stream *s, int mode, double *seconds,
                                  struct error *error)
{
    return cuda_status(device_event_seconds(s->started[mode], s->ended[mode], seconds), doing,
                       error);
}

uint64_t device_stream_bytes(const struct device_stream *s, int mode)
{
    const struct device_packed_tensor *o = &s->ordering[s->serves[mode]];
    return device_packed_tensor_at(o, o->nbatches) - device_packed_tensor_at(o, o->nresident);
}

void device_stream_describe(const struct device_stream *s, int mode, char *text, size_t size)
{
    const struct device_packed_tensor *o = &s->ordering[s->serves[mode]];
    double all = (double)(device_packed_tensor_at(o, o->nbatches) - device_packed_tensor_at(o, 0));
    double resident = all - (double)device_stream_bytes(s, mode);
    snprintf(text, size, "%sstreamed x%u, %s%.0f %% resident",
             o->packed.kind == ORDERING_ALTO ? "" : "own ordering ",
             device_packed_tensor_chunk_size(o), s->sorted[mode] ? "sorted batches, " : "",
             100 * resident / all);
}
