#include "backend/cuda/stream/device_replica.h"

#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/stream/device_packed_tensor.h"
#include "backend/cuda/stream/device_replica_piece.h"
#include "base/least.h"
#include "base/memory.h"
#include "formats/blco/segment_rows.h"
#include "plan/replica_choice.h"

#define COUNTS_PART 16 /* counts of other modes' rows take at most this part of the host bytes */

static const char counting_rows[] = "counting the nonzeros of rows";

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

static cudaError_t count_batch(void *context, const struct device_packed_tensor *o, uint64_t b,
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
                                            .consume = count_batch,
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
        TRY_OR(done, cuda_status(code, counting_rows, error));
    }
    TRY_OR(done, cuda_status(device_stream_pass(s, &pass, stream), counting_rows, error));
    for (int n = 0; n < s->order; n++) {
        if (!wanted[n])
            continue;
        cudaError_t code =
            cudaMemcpyAsync(c->count[n], d.count[n], lengths(s)[n] * sizeof *c->count[n],
                            cudaMemcpyDeviceToHost, stream);
        TRY_OR(done, cuda_status(code, counting_rows, error));
    }
    cuda_status(cudaStreamSynchronize(stream), counting_rows, error);
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

/* Replica pieces by the counts of the mode's rows. Where these are to be made, so are those of
 * every other mode that will need counts, if there is memory for all of these. */
static enum status cut_rows(struct build *b, struct error *error)
{
    const struct device_replica_request *q = b->request;
    const struct packed_tensor *original = b->original;
    struct device_stream *s = b->stream;
    struct device_row_counts own = {0}, *counts = q->counts ? q->counts : &own;
    bool wanted[MAX_ORDER];
    if (!counts->count[q->mode]) {
        for (int n = 0; n < s->order; n++)
            wanted[n] = n == q->mode || (q->counts && s->conflict[n] != CONFLICT_ORDERED);
        const uint64_t bytes = device_row_counts_bytes(s, wanted);
        if (bytes > q->device_bytes || bytes > q->host_bytes / COUNTS_PART)
            for (int n = 0; n < s->order; n++)
                wanted[n] = n == q->mode;
        if (device_row_counts_bytes(s, wanted) > q->device_bytes)
            return error_set(error, STATUS_MEMORY, "%s: no room for a count of each row", doing);
        TRY(device_row_counts_create(counts, wanted, s, q->original, q->staging->stream, error));
    }
    replica_pieces_cut(&b->pieces, counts->count[q->mode], original->shape.dims[q->mode],
                       original->nnz, b->room - b->segment_nnz, error);
    memory_free(counts->count[q->mode]);
    counts->count[q->mode] = NULL;
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

/* For each replica piece, appends its nonzeros from all batches that can have some, sorts them, and
 * packs the whole segments to the host; the last piece also packs its rest. */
static enum status build_pieces(struct build *b, struct packed_tensor *replica, uint64_t host_room,
                                struct error *error)
{
    const uint64_t least = room_to_pack(b->original), pieces = b->pieces.count;
    const int ordering = b->request->original;
    struct device_staging *staging = b->request->staging;
    struct device_replica_piece piece = {0};
    struct device_segment_packer packer = {0};
    uint64_t appended = 0; /* nonzeros so far */
    TRY_OR(done,
           device_replica_piece_open(&piece, &b->map, b->room, least, staging->stream, error));
    TRY_OR(done, device_segment_packer_open(&packer, replica, host_room, b->room, staging, error));
    for (uint64_t i = 0; i < pieces; i++) {
        const uint32_t begin = replica_pieces_begin(&b->pieces, i);
        const uint64_t before = piece.count;
        const bool last = i + 1 == pieces;
        struct device_stream_pass pass = {.ordering = ordering,
                                          .following = DEVICE_STREAM_NOTHING,
                                          .consume = append,
                                          .context = b};
        if (b->batches.range) {
            pass.batch = b->list;
            pass.batches = replica_pieces_batches(&b->pieces, i, &b->batches, b->list);
        }
        TRY_OR(done,
               device_replica_piece_begin(&piece, begin, b->pieces.end[i], &b->target, error));
        TRY_OR(done,
               cuda_status(device_stream_pass(b->stream, &pass, staging->stream), doing, error));
        TRY_OR(done, device_replica_piece_sort(&piece, error));
        appended += piece.count - before;
        if (last && appended != b->original->nnz) {
            error_set(error, STATUS_INPUT, "the tensor is damaged: its nonzeros are out of order");
            goto done;
        }
        const uint64_t nnz = last ? piece.count : piece.count / b->segment_nnz * b->segment_nnz;
        TRY_OR(done, device_segment_packer_run(&packer, &piece, nnz, error));
        TRY_OR(done, device_replica_piece_carry(&piece, nnz, error));
    }
    if (packer.done != replica->nsegments)
        error_set(error, STATUS_INTERNAL, "%s: %ju segments of %ju", doing, (uintmax_t)packer.done,
                  (uintmax_t)replica->nsegments);
done:
    (void)cudaDeviceSynchronize(); /* also after a failure in the middle of a pass */
    device_segment_packer_close(&packer);
    device_replica_piece_close(&piece);
    return error->status;
}

/* b->room = as many nonzeros as the device has room for: all, or those of a replica piece and of an
 * unfinished segment. */
static enum status open_build(struct build *b, struct device_stream *s,
                              const struct device_replica_request *q, struct error *error)
{
    const struct device_packed_tensor *flowing = &s->ordering[q->original];
    const struct packed_tensor *original = &flowing->packed;
    *b = (struct build){.stream = s,
                        .request = q,
                        .flowing = flowing,
                        .original = original,
                        .segment_nnz = original->segment_nnz};
    device_replica_piece_map(&b->map, &s->layout, &original->shape, q->mode);
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

enum status device_replica_build(struct packed_tensor *replica, struct device_stream *s,
                                 const struct device_replica_request *q, struct error *error)
{
    const struct packed_tensor *original = &s->ordering[q->original].packed;
    struct build b;
    bool counted[MAX_ORDER];
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
    for (int n = 0; n < s->order; n++)
        counted[n] = q->counts && q->counts->count[n];
    const uint64_t held = device_row_counts_bytes(s, counted);
    /* pages that the packed replica does not fill are never touched */
    const uint64_t room = least_of(
        packed_size_at_most(ordering_line_bits(&original->shape), original->nnz, b.segment_nnz),
        q->host_bytes > held ? q->host_bytes - held : 0);
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

enum status device_replica_build_cost(struct device_replica_cost *cost, struct device_stream *s,
                                      const struct device_replica_request *q, struct error *error)
{
    const struct device_packed_tensor *o = &s->ordering[q->original];
    const struct packed_tensor *original = &o->packed;
    struct build b;
    *cost = (struct device_replica_cost){.pieces = 1, .to_host = original->size};
    TRY_OR(done, open_build(&b, s, q, error));
    if (b.room >= original->nnz) { /* one piece */
        cost->to_device = flowing_bytes(o, NULL, o->nbatches, &cost->decoded);
        goto done;
    }
    TRY_OR(done, find_ranges(&b, error));
    TRY_OR(done, replica_pieces_guess(&b.pieces, &b.batches, original->shape.dims[q->mode],
                                      original->nnz, b.room - b.segment_nnz, error));
    cost->pieces = b.pieces.count;
    cost->counting =
        device_packed_tensor_at(o, o->nbatches) - device_packed_tensor_at(o, o->nresident);
    for (uint64_t i = 0; i < b.pieces.count; i++) {
        uint64_t count = replica_pieces_batches(&b.pieces, i, &b.batches, b.list);
        cost->to_device += flowing_bytes(o, b.list, count, &cost->decoded);
    }
done:
    close_build(&b);
    return error->status;
}
