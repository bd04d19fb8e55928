#include "backend/cuda/stream/device_replica.h"

#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/stream/device_packed_tensor.h"
#include "backend/cuda/stream/device_replica_piece.h"
#include "base/memory.h"
#include "formats/blco/segment_rows.h"
#include "plan/replica_choice.h"

#define COUNTS_PART 16 /* counts of other modes' rows take at most this part of the host bytes */

static const char doing[] = "building an ordering on the GPU";

struct build {
    struct device_stream *stream;
    const struct device_replica_request *request;
    const struct device_packed_tensor *flowing; /* the stream's ordering to build from */
    const struct packed_tensor *original;       /* what of it is in host memory        */
    struct replica_map map;
    uint64_t segment_nnz;
    uint64_t room;               /* nonzeros of a replica piece, and the rest of the previous */
    struct replica_piece target; /* where the present pass appends to */
    uint64_t appended;           /* nonzeros, in all passes so far */
    struct replica_pieces pieces;
    struct batch_rows batches; /* owned; empty: each can have all rows                    */
    uint64_t *list;            /* (batches): those that the present pass takes; owned */
};

/* Device memory that packing a segment's nonzeros takes at most. */
static uint64_t room_to_pack(const struct packed_tensor *original)
{
    uint64_t nnz = original->segment_nnz;
    return device_segment_packer_least(nnz < original->nnz ? nnz : original->nnz);
}

/* Device memory for replica pieces with room for so many nonzeros. */
static enum status bytes_for(const struct replica_map *map, uint64_t room,
                             const struct packed_tensor *original, uint64_t *bytes,
                             struct error *error)
{
    TRY(device_replica_piece_bytes(map, room, room_to_pack(original), bytes, error));
    *bytes += device_segment_packer_bytes(room, original->segment_nnz);
    return STATUS_OK;
}

enum status device_replica_build_bytes(const struct device_stream *s,
                                       const struct device_replica_request *q, uint64_t *bytes,
                                       struct error *error)
{
    const struct packed_tensor *original = &s->ordering[q->original].packed;
    struct replica_map map;
    device_replica_piece_map(&map, &s->layout, &original->shape, q->mode);
    return bytes_for(&map, original->nnz, original, bytes, error);
}

/* b->room = as many nonzeros as the device has room for: all, or those of a replica piece and of an
 * unfinished segment. */
static enum status choose_room(struct build *b, struct error *error)
{
    const struct device_replica_request *q = b->request;
    const struct packed_tensor *original = b->original;
    uint64_t bytes, most = q->piece_nnz ? q->piece_nnz + b->segment_nnz : original->nnz;
    b->room = original->nnz < most ? original->nnz : most;
    for (;;) {
        TRY(bytes_for(&b->map, b->room, original, &bytes, error));
        if (bytes <= q->device_bytes)
            return STATUS_OK;
        if (b->room <= b->segment_nnz + 1)
            return error_set(error, STATUS_MEMORY, "%s: no room for a piece", doing);
        uint64_t less = b->room - b->room / 16 - 1;
        uint64_t fit = (uint64_t)((double)b->room / (double)bytes * (double)q->device_bytes);
        b->room = fit < less ? fit : less;
        b->room = b->room > b->segment_nnz ? b->room : b->segment_nnz + 1;
    }
}

static cudaError_t append(void *context, const struct device_packed_tensor *o, uint64_t number,
                          const struct device_stream_workspace *workspace)
{
    const struct build *b = context;
    const struct replica_batch batch = device_replica_piece_batch(o, number, workspace);
    cudaError_t code = device_stream_workspace_ready(workspace);
    if (code != cudaSuccess)
        return code;
    return replica_append(&batch, &b->map, &b->target, workspace->product);
}

/* Counts the rows of this mode, and of every other one that will need counts, if there is memory
 * for all of these. */
static enum status count_rows(const struct build *b, struct device_row_counts *counts,
                              struct error *error)
{
    const struct device_replica_request *q = b->request;
    struct device_stream *s = b->stream;
    bool wanted[MAX_ORDER];
    if (counts->count[q->mode])
        return STATUS_OK;
    for (int n = 0; n < s->order; n++)
        wanted[n] = n == q->mode || (q->counts && s->conflict[n] != CONFLICT_ORDERED);
    const uint64_t bytes = device_row_counts_bytes(s, wanted);
    if (bytes > q->device_bytes || bytes > q->host_bytes / COUNTS_PART)
        for (int n = 0; n < s->order; n++)
            wanted[n] = n == q->mode;
    if (device_row_counts_bytes(s, wanted) > q->device_bytes)
        return error_set(error, STATUS_MEMORY, "%s: no room for a count of each row", doing);
    return device_row_counts_create(counts, wanted, s, q->original, q->staging->stream, error);
}

/* Replica pieces by the rows' counts. */
static enum status cut_rows(struct build *b, struct error *error)
{
    const struct packed_tensor *original = b->original;
    int mode = b->request->mode;
    struct device_row_counts own = {0}, *counts = b->request->counts ? b->request->counts : &own;
    TRY_OR(done, count_rows(b, counts, error));
    replica_pieces_cut(&b->pieces, counts->count[mode], original->shape.dims[mode], original->nnz,
                       b->room - b->segment_nnz, error);
done:
    memory_free(counts->count[mode]);
    counts->count[mode] = NULL;
    device_row_counts_free(&own);
    return error->status;
}

/* The rows that each batch can have, and room for a list of batches. */
static enum status find_ranges(struct build *b, struct error *error)
{
    const struct device_packed_tensor *o = b->flowing;
    b->batches.range = memory_array(o->nbatches, sizeof *b->batches.range, error);
    b->batches.count = o->nbatches;
    b->list = memory_array(o->nbatches, sizeof *b->list, error);
    TRY(error->status);
    segment_rows_of_batches(b->batches.range, &o->packed, b->request->mode, o->segments);
    return STATUS_OK;
}

static void close_build(struct build *b)
{
    replica_pieces_free(&b->pieces);
    memory_free(b->batches.range);
    memory_free(b->list);
}

/* Appends the nonzeros of replica piece i, from all batches that can have some, sorts them, and
 * packs the whole segments to the host; the last piece also packs its rest. */
static enum status build_piece(struct build *b, struct device_replica_piece *piece,
                               struct device_segment_packer *packer, uint64_t i,
                               struct error *error)
{
    const struct device_replica_request *q = b->request;
    uint64_t before = piece->count;
    struct device_stream_pass pass = {.ordering = q->original,
                                      .following = DEVICE_STREAM_NOTHING,
                                      .consume = append,
                                      .context = b};
    if (b->batches.range) {
        pass.batch = b->list;
        pass.batches = replica_pieces_batches(&b->pieces, i, &b->batches, b->list);
    }
    TRY(device_replica_piece_begin(piece, replica_pieces_begin(&b->pieces, i), b->pieces.end[i],
                                   &b->target, error));
    TRY(cuda_status(device_stream_pass(b->stream, &pass, q->staging->stream), doing, error));
    TRY(device_replica_piece_sort(piece, error));
    bool last = i + 1 == b->pieces.count;
    uint64_t nnz = last ? piece->count : piece->count / b->segment_nnz * b->segment_nnz;
    b->appended += piece->count - before;
    if (last && b->appended != b->original->nnz)
        return error_set(error, STATUS_INPUT,
                         "the tensor is damaged: its nonzeros are out of order");
    TRY(device_segment_packer_run(packer, piece, nnz, error));
    return device_replica_piece_carry(piece, nnz, error);
}

static enum status build_pieces(struct build *b, struct packed_tensor *replica, uint64_t host_room,
                                struct error *error)
{
    uint64_t least = room_to_pack(b->original);
    struct device_staging *staging = b->request->staging;
    struct device_replica_piece piece = {0};
    struct device_segment_packer packer = {0};
    TRY_OR(done,
           device_replica_piece_open(&piece, &b->map, b->room, least, staging->stream, error));
    TRY_OR(done, device_segment_packer_open(&packer, replica, host_room, b->room, staging, error));
    for (uint64_t i = 0; i < b->pieces.count; i++)
        TRY_OR(done, build_piece(b, &piece, &packer, i, error));
    if (packer.done != replica->nsegments)
        error_set(error, STATUS_INTERNAL, "%s: %ju segments of %ju", doing, (uintmax_t)packer.done,
                  (uintmax_t)replica->nsegments);
done:
    (void)cudaDeviceSynchronize(); /* also after a failure in the middle of a pass */
    device_segment_packer_close(&packer);
    device_replica_piece_close(&piece);
    return error->status;
}

/* Most bytes that the packed replica takes; pages that it does not fill are never touched. */
static uint64_t host_room(const struct build *b)
{
    const struct packed_tensor *original = b->original;
    const struct device_row_counts *counts = b->request->counts;
    int line_bits = ordering_line_bits(&original->shape);
    uint64_t most = packed_size_at_most(line_bits, original->nnz, original->segment_nnz);
    bool counted[MAX_ORDER];
    for (int n = 0; n < b->stream->order; n++)
        counted[n] = counts && counts->count[n];
    uint64_t held = device_row_counts_bytes(b->stream, counted), all = b->request->host_bytes;
    uint64_t left = all > held ? all - held : 0;
    return most < left ? most : left;
}

static enum status open_build(struct build *b, struct device_stream *s,
                              const struct device_replica_request *q, struct error *error)
{
    const struct device_packed_tensor *flowing = &s->ordering[q->original];
    *b = (struct build){.stream = s,
                        .request = q,
                        .flowing = flowing,
                        .original = &flowing->packed,
                        .segment_nnz = flowing->packed.segment_nnz};
    device_replica_piece_map(&b->map, &s->layout, &flowing->packed.shape, q->mode);
    return choose_room(b, error);
}

enum status device_replica_build(struct packed_tensor *replica, struct device_stream *s,
                                 const struct device_replica_request *q, struct error *error)
{
    const struct packed_tensor *original = &s->ordering[q->original].packed;
    struct build b;
    *replica = (struct packed_tensor){0};
    if (q->host_bytes < original->size) /* the replica will hardly be shorter */
        return error_set(error, STATUS_MEMORY, "%s: no host memory for it", doing);
    TRY_OR(done, open_build(&b, s, q, error));
    if (b.room >= original->nnz) { /* one piece of all rows */
        TRY_OR(done, replica_pieces_whole(&b.pieces, original->shape.dims[q->mode], error));
    } else {
        TRY_OR(done, cut_rows(&b, error));
        TRY_OR(done, find_ranges(&b, error));
    }
    *replica = (struct packed_tensor){.shape = original->shape,
                                      .nnz = original->nnz,
                                      .kind = q->mode,
                                      .segment_nnz = original->segment_nnz,
                                      .nsegments = original->nsegments};
    replica->segment = memory_array(replica->nsegments, sizeof *replica->segment, error);
    if (!replica->segment)
        goto done;
    const uint64_t room = host_room(&b);
    replica->bytes = memory_pages(room, error);
    TRY_OR(done, error->status);
    build_pieces(&b, replica, room, error);
done:
    close_build(&b);
    if (error->status != STATUS_OK)
        packed_tensor_free(replica);
    return error->status;
}

/* Bytes of those batches that flow, of `count` batches in a list, or of the first `count` where
 * `list` is NULL; adds the nonzeros of all `count` batches to *nnz. */
static uint64_t flowing_bytes(const struct device_packed_tensor *o, const uint64_t *list,
                              uint64_t count, uint64_t *nnz)
{
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t b = list ? list[i] : i;
        bytes += b < o->nresident ? 0 : device_packed_tensor_bytes(o, b);
        *nnz += device_packed_tensor_nnz(o, b);
    }
    return bytes;
}

/* The cost of a build in several replica pieces. */
static enum status cost_of_pieces(struct device_replica_cost *cost, struct build *b,
                                  const struct device_packed_tensor *o, struct error *error)
{
    const struct packed_tensor *original = &o->packed;
    TRY(find_ranges(b, error));
    TRY(replica_pieces_guess(&b->pieces, &b->batches, original->shape.dims[b->request->mode],
                             original->nnz, b->room - b->segment_nnz, error));
    cost->pieces = b->pieces.count;
    cost->counting =
        device_packed_tensor_at(o, o->nbatches) - device_packed_tensor_at(o, o->nresident);
    for (uint64_t i = 0; i < b->pieces.count; i++) {
        uint64_t count = replica_pieces_batches(&b->pieces, i, &b->batches, b->list);
        cost->to_device += flowing_bytes(o, b->list, count, &cost->decoded);
    }
    return STATUS_OK;
}

enum status device_replica_build_cost(struct device_replica_cost *cost, struct device_stream *s,
                                      const struct device_replica_request *q, struct error *error)
{
    const struct device_packed_tensor *o = &s->ordering[q->original];
    const struct packed_tensor *original = &o->packed;
    struct build b;
    *cost = (struct device_replica_cost){.pieces = 1, .to_host = original->size};
    TRY_OR(done, open_build(&b, s, q, error));
    if (b.room >= original->nnz)
        cost->to_device = flowing_bytes(o, NULL, o->nbatches, &cost->decoded);
    else
        cost_of_pieces(cost, &b, o, error);
done:
    close_build(&b);
    return error->status;
}
