/* A replica piece on the device: the nonzeros of consecutive rows of mode n, selected from the
 * decoded batches of a streamed tensor, sorted along the line of the ordering `mode n`, and packed
 * into segments of a packed tensor in host memory. */
#ifndef BLCO_DEVICE_REPLICA_PIECE_H
#define BLCO_DEVICE_REPLICA_PIECE_H

#include "backend/cuda/runtime/device_staging.h"
#include "backend/cuda/stream/device_stream.h"
#include "kernels/packed/pack.h"
#include "kernels/packed/replica.h"
#include "tensor/ordering.h"

struct device_replica_piece {
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

/* *map = how nonzeros decoded to the words of `layout` become lines of the ordering `mode n`. */
void device_replica_piece_map(struct replica_map *map, const struct packed_layout *layout,
                              const struct shape *shape, int mode);

/* Batch b of an ordering, decoded in a workspace. */
struct replica_batch device_replica_piece_batch(const struct device_packed_tensor *o, uint64_t b,
                                                const struct device_stream_workspace *workspace);

/* *bytes = the device memory that a replica piece with room for `room` nonzeros takes. Each of its
 * arenas holds at least arena_least bytes. STATUS_INTERNAL where the device does not answer. */
enum status device_replica_piece_bytes(const struct replica_map *map, uint64_t room,
                                       uint64_t arena_least, uint64_t *bytes, struct error *error);

/* An empty replica piece, for work on `stream`. The caller closes *p, also after a failure.
 * STATUS_MEMORY. */
enum status device_replica_piece_open(struct device_replica_piece *p, const struct replica_map *map,
                                      uint64_t room, uint64_t arena_least, cudaStream_t stream,
                                      struct error *error);
void device_replica_piece_close(struct device_replica_piece *p);

/* *target = where nonzeros of rows [begin, end) are to be appended, after those in the piece. */
enum status device_replica_piece_begin(const struct device_replica_piece *p, uint32_t begin,
                                       uint32_t end, struct replica_piece *target,
                                       struct error *error);

/* Called when all nonzeros have been queued to be appended: waits for them, counts and sorts them.
 * STATUS_INTERNAL where there was no room for some. */
enum status device_replica_piece_sort(struct device_replica_piece *p, struct error *error);

/* Drops the first `first` nonzeros. */
enum status device_replica_piece_carry(struct device_replica_piece *p, uint64_t first,
                                       struct error *error);

/* Packs sorted nonzeros. */
struct device_segment_packer {
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

/* Bytes of device memory that packing `nnz` nonzeros at a time takes, beside the room `out` for
 * packed bytes; and bytes that `out` needs at least: one segment's. */
uint64_t device_segment_packer_bytes(uint64_t nnz, uint64_t segment_nnz);
uint64_t device_segment_packer_least(uint64_t segment_nnz);

/* For at most nnz nonzeros at a time, packed into *to, whose segment table has been allocated and
 * whose `room` bytes are filled from to->size on. Both *to and the staging must outlive *k. The
 * caller closes *k, also after a failure. STATUS_MEMORY. */
enum status device_segment_packer_open(struct device_segment_packer *k, struct packed_tensor *to,
                                       uint64_t room, uint64_t nnz, struct device_staging *staging,
                                       struct error *error);
void device_segment_packer_close(struct device_segment_packer *k);

/* Packs the first nnz nonzeros of a sorted piece, by way of the piece's free arena. They are whole
 * segments, but the tensor's last segment may be shorter. All is done when it returns. Checksums
 * are left 0. STATUS_MEMORY where to->bytes has no room for the segments. */
enum status device_segment_packer_run(struct device_segment_packer *k,
                                      const struct device_replica_piece *piece, uint64_t nnz,
                                      struct error *error);

#endif
