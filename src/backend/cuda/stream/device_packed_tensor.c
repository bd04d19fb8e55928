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

/* A device array with the elements of the host array; NULL on failure. */
static void *to_device(const void *host, uint64_t count, size_t size, struct error *error)
{
    void *array = host ? device_array(count, size, error) : NULL;
    if (!array)
        return NULL;
    if (device_send(array, host, count * size, NULL, doing, error) != STATUS_OK) {
        device_free(array);
        return NULL;
    }
    return array;
}

/* The chunks of n nonzeros. */
static enum status build_chunks(struct device_chunk_table *table, uint64_t n, uint32_t size,
                                struct error *error)
{
    table->count = (n + size - 1) / size;
    struct mttkrp_chunk *chunk = memory_array(table->count, sizeof *chunk, error);
    for (uint64_t c = 0; chunk && c < table->count; c++)
        chunk[c] = (struct mttkrp_chunk){.first = c * size,
                                         .count = (uint32_t)least_of(size, n - c * size)};
    table->chunk = to_device(chunk, table->count, sizeof *chunk, error);
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
    for (uint64_t i = 0; segment && i < count; i++) {
        segment[i].offset = p->packed.segment[i].offset;
        segment[i].ngroups = p->packed.segment[i].ngroups;
    }
    p->segment = to_device(segment, count, sizeof *segment, error);
    memory_free(segment);
    TRY(error->status);
    decoded_layout_spread(&spread, layout, p->packed.kind, &p->packed.shape);
    p->spread = to_device(&spread, 1, sizeof spread, error);
    TRY(error->status);
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
    p->resident =
        to_device(p->packed.bytes + first, device_packed_tensor_at(p, batches) - first, 1, error);
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
    device_free(p->segment);
    device_free(p->spread);
    device_free(p->full.chunk);
    device_free(p->last.chunk);
    packed_tensor_free(&p->packed);
    memset(p, 0, sizeof *p);
}
