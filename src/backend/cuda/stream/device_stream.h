/* MTTKRP of a tensor that is larger than the device: packed orderings in host memory flow through
 * a few slots in device memory, batch after batch, and are decoded there. A copy stream fills the
 * slots ahead; decoding and MTTKRP of the batches alternate between lanes, so that the next batch
 * is decoded in time, which has precedence, and its MTTKRP has the processors that the present
 * one's last chunks leave idle. Events keep them in step, and the host waits for none. What fits
 * beside the slots stays on the device, packed, and its batches come evenly between those that
 * flow. */
#ifndef BLCO_DEVICE_STREAM_H
#define BLCO_DEVICE_STREAM_H

#include <cuda_runtime.h>
#include <stdbool.h>

#include "backend/cuda/mttkrp/device_mttkrp.h"
#include "backend/cuda/stream/device_batch_sort.h"
#include "backend/cuda/stream/device_packed_tensor.h"
#include "plan/plan.h"

struct device_stream_slot {
    uint8_t *bytes; /* device, owned */
    cudaEvent_t arrived, emptied;
};

struct device_stream_workspace {
    cudaStream_t stream;  /* decodes and sorts, and goes first where kernels wait for processors */
    cudaStream_t product; /* MTTKRP */
    cudaEvent_t ready;    /* its batch is decoded and sorted */
    cudaEvent_t done;     /* its batch has been multiplied, and the workspace is free */
    uint64_t
        *index[PACKED_WORDS]; /* (nonzeros of a batch) each: its batch, decoded; device, owned */
    void *value;              /* the same, room for doubles                                     */
    struct device_batch_sort sort; /* where a mode needs it */
};

/* What is done with batch b of an ordering, decoded in a workspace, by work in the workspace's
 * product stream behind device_stream_workspace_ready, and ahead of that in its other one. */
typedef cudaError_t device_stream_consumer(void *context, const struct device_packed_tensor *o,
                                           uint64_t b,
                                           const struct device_stream_workspace *workspace);

#define DEVICE_STREAM_NOTHING (-1)

/* Batches of an ordering, one after the other. */
struct device_stream_pass {
    int ordering;
    const uint64_t *batch; /* (batches) those that it takes, ascending; NULL: all of them  */
    uint64_t batches;
    int following; /* ordering that is likely to follow, in all its batches; or
                      DEVICE_STREAM_NOTHING */
    int single;    /* values are decoded to floats                                              */
    device_stream_consumer *consume;
    void *context;
};

/* The batches of a pass: those that stay on the device, and then those that flow. */
struct device_stream_batches {
    int ordering;
    const uint64_t *number;   /* (count) ascending; NULL: all of the ordering, 0 to count - 1 */
    uint64_t count, resident; /* of these the first `resident` stay                           */
};

struct device_stream {
    int order, orderings;
    struct device_packed_tensor ordering[MAX_ORDER + 1];
    int serves[MAX_ORDER]; /* which ordering each mode is computed from */
    enum conflict conflict[MAX_ORDER];
    bool sorted[MAX_ORDER]; /* batches are sorted by this mode's rows */
    struct packed_layout layout;
    int single;
    int *damaged; /* (1) as in struct unpack_args; device, owned */
    uint64_t batch_nnz;
    uint64_t bytes, used; /* of device memory that may be used, and that slots and lanes take */
    uint64_t slot_bytes;

    struct device_stream_workspace workspace[PLAN_WORKSPACES];
    cudaEvent_t begun;                                /* a call: M is zero */
    cudaEvent_t started[MAX_ORDER], ended[MAX_ORDER]; /* each mode's latest call */

    cudaStream_t copy;
    struct device_stream_slot slot[PLAN_SLOTS];
    uint64_t filled, emptied;          /* so many slots in all, one after the other in a ring */
    struct device_stream_batches flow; /* slots are filled with those of these that flow ... */
    uint64_t next; /* ... this one of them next                                   */
    bool ahead;    /* for a pass that is still to come                            */
    int last_mode; /* that was asked for, or -1                                    */
};

/* Takes over `count` packed orderings, which are empty afterwards, whatever is returned. Modes that
 * are CONFLICT_ORDERED are computed from the ordering of their kind, all others from the alto one,
 * those that are sorted[n] (no others than CONFLICT_REGISTER) from batches sorted by row. As much
 * of `bytes` of device memory as the slots for batches of batch_nnz nonzeros (but whole segments)
 * leave, shared evenly, is for what stays on the device. On failure *s is empty. STATUS_MEMORY. */
enum status device_stream_open(struct device_stream *s, struct packed_tensor *packed, int count,
                               const enum conflict *conflict, const bool *sorted,
                               uint64_t batch_nnz, uint64_t bytes, int single, struct error *error);

/* Accepts an empty one. */
void device_stream_close(struct device_stream *s);

/* f->m = M of `mode`. Asynchronous, except when an ordering is gone through for the first time:
 * STATUS_INPUT then where a coordinate is not below its mode's length. */
enum status device_stream_mttkrp(struct device_stream *s, int mode, const struct device_factors *f,
                                 cudaStream_t stream, struct error *error);

/* For consumers: what follows in workspace->product waits for what is in workspace->stream. */
cudaError_t device_stream_workspace_ready(const struct device_stream_workspace *workspace);

/* Queues a pass: what its consumer puts into workspace->product comes after what is in `stream` and
 * before what will be. */
cudaError_t device_stream_pass(struct device_stream *s, const struct device_stream_pass *pass,
                               cudaStream_t stream);

/* Takes over a `mode n` ordering of the same segments, from which mode n is computed from now on;
 * it is empty afterwards, whatever is returned. On failure the stream goes on as before. No work
 * may be under way. STATUS_MEMORY. */
enum status device_stream_adopt(struct device_stream *s, struct packed_tensor *replica,
                                struct error *error);

/* Lets all of an ordering flow, and nothing of it stay on the device. No work may be under way. */
void device_stream_vacate(struct device_stream *s, int ordering);

/* Frees the orderings that serve no mode, and shares the room on the device anew among those that
 * do. No work may be under way. */
enum status device_stream_rearrange(struct device_stream *s, struct error *error);

/* Bytes of device memory for what stays there, of all orderings. */
uint64_t device_stream_room(const struct device_stream *s);

/* How long the latest call for this mode took; waits for its end. */
enum status device_stream_seconds(const struct device_stream *s, int mode, double *seconds,
                                  struct error *error);

/* Bytes that flow for one MTTKRP of this mode. */
uint64_t device_stream_bytes(const struct device_stream *s, int mode);

/* "streamed x2048, sorted batches, 35 % resident", or "own ordering streamed x1024, ...": nonzeros
 * of a chunk, what is done to a batch, and the part of the bytes that stays. */
void device_stream_describe(const struct device_stream *s, int mode, char *text, size_t size);

#endif
