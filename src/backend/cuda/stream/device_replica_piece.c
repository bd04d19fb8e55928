#include "backend/cuda/stream/device_replica_piece.h"

#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "base/memory.h"
#include "base/number.h"
#include "formats/blco/value_codec.h"

static const char doing[] = "sorting the nonzeros";

/* Along the ordering `mode n` the bits of each mode are neighbours. */
void device_replica_piece_map(struct replica_map *map, const struct packed_layout *layout,
                              const struct shape *shape, int mode)
{
    struct ordering o;
    ordering_create(&o, mode, shape, 128);
    *map = (struct replica_map){
        .order = layout->order, .words = layout->words, .bits = o.line_bits, .kind = mode};
    for (int n = 0; n < layout->order; n++) {
        map->mode[n].mask = layout->mode[n].mask;
        map->mode[n].word = layout->mode[n].word;
        map->mode[n].shift = layout->mode[n].shift;
        map->mode[n].place = (uint8_t)o.place[n][0];
    }
}

struct replica_batch device_replica_piece_batch(const struct device_packed_tensor *o, uint64_t b,
                                                const struct device_stream_workspace *workspace)
{
    return (struct replica_batch){.index = {workspace->index[0], workspace->index[1]},
                                  .value = workspace->value,
                                  .nnz = device_packed_tensor_nnz(o, b)};
}

static uint64_t line_bytes(const struct replica_map *map)
{
    return (uint64_t)map->words * sizeof(uint64_t);
}

static uint64_t arena_size(const struct replica_map *map, uint64_t room, uint64_t least)
{
    uint64_t bytes = room * (line_bytes(map) + sizeof(double));
    return bytes > least ? bytes : least;
}

static double *values_of(const struct device_replica_piece *p, int i)
{
    return (double *)(void *)(p->arena[i] + p->room * line_bytes(&p->map));
}

static enum status temporary_size(const struct replica_map *map, uint64_t room, uint64_t *bytes,
                                  struct error *error)
{
    void *line[2] = {NULL, NULL};
    double *value[2] = {NULL, NULL};
    size_t size = 0;
    cudaError_t code = replica_sort(NULL, &size, line, value, room, map->words, map->bits, NULL);
    *bytes = size ? size : 1;
    return cuda_status(code, doing, error);
}

enum status device_replica_piece_bytes(const struct replica_map *map, uint64_t room,
                                       uint64_t arena_least, uint64_t *bytes, struct error *error)
{
    uint64_t temporary;
    TRY(temporary_size(map, room, &temporary, error));
    *bytes = 2 * arena_size(map, room, arena_least) + temporary + sizeof(uint64_t);
    return STATUS_OK;
}

enum status device_replica_piece_open(struct device_replica_piece *p, const struct replica_map *map,
                                      uint64_t room, uint64_t arena_least, cudaStream_t stream,
                                      struct error *error)
{
    *p = (struct device_replica_piece){.map = *map,
                                       .room = room,
                                       .arena_bytes = arena_size(map, room, arena_least),
                                       .stream = stream};
    for (int i = 0; i < 2; i++) {
        TRY(device_array_into(&p->arena[i], p->arena_bytes, 1, error));
    }
    TRY(device_array_into(&p->appended, 1, sizeof *p->appended, error));
    TRY(temporary_size(map, room, &p->temporary_bytes, error));
    return device_array_into(&p->temporary, p->temporary_bytes, 1, error);
}

void device_replica_piece_close(struct device_replica_piece *p)
{
    device_free(p->arena[0]);
    device_free(p->arena[1]);
    device_free(p->appended);
    device_free(p->temporary);
    *p = (struct device_replica_piece){0};
}

enum status device_replica_piece_begin(const struct device_replica_piece *p, uint32_t begin,
                                       uint32_t end, struct replica_piece *target,
                                       struct error *error)
{
    *target = (struct replica_piece){.begin = begin,
                                     .end = end,
                                     .line = p->arena[0],
                                     .value = values_of(p, 0),
                                     .count = p->appended,
                                     .room = p->room};
    return cuda_status(
        cudaMemcpyAsync(p->appended, &p->count, sizeof p->count, cudaMemcpyHostToDevice, p->stream),
        doing, error);
}

enum status device_replica_piece_sort(struct device_replica_piece *p, struct error *error)
{
    TRY(device_fetch(&p->count, p->appended, sizeof p->count, p->stream, doing, error));
    if (p->count > p->room)
        return error_set(error, STATUS_INTERNAL, "%s: %ju of them, where %ju were expected", doing,
                         (uintmax_t)p->count, (uintmax_t)p->room);
    void *line[2] = {p->arena[0], p->arena[1]};
    double *value[2] = {values_of(p, 0), values_of(p, 1)};
    size_t bytes = p->temporary_bytes;
    cudaError_t code = replica_sort(p->temporary, &bytes, line, value, p->count, p->map.words,
                                    p->map.bits, p->stream);
    p->arena[0] = line[0];
    p->arena[1] = line[1];
    return cuda_status(code, doing, error);
}

enum status device_replica_piece_carry(struct device_replica_piece *p, uint64_t first,
                                       struct error *error)
{
    uint64_t left = p->count - first, size = line_bytes(&p->map);
    uint8_t *emptied = p->arena[0];
    p->count = left;
    if (first == 0)
        return STATUS_OK;
    cudaError_t code = cudaMemcpyAsync(p->arena[1], emptied + first * size, left * size,
                                       cudaMemcpyDeviceToDevice, p->stream);
    TRY(cuda_status(code, doing, error));
    code = cudaMemcpyAsync(values_of(p, 1), values_of(p, 0) + first, left * sizeof(double),
                           cudaMemcpyDeviceToDevice, p->stream);
    p->arena[0] = p->arena[1];
    p->arena[1] = emptied;
    return cuda_status(code, doing, error);
}

static const char packing[] = "packing the nonzeros";

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

static void copy_bytes(void *target, uint64_t first, uint64_t count, const void *from)
{
    memcpy((uint8_t *)target + first, from, count);
}

enum status device_segment_packer_run(struct device_segment_packer *k,
                                      const struct device_replica_piece *piece, uint64_t nnz,
                                      struct error *error)
{
    struct packed_tensor *to = k->to;
    uint8_t *out = piece->arena[1];
    const cudaStream_t stream = k->staging->stream;
    uint64_t segments = segments_of(nnz, to->segment_nnz), end;
    const struct pack_args args = {.line = piece->arena[0],
                                   .value = values_of(piece, 0),
                                   .nnz = nnz,
                                   .segment_nnz = (uint32_t)to->segment_nnz,
                                   .words = piece->map.words,
                                   .line_bits = piece->map.bits,
                                   .group = k->group,
                                   .bytes = k->bytes};
    if (segments > k->segments || segments > to->nsegments - k->done)
        return error_set(error, STATUS_INTERNAL, "%s: %ju segments are too many", packing,
                         (uintmax_t)segments);
    if (segments == 0)
        return STATUS_OK;
    /* how many bytes each segment takes and where it begins, on the host and on the device */
    TRY(cuda_status(pack_measure(&args, stream), packing, error));
    TRY(device_fetch(k->host_bytes, k->bytes, segments * sizeof *k->bytes, stream, packing, error));
    k->host_offset[0] = 0;
    for (uint64_t s = 0; s < segments; s++)
        k->host_offset[s + 1] = k->host_offset[s] + k->host_bytes[s];
    if (k->host_offset[segments] > k->room - to->size)
        return error_set(error, STATUS_MEMORY, "%s: more than the %s that they may take", packing,
                         NUMBER_SIZE(k->room));
    cudaError_t code =
        cudaMemcpyAsync(k->offset, k->host_offset, (segments + 1) * sizeof *k->offset,
                        cudaMemcpyHostToDevice, stream);
    TRY(cuda_status(code, packing, error));
    for (uint64_t first = 0; first < segments; first = end) {
        for (end = first; end < segments &&
                          k->host_offset[end + 1] - k->host_offset[first] <= piece->arena_bytes;)
            end++;
        if (end == first)
            return error_set(error, STATUS_INTERNAL, "%s: no room for a segment", packing);
        const uint64_t bytes = k->host_offset[end] - k->host_offset[first];
        const struct device_elements packed = {out, bytes, 1};
        TRY(cuda_status(cudaMemsetAsync(out, 0, bytes, stream), packing, error));
        code = pack_write(&args, first, end - first, k->offset, out, stream);
        TRY(cuda_status(code, packing, error));
        TRY(device_staging_fetch(k->staging, &packed, copy_bytes, to->bytes + to->size, error));
        for (uint64_t s = first; s < end; s++) {
            const uint32_t own = (uint32_t)packed_tensor_nnz(to, k->done, k->done + 1);
            to->segment[k->done++] = (struct blco_file_segment){
                .offset = to->size, .bytes = k->host_bytes[s], .ngroups = pack_groups(own)};
            to->size += k->host_bytes[s];
        }
    }
    return STATUS_OK;
}
