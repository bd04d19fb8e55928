#include "backend/cuda/stream/device_replica_piece.h"

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"

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

const void *device_replica_piece_lines(const struct device_replica_piece *p)
{
    return p->arena[0];
}

const double *device_replica_piece_values(const struct device_replica_piece *p)
{
    return values_of(p, 0);
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
