#include "device_replica_build.h"

#include <string.h>

#include "blco_pack.h"
#include "cuda_error.h"
#include "device_memory.h"
#include "device_pack.h"
#include "device_piece.h"
#include "memory.h"

#define COUNTS_AT_ONCE (UINT64_C(1) << 20) /* rows whose counts are looked at together */

static const char doing[] = "building an ordering on the GPU";

/* Ends of runs of rows. */
struct pieces {
    uint32_t *end; /* (count); owned */
    uint64_t count;
};

struct build {
    struct device_stream *stream;
    const struct replica_request *request;
    struct replica_map map;
    uint64_t segment_nnz;
    uint64_t room;               /* nonzeros of a piece and what the one before left */
    struct replica_piece target; /* where the present pass appends to                */
    uint32_t *rows;              /* (I_n) nonzeros of each row; device, owned        */
};

static const struct packed *source_of(const struct device_stream *s,
                                      const struct replica_request *q)
{
    return &s->packed[q->source].packed;
}

/* Along the ordering `mode n` the bits of each mode are neighbours. */
static void make_map(struct replica_map *map, const struct device_stream *s,
                     const struct replica_request *q)
{
    struct ordering o;
    ordering_create(&o, q->mode, s->order, source_of(s, q)->dims, 128);
    *map = (struct replica_map){
        .order = s->order, .words = s->layout.words, .bits = o.line_bits, .kind = q->mode};
    for (int n = 0; n < s->order; n++) {
        map->mode[n].mask = s->layout.mode[n].mask;
        map->mode[n].word = s->layout.mode[n].word;
        map->mode[n].shift = s->layout.mode[n].shift;
        map->mode[n].place = (uint8_t)o.place[n][0];
    }
}

/* Device memory that packing a segment's nonzeros takes at most. */
static uint64_t room_to_pack(const struct packed *source)
{
    uint64_t nnz = source->segment_nnz;
    return device_packer_least(nnz < source->nnz ? nnz : source->nnz);
}

/* Device memory for pieces with room for so many nonzeros. */
static enum status bytes_for(const struct replica_map *map, uint64_t room,
                             const struct packed *source, uint64_t *bytes, struct error *error)
{
    *bytes = 0;
    enum status status = device_piece_bytes(map, room, room_to_pack(source), bytes, error);
    *bytes += device_packer_bytes(room, source->segment_nnz);
    return status;
}

enum status device_replica_bytes(const struct device_stream *s, const struct replica_request *q,
                                 uint64_t *bytes, struct error *error)
{
    const struct packed *source = source_of(s, q);
    struct replica_map map;
    make_map(&map, s, q);
    return bytes_for(&map, source->nnz, source, bytes, error);
}

/* As many nonzeros as the device has room for: all, or a piece's and an unfinished segment's. */
static enum status choose_room(struct build *b, const struct packed *source, struct error *error)
{
    const struct replica_request *q = b->request;
    uint64_t bytes, most = q->piece_nnz ? q->piece_nnz + b->segment_nnz : source->nnz;
    b->room = source->nnz < most ? source->nnz : most;
    while (bytes_for(&b->map, b->room, source, &bytes, error) == STATUS_OK &&
           bytes > q->device_bytes) {
        if (b->room <= b->segment_nnz + 1)
            return error_set(error, STATUS_MEMORY, "%s: no room for a piece", doing);
        uint64_t less = b->room - b->room / 16 - 1;
        uint64_t share = (uint64_t)((double)b->room / (double)bytes * (double)q->device_bytes);
        b->room = share < less ? share : less;
        b->room = b->room > b->segment_nnz ? b->room : b->segment_nnz + 1;
    }
    return error->status;
}

static struct replica_batch batch_of(const struct device_packed *o, uint64_t number,
                                     const struct stream_lane *lane)
{
    return (struct replica_batch){.index = {lane->index[0], lane->index[1]},
                                  .value = lane->value,
                                  .nnz = device_packed_nnz(o, number)};
}

static cudaError_t count_rows(void *context, const struct device_packed *o, uint64_t number,
                              const struct stream_lane *lane)
{
    const struct build *b = context;
    const struct replica_batch batch = batch_of(o, number, lane);
    cudaError_t code = stream_lane_ready(lane);
    return code == cudaSuccess ? replica_count_rows(&batch, &b->map, b->rows, lane->product) : code;
}

static cudaError_t append(void *context, const struct device_packed *o, uint64_t number,
                          const struct stream_lane *lane)
{
    const struct build *b = context;
    const struct replica_batch batch = batch_of(o, number, lane);
    cudaError_t code = stream_lane_ready(lane);
    return code == cudaSuccess ? replica_append(&batch, &b->map, &b->target, lane->product) : code;
}

/* All nonzeros pass by. */
static enum status pass_by(struct build *b, stream_consumer *consume, struct error *error)
{
    const struct replica_request *q = b->request;
    const struct stream_pass pass = {
        .ordering = q->source, .following = q->source, .consume = consume, .context = b};
    return cuda_status(device_stream_pass(b->stream, &pass, q->staging->stream), doing, error);
}

/* Goes on with the rows from `first` on, whose counts these are: a piece ends before the row that
 * it has no room for; *sum are the nonzeros of the present one, *all of all rows. */
static enum status cut(struct pieces *p, uint64_t most, const uint32_t *count, uint64_t first,
                       uint64_t rows, uint64_t *sum, uint64_t *all, struct error *error)
{
    for (uint64_t i = 0; i < rows; i++) {
        if (count[i] > most)
            return error_set(error, STATUS_MEMORY, "%s: row %ju has more nonzeros than a piece",
                             doing, (uintmax_t)(first + i + 1));
        if (*sum + count[i] > most) {
            p->end[p->count++] = (uint32_t)(first + i);
            *sum = 0;
        }
        *sum += count[i];
        *all += count[i];
    }
    return STATUS_OK;
}

/* Cuts the rows that have been counted. */
static enum status cut_rows(struct build *b, struct pieces *p, uint64_t nnz, uint64_t length,
                            struct error *error)
{
    uint64_t most = b->room - b->segment_nnz, sum = 0, all = 0;
    uint32_t *count = memory_array(COUNTS_AT_ONCE, sizeof *count, error);
    p->end = memory_array(2 * (nnz / most) + 2, sizeof *p->end, error); /* two exceed `most` */
    for (uint64_t first = 0; first < length && error->status == STATUS_OK;
         first += COUNTS_AT_ONCE) {
        uint64_t rows = length - first < COUNTS_AT_ONCE ? length - first : COUNTS_AT_ONCE;
        cudaError_t code = cudaMemcpyAsync(count, b->rows + first, rows * sizeof *count,
                                           cudaMemcpyDeviceToHost, b->request->staging->stream);
        if (code == cudaSuccess)
            code = cudaStreamSynchronize(b->request->staging->stream);
        if (cuda_status(code, doing, error) == STATUS_OK)
            cut(p, most, count, first, rows, &sum, &all, error);
    }
    memory_free(count);
    if (error->status == STATUS_OK && all != nnz) /* a count went beyond its 32 bits */
        error_set(error, STATUS_MEMORY, "%s: a row has more than 2^32 nonzeros", doing);
    if (error->status == STATUS_OK)
        p->end[p->count++] = (uint32_t)length;
    return error->status;
}

/* The pieces: one of all rows where there is room for that, else as their counts say. */
static enum status find_pieces(struct build *b, struct pieces *p, struct error *error)
{
    const struct packed *source = source_of(b->stream, b->request);
    uint64_t length = source->dims[b->request->mode];
    if (b->room >= source->nnz) {
        p->end = memory_array(1, sizeof *p->end, error);
        if (p->end)
            p->end[p->count++] = (uint32_t)length;
        return error->status;
    }
    if (length > b->request->device_bytes / sizeof *b->rows)
        return error_set(error, STATUS_MEMORY, "%s: no room for a count of each row", doing);
    b->rows = device_array(length, sizeof *b->rows, error);
    if (error->status == STATUS_OK)
        cuda_status(
            cudaMemsetAsync(b->rows, 0, length * sizeof *b->rows, b->request->staging->stream),
            doing, error);
    if (error->status == STATUS_OK && pass_by(b, count_rows, error) == STATUS_OK)
        cut_rows(b, p, source->nnz, length, error);
    if (error->status != STATUS_OK)
        (void)cudaDeviceSynchronize(); /* batches may still be counted */
    device_free(b->rows);
    b->rows = NULL;
    return error->status;
}

/* Rows [begin, end) into the piece, and its whole segments to the host; all of it where it is the
 * last one. */
static enum status build_piece(struct build *b, struct device_piece *piece,
                               struct device_packer *packer, uint32_t begin, uint32_t end,
                               bool last, struct error *error)
{
    if (device_piece_begin(piece, begin, end, &b->target, error) != STATUS_OK ||
        pass_by(b, append, error) != STATUS_OK || device_piece_sort(piece, error) != STATUS_OK)
        return error->status;
    uint64_t nnz = last ? piece->count : piece->count / b->segment_nnz * b->segment_nnz;
    if (device_pack(packer, device_piece_lines(piece), device_piece_values(piece), nnz,
                    b->map.words, b->map.bits, piece->arena[1], piece->arena_bytes,
                    error) != STATUS_OK)
        return error->status;
    return device_piece_carry(piece, nnz, error);
}

static enum status build_pieces(struct build *b, const struct pieces *p, struct packed *replica,
                                uint64_t host_room, struct error *error)
{
    uint64_t least = room_to_pack(source_of(b->stream, b->request));
    struct staging *staging = b->request->staging;
    struct device_piece piece = {0};
    struct device_packer packer = {0};
    enum status status = device_piece_open(&piece, &b->map, b->room, least, staging->stream, error);
    if (status == STATUS_OK)
        status = device_packer_open(&packer, replica, host_room, b->room, staging, error);
    for (uint64_t i = 0; i < p->count && status == STATUS_OK; i++)
        status = build_piece(b, &piece, &packer, i > 0 ? p->end[i - 1] : 0, p->end[i],
                             i + 1 == p->count, error);
    if (status == STATUS_OK && packer.done != replica->nsegments)
        status = error_set(error, STATUS_INTERNAL, "%s: %ju segments of %ju", doing,
                           (uintmax_t)packer.done, (uintmax_t)replica->nsegments);
    (void)cudaDeviceSynchronize(); /* also after a failure in the middle of a pass */
    device_packer_close(&packer);
    device_piece_close(&piece);
    return status;
}

/* Everything but the segments. */
static enum status open_replica(struct packed *replica, const struct packed *source, int mode,
                                uint64_t room, struct error *error)
{
    *replica = (struct packed){.order = source->order,
                               .nnz = source->nnz,
                               .kind = mode,
                               .segment_nnz = source->segment_nnz,
                               .nsegments = source->nsegments};
    memcpy(replica->dims, source->dims, sizeof replica->dims);
    replica->segment = memory_array(replica->nsegments, sizeof *replica->segment, error);
    if (error->status == STATUS_OK)
        replica->bytes = memory_pages(room, error);
    return error->status;
}

/* What the packed ordering takes at the most; pages that it does not fill are never touched. */
static uint64_t host_room(const struct packed *source, const struct replica_request *q)
{
    int line_bits = ordering_line_bits(source->order, source->dims);
    uint64_t most = blco_pack_at_most(line_bits, source->nnz, source->segment_nnz);
    return most < q->host_bytes ? most : q->host_bytes;
}

enum status device_replica_build(struct packed *replica, struct device_stream *s,
                                 const struct replica_request *q, struct error *error)
{
    const struct packed *source = source_of(s, q);
    struct build b = {.stream = s, .request = q, .segment_nnz = source->segment_nnz};
    struct pieces pieces = {0};
    *replica = (struct packed){0};
    if (q->host_bytes < source->size) /* it will hardly be shorter */
        return error_set(error, STATUS_MEMORY, "%s: no host memory for it", doing);
    make_map(&b.map, s, q);
    if (choose_room(&b, source, error) == STATUS_OK &&
        find_pieces(&b, &pieces, error) == STATUS_OK &&
        open_replica(replica, source, q->mode, host_room(source, q), error) == STATUS_OK)
        build_pieces(&b, &pieces, replica, host_room(source, q), error);
    memory_free(pieces.end);
    if (error->status != STATUS_OK)
        packed_free(replica);
    return error->status;
}
