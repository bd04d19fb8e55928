/* A replica is built piece by piece: the nonzeros of consecutive rows of mode n, selected from the
 * decoded batches of the streamed tensor, sorted along the line of the ordering `mode n`, and
 * packed into segments of a packed tensor in host memory. */
#include "backend/cuda/stream/device_replica.h"

#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/stream/device_packed_tensor.h"
#include "base/least.h"
#include "base/memory.h"
#include "base/number.h"
#include "formats/blco/segment_rows.h"
#include "formats/blco/value_codec.h"
#include "kernels/arrays/arrays.h"
#include "kernels/packed/pack.h"
#include "kernels/packed/replica.h"
#include "plan/replica_choice.h"
#include "tensor/ordering.h"

#define COUNTS_PART 16 /* counts of other modes' rows take at most this part of the host bytes */

static const char sorting[] = "sorting the nonzeros";

/* The nonzeros of a piece. */
struct sorted_piece {
    struct replica_map map;
    uint64_t room;  /* the most nonzeros that it holds                */
    uint64_t count; /* its nonzeros: known once they are sorted       */
    /* (arena_bytes) each: [0] has `room` lines, then `room` values; [1] is the room that sorting
     * takes, and is free before and after. Device, owned. */
    uint8_t *arena[2];
    uint64_t arena_bytes;
    uint64_t *appended; /* (1) as in struct replica_piece; device, owned            */
    void *temporary;    /* (temporary_bytes) that sorting takes; device, owned      */
    uint64_t temporary_bytes;
    cudaStream_t stream;
};

/* *map = how nonzeros decoded to the words of `layout` become lines of the ordering `mode n`, along
 * which the bits of each mode are neighbours. */
static void make_map(struct replica_map *map, const struct packed_layout *layout,
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

/* Batch b of an ordering, decoded in a workspace. */
static struct replica_batch decoded_batch(const struct device_packed_tensor *o, uint64_t b,
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

static double *values_of(const struct sorted_piece *p, int i)
{
    return (double *)(void *)(p->arena[i] + p->room * line_bytes(&p->map));
}

static enum status temporary_size(const struct replica_map *map, uint64_t room, uint64_t *bytes,
                                  struct error *error)
{
    struct array_pairs pairs = {
        .count = room, .key_size = (int)line_bytes(map), .value_size = sizeof(double)};
    size_t size = 0;
    cudaError_t code = arrays_sort(NULL, &size, &pairs, 0, map->bits, NULL);
    *bytes = size ? size : 1;
    return cuda_status(code, sorting, error);
}

/* Called when all nonzeros have been queued to be appended: waits for them, counts and sorts them.
 * STATUS_INTERNAL where there was no room for some. */
static enum status piece_sort(struct sorted_piece *p, struct error *error)
{
    TRY(device_fetch(&p->count, p->appended, sizeof p->count, p->stream, sorting, error));
    if (p->count > p->room)
        return error_set(error, STATUS_INTERNAL, "%s: %ju of them, where %ju were expected",
                         sorting, (uintmax_t)p->count, (uintmax_t)p->room);
    struct array_pairs pairs = {p->count,
                                {p->arena[0], p->arena[1]},
                                {values_of(p, 0), values_of(p, 1)},
                                (int)line_bytes(&p->map),
                                sizeof(double)};
    size_t bytes = p->temporary_bytes;
    if (p->count < 2 || p->map.bits == 0)
        return STATUS_OK;
    cudaError_t code = arrays_sort(p->temporary, &bytes, &pairs, 0, p->map.bits, p->stream);
    p->arena[0] = pairs.key[0];
    p->arena[1] = pairs.key[1];
    return cuda_status(code, sorting, error);
}

/* Drops the first `first` nonzeros. */
static enum status piece_carry(struct sorted_piece *p, uint64_t first, struct error *error)
{
    uint64_t left = p->count - first, size = line_bytes(&p->map);
    uint8_t *emptied = p->arena[0];
    p->count = left;
    if (first == 0)
        return STATUS_OK;
    TRY(device_copy(p->arena[1], emptied + first * size, left * size, p->stream, sorting, error));
    device_copy(values_of(p, 1), values_of(p, 0) + first, left * sizeof(double), p->stream, sorting,
                error);
    p->arena[0] = p->arena[1];
    p->arena[1] = emptied;
    return error->status;
}

static const char packing[] = "packing the nonzeros";

/* The kernels pack without the headers of src/. */
_Static_assert(PACK_SEGMENT_ALIGN == BLCO_SEGMENT_ALIGN, "segments are padded as in files");
_Static_assert(PACK_MOST_WHOLE == VALUE_CODEC_MOST_WHOLE &&
                   PACK_WHOLE_BITS == VALUE_CODEC_WHOLE_BITS,
               "values take the forms that the host gives them");

/* Packs sorted nonzeros. */
struct packer {
    struct packed_tensor *to;       /* has room for all segments; borrowed                  */
    uint64_t done;                  /* its first `done` segments are packed                 */
    uint64_t room;                  /* bytes that to->bytes holds                           */
    uint64_t segments;              /* that are packed at a time, at most                   */
    struct packed_group *group;     /* (segments x groups of a segment); device, owned    */
    uint32_t *bytes;                /* (segments); device, owned                          */
    uint64_t *offset;               /* (segments + 1); device, owned                      */
    uint32_t *host_bytes;           /* (segments); owned                                  */
    uint64_t *host_offset;          /* (segments + 1); owned                              */
    struct device_staging *staging; /* borrowed                                       */
};

static uint64_t segments_of(uint64_t nnz, uint64_t segment_nnz)
{
    return (nnz + segment_nnz - 1) / segment_nnz;
}

/* Bytes of device memory that packing `nnz` nonzeros at a time takes, beside the room for packed
 * bytes, of which packer_least are needed at least. */
static uint64_t packer_bytes(uint64_t nnz, uint64_t segment_nnz)
{
    uint64_t groups = pack_groups((uint32_t)segment_nnz);
    return segments_of(nnz, segment_nnz) *
               (groups * sizeof(struct packed_group) + sizeof(uint32_t) + sizeof(uint64_t)) +
           sizeof(uint64_t);
}

/* Most bytes of one segment: for each group an entry with a line of two words, and three arrays of
 * words, each rounded up. */
static uint64_t packer_least(uint64_t segment_nnz)
{
    uint64_t group = sizeof(struct packed_group) + 2 * sizeof(uint64_t) +
                     (PACKED_UPPER_WORDS + 2) * sizeof(uint32_t);
    uint64_t nonzero = PACKED_NUMBER_BITS / 8 + sizeof(double);
    return pack_groups((uint32_t)segment_nnz) * group + segment_nnz * nonzero + BLCO_SEGMENT_ALIGN;
}

/* Packs the first nnz nonzeros of a sorted piece, by way of the piece's free arena. They are whole
 * segments, but the tensor's last segment may be shorter. All is done when it returns. Checksums
 * are left 0. STATUS_MEMORY where to->bytes has no room for the segments. */
static enum status packer_run(struct packer *k, const struct sorted_piece *piece, uint64_t nnz,
                              struct error *error)
{
    struct packed_tensor *to = k->to;
    uint8_t *arena = piece->arena[1];
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
    TRY(device_copy(k->offset, k->host_offset, (segments + 1) * sizeof *k->offset, stream, packing,
                    error));
    for (uint64_t first = 0; first < segments; first = end) {
        for (end = first; end < segments &&
                          k->host_offset[end + 1] - k->host_offset[first] <= piece->arena_bytes;)
            end++;
        if (end == first)
            return error_set(error, STATUS_INTERNAL, "%s: no room for a segment", packing);
        const uint64_t bytes = k->host_offset[end] - k->host_offset[first];
        const struct device_elements packed = {arena, bytes, 1};
        TRY(cuda_status(cudaMemsetAsync(arena, 0, bytes, stream), packing, error));
        TRY(cuda_status(pack_write(&args, first, end - first, k->offset, arena, stream), packing,
                        error));
        TRY(device_staging_fetch(k->staging, &packed, NULL, to->bytes + to->size, error));
        for (uint64_t s = first; s < end; s++) {
            const uint32_t own = (uint32_t)packed_tensor_nnz(to, k->done, k->done + 1);
            to->segment[k->done++] = (struct blco_file_segment){
                .offset = to->size, .bytes = k->host_bytes[s], .ngroups = pack_groups(own)};
            to->size += k->host_bytes[s];
        }
    }
    return STATUS_OK;
}

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
    const struct replica_batch batch = decoded_batch(o, b, workspace);
    CUDA_TRY(device_stream_workspace_ready(workspace));
    for (int n = 0; n < c->order; n++)
        if (c->count[n])
            CUDA_TRY(replica_count_rows(&batch, &c->map[n], c->count[n], workspace->product));
    return cudaSuccess;
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
        TRY_OR(done, error->status);
        make_map(&d.map[n], &s->layout, &s->ordering[0].packed.shape, n);
        TRY_OR(done, device_array_into(&d.count[n], length, sizeof *d.count[n], error));
        cudaError_t code = cudaMemsetAsync(d.count[n], 0, length * sizeof *d.count[n], stream);
        TRY_OR(done, cuda_status(code, counting_rows, error));
    }
    TRY_OR(done, cuda_status(device_stream_pass(s, &pass, stream), counting_rows, error));
    for (int n = 0; n < s->order; n++) {
        if (!wanted[n])
            continue;
        TRY_OR(done, device_copy(c->count[n], d.count[n], lengths(s)[n] * sizeof *c->count[n],
                                 stream, counting_rows, error));
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
    return packer_least(nnz < original->nnz ? nnz : original->nnz);
}

/* Device memory for replica pieces with room for so many nonzeros. */
static enum status bytes_for(const struct replica_map *map, uint64_t room,
                             const struct packed_tensor *original, uint64_t *bytes,
                             struct error *error)
{
    uint64_t temporary = 0;
    TRY(temporary_size(map, room, &temporary, error));
    *bytes = 2 * arena_size(map, room, room_to_pack(original)) + temporary + sizeof(uint64_t) +
             packer_bytes(room, original->segment_nnz);
    return STATUS_OK;
}

enum status device_replica_build_bytes(const struct device_stream *s,
                                       const struct device_replica_request *q, uint64_t *bytes,
                                       struct error *error)
{
    const struct packed_tensor *original = &s->ordering[q->original].packed;
    struct replica_map map;
    make_map(&map, &s->layout, &original->shape, q->mode);
    return bytes_for(&map, original->nnz, original, bytes, error);
}

static cudaError_t append(void *context, const struct device_packed_tensor *o, uint64_t number,
                          const struct device_stream_workspace *workspace)
{
    const struct build *b = context;
    const struct replica_batch batch = decoded_batch(o, number, workspace);
    CUDA_TRY(device_stream_workspace_ready(workspace));
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
            wanted[n] = n == q->mode || (q->counts && !conflict_traits[s->conflict[n]].ordered);
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
    memory_free(b->batches.range, b->list);
}

/* For each replica piece, appends its nonzeros from all batches that can have some, sorts them, and
 * packs the whole segments to the host; the last piece also packs its rest. */
static enum status build_pieces(struct build *b, struct packed_tensor *replica, uint64_t host_room,
                                struct error *error)
{
    const uint64_t least = room_to_pack(b->original), pieces = b->pieces.count;
    const int ordering = b->request->original;
    struct device_staging *staging = b->request->staging;
    const uint64_t room = b->room, segments = segments_of(room, replica->segment_nnz);
    const uint64_t groups = segments * pack_groups((uint32_t)replica->segment_nnz);
    struct sorted_piece piece = {.map = b->map,
                                 .room = room,
                                 .arena_bytes = arena_size(&b->map, room, least),
                                 .stream = staging->stream};
    struct packer packer = {
        .to = replica, .room = host_room, .segments = segments, .staging = staging};
    uint64_t appended = 0; /* nonzeros so far */
    for (int i = 0; i < 2; i++)
        TRY_OR(done, device_array_into(&piece.arena[i], piece.arena_bytes, 1, error));
    TRY_OR(done, device_array_into(&piece.appended, 1, sizeof *piece.appended, error));
    TRY_OR(done, temporary_size(&b->map, room, &piece.temporary_bytes, error));
    TRY_OR(done, device_array_into(&piece.temporary, piece.temporary_bytes, 1, error));
    packer.host_bytes = memory_array(segments, sizeof *packer.host_bytes, error);
    packer.host_offset = memory_array(segments + 1, sizeof *packer.host_offset, error);
    TRY_OR(done, error->status);
    TRY_OR(done, device_array_into(&packer.group, groups, sizeof *packer.group, error));
    TRY_OR(done, device_array_into(&packer.bytes, segments, sizeof *packer.bytes, error));
    TRY_OR(done, device_array_into(&packer.offset, segments + 1, sizeof *packer.offset, error));
    for (uint64_t i = 0; i < pieces; i++) {
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
        b->target = (struct replica_piece){.begin = replica_pieces_begin(&b->pieces, i),
                                           .end = b->pieces.end[i],
                                           .line = piece.arena[0],
                                           .value = values_of(&piece, 0),
                                           .count = piece.appended,
                                           .room = piece.room};
        TRY_OR(done, device_copy(piece.appended, &piece.count, sizeof piece.count, staging->stream,
                                 sorting, error));
        TRY_OR(done,
               cuda_status(device_stream_pass(b->stream, &pass, staging->stream), doing, error));
        TRY_OR(done, piece_sort(&piece, error));
        appended += piece.count - before;
        if (last && appended != b->original->nnz) {
            error_set(error, STATUS_INPUT, "the tensor is damaged: its nonzeros are out of order");
            goto done;
        }
        const uint64_t nnz = last ? piece.count : piece.count / b->segment_nnz * b->segment_nnz;
        TRY_OR(done, packer_run(&packer, &piece, nnz, error));
        TRY_OR(done, piece_carry(&piece, nnz, error));
    }
    if (packer.done != replica->nsegments)
        error_set(error, STATUS_INTERNAL, "%s: %ju segments of %ju", doing, (uintmax_t)packer.done,
                  (uintmax_t)replica->nsegments);
done:
    (void)cudaDeviceSynchronize(); /* also after a failure in the middle of a pass */
    device_free(packer.group, packer.bytes, packer.offset);
    memory_free(packer.host_bytes, packer.host_offset);
    device_free(piece.arena[0], piece.arena[1], piece.appended, piece.temporary);
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
    make_map(&b->map, &s->layout, &original->shape, q->mode);
    uint64_t bytes = 0, most = q->piece_nnz ? q->piece_nnz + b->segment_nnz : original->nnz;
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
    TRY_OR(done, error->status);
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

enum status device_replica_build_cost(struct device_replica_cost *cost, struct device_stream *s,
                                      const struct device_replica_request *q, struct error *error)
{
    const struct device_packed_tensor *o = &s->ordering[q->original];
    const struct packed_tensor *original = &o->packed;
    struct build b;
    *cost = (struct device_replica_cost){.pieces = 1, .to_host = original->size};
    TRY_OR(done, open_build(&b, s, q, error));
    const uint64_t flowing =
        device_packed_tensor_at(o, o->nbatches) - device_packed_tensor_at(o, o->nresident);
    if (b.room >= original->nnz) { /* one piece */
        cost->to_device = flowing;
        goto done;
    }
    TRY_OR(done, find_ranges(&b, error));
    TRY_OR(done, replica_pieces_guess(&b.pieces, &b.batches, original->shape.dims[q->mode],
                                      original->nnz, b.room - b.segment_nnz, error));
    cost->pieces = b.pieces.count;
    cost->counting = flowing;
    for (uint64_t i = 0; i < b.pieces.count; i++) {
        uint64_t count = replica_pieces_batches(&b.pieces, i, &b.batches, b.list);
        for (uint64_t k = 0; k < count; k++)
            cost->to_device +=
                b.list[k] < o->nresident ? 0 : device_packed_tensor_bytes(o, b.list[k]);
    }
done:
    close_build(&b);
    return error->status;
}
