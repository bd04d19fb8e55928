#include "backend/cuda/stream/device_segment_packer.h"

#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "base/memory.h"
#include "base/number.h"
#include "formats/blco/value_codec.h"

static const char doing[] = "packing the nonzeros";

/* The kernels pack without the headers of src/. */
_Static_assert(PACK_SEGMENT_ALIGN == BLCO_SEGMENT_ALIGN, "segments are padded as in files");
_Static_assert(PACK_MOST_WHOLE == VALUE_CODEC_MOST_WHOLE &&
                   PACK_WHOLE_BITS == VALUE_CODEC_WHOLE_BITS,
               "values take the forms that the host gives them");

static uint64_t segments_of(uint64_t nnz, uint64_t segment_nnz)
{
    return (nnz + segment_nnz - 1) / segment_nnz;
}

uint64_t device_segment_packer_bytes(uint64_t nnz, uint64_t segment_nnz)
{
    uint64_t groups = pack_groups((uint32_t)segment_nnz);
    return segments_of(nnz, segment_nnz) *
               (groups * sizeof(struct packed_group) + sizeof(uint32_t) + sizeof(uint64_t)) +
           sizeof(uint64_t);
}

/* Most bytes of one segment: for each group an entry with a line of two words, and three arrays of
 * words, each rounded up. */
uint64_t device_segment_packer_least(uint64_t segment_nnz)
{
    uint64_t group = sizeof(struct packed_group) + 2 * sizeof(uint64_t) +
                     (PACKED_UPPER_WORDS + 2) * sizeof(uint32_t);
    uint64_t nonzero = PACKED_NUMBER_BITS / 8 + sizeof(double);
    return pack_groups((uint32_t)segment_nnz) * group + segment_nnz * nonzero + BLCO_SEGMENT_ALIGN;
}

enum status device_segment_packer_open(struct device_segment_packer *k, struct packed_tensor *to,
                                       uint64_t room, uint64_t nnz, struct device_staging *staging,
                                       struct error *error)
{
    uint64_t segments = segments_of(nnz, to->segment_nnz);
    uint64_t groups = segments * pack_groups((uint32_t)to->segment_nnz);
    *k = (struct device_segment_packer){
        .to = to, .room = room, .segments = segments, .staging = staging};
    k->host_bytes = memory_array(segments, sizeof *k->host_bytes, error);
    k->host_offset = memory_array(segments + 1, sizeof *k->host_offset, error);
    TRY(error->status);
    TRY(device_array_into(&k->group, groups, sizeof *k->group, error));
    TRY(device_array_into(&k->bytes, segments, sizeof *k->bytes, error));
    return device_array_into(&k->offset, segments + 1, sizeof *k->offset, error);
}

void device_segment_packer_close(struct device_segment_packer *k)
{
    device_free(k->group);
    device_free(k->bytes);
    device_free(k->offset);
    memory_free(k->host_bytes);
    memory_free(k->host_offset);
    memset(k, 0, sizeof *k);
}

/* How many bytes each segment takes and where it begins, on the host and on the device. */
static enum status measure(struct device_segment_packer *k, const struct pack_args *args,
                           uint64_t segments, struct error *error)
{
    cudaStream_t stream = k->staging->stream;
    TRY(cuda_status(pack_measure(args, stream), doing, error));
    TRY(device_fetch(k->host_bytes, k->bytes, segments * sizeof *k->bytes, stream, doing, error));
    k->host_offset[0] = 0;
    for (uint64_t s = 0; s < segments; s++)
        k->host_offset[s + 1] = k->host_offset[s] + k->host_bytes[s];
    if (k->host_offset[segments] > k->room - k->to->size)
        return error_set(error, STATUS_MEMORY, "%s: more than the %s that they may take", doing,
                         NUMBER_SIZE(k->room));
    return cuda_status(cudaMemcpyAsync(k->offset, k->host_offset,
                                       (segments + 1) * sizeof *k->offset, cudaMemcpyHostToDevice,
                                       stream),
                       doing, error);
}

static void copy_bytes(void *target, uint64_t first, uint64_t count, const void *from)
{
    memcpy((uint8_t *)target + first, from, count);
}

/* Writes segments [first, end) to `out`, which holds them, and copies them to the host. */
static enum status fetch(struct device_segment_packer *k, const struct pack_args *args,
                         uint64_t first, uint64_t end, uint8_t *out, struct error *error)
{
    struct packed_tensor *to = k->to;
    uint64_t bytes = k->host_offset[end] - k->host_offset[first];
    cudaStream_t stream = k->staging->stream;
    TRY(cuda_status(cudaMemsetAsync(out, 0, bytes, stream), doing, error));
    cudaError_t code = pack_write(args, first, end - first, k->offset, out, stream);
    TRY(cuda_status(code, doing, error));
    const struct device_elements packed = {out, bytes, 1};
    TRY(device_staging_fetch(k->staging, &packed, copy_bytes, to->bytes + to->size, error));
    for (uint64_t s = first; s < end; s++) {
        uint64_t nnz = packed_tensor_nnz(to, k->done, k->done + 1);
        to->segment[k->done++] = (struct blco_file_segment){
            .offset = to->size, .bytes = k->host_bytes[s], .ngroups = pack_groups((uint32_t)nnz)};
        to->size += k->host_bytes[s];
    }
    return STATUS_OK;
}

enum status device_segment_packer_run(struct device_segment_packer *k,
                                      const struct device_sorted_nonzeros *x, uint8_t *out,
                                      uint64_t out_bytes, struct error *error)
{
    uint64_t segments = segments_of(x->nnz, k->to->segment_nnz), end;
    const struct pack_args args = {.line = x->line,
                                   .value = x->value,
                                   .nnz = x->nnz,
                                   .segment_nnz = (uint32_t)k->to->segment_nnz,
                                   .words = x->words,
                                   .line_bits = x->line_bits,
                                   .group = k->group,
                                   .bytes = k->bytes};
    if (segments > k->segments || segments > k->to->nsegments - k->done)
        return error_set(error, STATUS_INTERNAL, "%s: %ju segments are too many", doing,
                         (uintmax_t)segments);
    if (segments == 0)
        return STATUS_OK;
    TRY(measure(k, &args, segments, error));
    for (uint64_t first = 0; first < segments; first = end) {
        for (end = first;
             end < segments && k->host_offset[end + 1] - k->host_offset[first] <= out_bytes;)
            end++;
        if (end == first)
            return error_set(error, STATUS_INTERNAL, "%s: no room for a segment", doing);
        TRY(fetch(k, &args, first, end, out, error));
    }
    return STATUS_OK;
}
