#include "backend/cuda/stream/device_packed_tensor.h"

#include <string.h>

#include "backend/cuda/runtime/device_memory.h"
#include "base/least.h"
#include "base/memory.h"
#include "formats/blco/decoded_layout.h"
#include "tensor/ordering.h"

#define ORDERED_CHUNK 1024 /* nonzeros of a chunk of a `mode n` ordering */

static const char doing[] = "streaming the tensor";

uint32_t device_packed_tensor_chunk_size(const struct device_packed_tensor *p)
{
    return p->packed.kind == ORDERING_ALTO ? MTTKRP_SORTED_CHUNK : ORDERED_CHUNK;
}

const struct device_chunk_table *device_packed_tensor_chunks(const struct device_packed_tensor *p,
                                                             uint64_t b)
{
    return b + 1 < p->nbatches ? &p->full : &p->last;
}

uint64_t device_packed_tensor_at(const struct device_packed_tensor *p, uint64_t b)
{
    uint64_t first = b * p->segments;
    if (first < p->packed.nsegments)
        return p->packed.segment[first].offset;
    const struct blco_file_segment *last = &p->packed.segment[p->packed.nsegments - 1];
    return last->offset + last->bytes;
}

uint64_t device_packed_tensor_bytes(const struct device_packed_tensor *p, uint64_t b)
{
    return device_packed_tensor_at(p, b + 1) - device_packed_tensor_at(p, b);
}

uint64_t device_packed_tensor_nnz(const struct device_packed_tensor *p, uint64_t b)
{
    return packed_tensor_nnz(&p->packed, b * p->segments, (b + 1) * p->segments);
}

/* The chunks of n nonzeros. */
static enum status build_chunks(struct device_chunk_table *table, uint64_t n, uint32_t size,
                                struct error *error)
{
    table->count = (n + size - 1) / size;
    struct mttkrp_chunk *chunk = memory_array(table->count, sizeof *chunk, error);
    TRY(error->status);
    for (uint64_t c = 0; c < table->count; c++)
        chunk[c] = (struct mttkrp_chunk){.first = c * size,
                                         .count = (uint32_t)least_of(size, n - c * size)};
    device_copy_into(&table->chunk, chunk, table->count, sizeof *chunk, NULL, doing, error);
    memory_free(chunk);
    return error->status;
}

enum status device_packed_tensor_open(struct device_packed_tensor *p, struct packed_tensor *packed,
                                      const struct packed_layout *layout, uint64_t batch_nnz,
                                      struct error *error)
{
    struct packed_spread spread;
    *p = (struct device_packed_tensor){.packed = *packed};
    *packed = (struct packed_tensor){0};
    uint64_t segments = batch_nnz / p->packed.segment_nnz;
    p->segments = segments ? least_of(segments, p->packed.nsegments) : 1;
    p->nbatches = (p->packed.nsegments + p->segments - 1) / p->segments;
    const uint32_t size = device_packed_tensor_chunk_size(p);
    const uint64_t count = p->packed.nsegments;
    struct unpack_segment *segment = memory_zeros(count, sizeof *segment, error);
    TRY(error->status);
    for (uint64_t i = 0; i < count; i++) {
        segment[i].offset = p->packed.segment[i].offset;
        segment[i].ngroups = p->packed.segment[i].ngroups;
    }
    device_copy_into(&p->segment, segment, count, sizeof *segment, NULL, doing, error);
    memory_free(segment);
    TRY(error->status);
    decoded_layout_spread(&spread, layout, p->packed.kind, &p->packed.shape);
    TRY(device_copy_into(&p->spread, &spread, 1, sizeof spread, NULL, doing, error));
    TRY(build_chunks(&p->full, device_packed_tensor_nnz(p, 0), size, error));
    TRY(build_chunks(&p->last, device_packed_tensor_nnz(p, p->nbatches - 1), size, error));
    /* The copy engine may read the packed bytes where they are; without that, copies are slower. */
    if (memory_hook_fails())
        return STATUS_OK;
    p->pinned =
        cudaHostRegister(p->packed.bytes, p->packed.size, cudaHostRegisterDefault) == cudaSuccess;
    if (!p->pinned)
        (void)cudaGetLastError();
    return STATUS_OK;
}

enum status device_packed_tensor_keep(struct device_packed_tensor *p, uint64_t bytes,
                                      struct error *error)
{
    uint64_t batches = 0, first = device_packed_tensor_at(p, 0);
    while (batches < p->nbatches && device_packed_tensor_at(p, batches + 1) - first <= bytes)
        batches++;
    if (batches == 0)
        return STATUS_OK;
    device_copy_into(&p->resident, p->packed.bytes + first,
                     device_packed_tensor_at(p, batches) - first, 1, NULL, doing, error);
    if (error->status == STATUS_MEMORY)
        *error = (struct error){0};
    p->nresident = p->resident ? batches : 0;
    return error->status;
}

void device_packed_tensor_drop(struct device_packed_tensor *p)
{
    device_free(p->resident);
    p->resident = NULL;
    p->nresident = 0;
}

void device_packed_tensor_close(struct device_packed_tensor *p)
{
    device_packed_tensor_drop(p);
    if (p->pinned)
        cudaHostUnregister(p->packed.bytes);
    device_free(p->segment, p->spread, p->full.chunk, p->last.chunk);
    packed_tensor_free(&p->packed);
    memset(p, 0, sizeof *p);
}
