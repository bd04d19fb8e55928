#include "backend/cuda/stream/device_replica.h"

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/stream/device_replica_piece.h"
#include "base/memory.h"

static const char doing[] = "counting the nonzeros of rows";

/* The device side of the counts. */
struct counting {
    int order;
    struct replica_map map[MAX_ORDER];
    uint32_t *count[MAX_ORDER]; /* (I_n); device, owned; NULL where none is wanted */
};

static const uint64_t *lengths(const struct device_stream *s)
{
    return s->ordering[0].packed.shape.dims;
}

uint64_t device_row_counts_bytes(const struct device_stream *s, const bool *wanted)
{
    uint64_t bytes = 0;
    for (int n = 0; n < s->order; n++)
        bytes += wanted[n] ? lengths(s)[n] * sizeof(uint32_t) : 0;
    return bytes;
}

static cudaError_t count_rows(void *context, const struct device_packed_tensor *o, uint64_t b,
                              const struct device_stream_workspace *workspace)
{
    const struct counting *c = context;
    const struct replica_batch batch = device_replica_piece_batch(o, b, workspace);
    cudaError_t code = device_stream_workspace_ready(workspace);
    for (int n = 0; n < c->order && code == cudaSuccess; n++)
        if (c->count[n])
            code = replica_count_rows(&batch, &c->map[n], c->count[n], workspace->product);
    return code;
}

enum status device_row_counts_create(struct device_row_counts *c, const bool *wanted,
                                     struct device_stream *s, int original, cudaStream_t stream,
                                     struct error *error)
{
    struct counting d = {.order = s->order};
    const struct device_stream_pass pass = {.ordering = original,
                                            .following = DEVICE_STREAM_NOTHING,
                                            .consume = count_rows,
                                            .context = &d};
    for (int n = 0; n < s->order; n++) {
        const uint64_t length = lengths(s)[n];
        if (!wanted[n])
            continue;
        memory_free(c->count[n]);
        c->count[n] = memory_array(length, sizeof *c->count[n], error);
        if (!c->count[n])
            goto done;
        device_replica_piece_map(&d.map[n], &s->layout, &s->ordering[0].packed.shape, n);
        TRY_OR(done, device_array_into(&d.count[n], length, sizeof *d.count[n], error));
        cudaError_t code = cudaMemsetAsync(d.count[n], 0, length * sizeof *d.count[n], stream);
        TRY_OR(done, cuda_status(code, doing, error));
    }
    TRY_OR(done, cuda_status(device_stream_pass(s, &pass, stream), doing, error));
    for (int n = 0; n < s->order; n++) {
        if (!wanted[n])
            continue;
        cudaError_t code =
            cudaMemcpyAsync(c->count[n], d.count[n], lengths(s)[n] * sizeof *c->count[n],
                            cudaMemcpyDeviceToHost, stream);
        TRY_OR(done, cuda_status(code, doing, error));
    }
    cuda_status(cudaStreamSynchronize(stream), doing, error);
done:
    if (error->status != STATUS_OK)
        (void)cudaDeviceSynchronize(); /* batches may still be counted */
    for (int n = 0; n < s->order; n++) {
        device_free(d.count[n]);
        if (wanted[n] && error->status != STATUS_OK) {
            memory_free(c->count[n]);
            c->count[n] = NULL;
        }
    }
    return error->status;
}

void device_row_counts_free(struct device_row_counts *c)
{
    for (int n = 0; n < MAX_ORDER; n++)
        memory_free(c->count[n]);
    *c = (struct device_row_counts){0};
}
