/* MTTKRP of a tensor that is larger than the device: packed orderings in host memory flow through
 * a few slots in device memory, batch after batch, and are decoded there.
 *
 * A copy stream fills the slots ahead. Decoding and MTTKRP of the batches alternate between
 * workspaces: decoding has precedence, so that the next batch is decoded in time, and the next
 * batch's MTTKRP has the multiprocessors that the last chunks of the present batch leave idle.
 * Events keep copies, decoding and MTTKRP in step; the host waits for none of them. What fits
 * beside the slots stays on the device, packed; batches that stay come evenly between batches that
 * flow. */
#pragma once

#include <cuda_runtime.h>
#include <stdbool.h>

#include "backend/cuda/mttkrp/device_mttkrp.h"
#include "backend/cuda/stream/device_packed_tensor.h"
#include "kernels/mttkrp/row_sort.h"
#include "kernels/residual/residual.h"
#include "numerics/precision.h"
#include "plan/plan.h"

/* Where a packed batch arrives. */
struct device_stream_slot {
    uint8_t *bytes;               /* (slot_bytes of struct device_stream); device, owned */
    cudaEvent_t arrived, emptied; /* its batch is copied; its batch is decoded. Owned     */
};

/* Where a batch is decoded and worked on. Streams and events are owned. */
struct device_stream_workspace {
    cudaStream_t stream;  /* decodes and sorts; its kernels get free multiprocessors first */
    cudaStream_t product; /* MTTKRP */
    cudaEvent_t ready;    /* its batch is decoded and sorted                     */
    cudaEvent_t done;     /* its batch is multiplied, and the workspace is free  */
    uint64_t *index[PACKED_WORDS]; /* (nonzeros of a batch) each: decoded; device, owned */
    void *value;                   /* the same, with room for doubles                    */
    struct row_sort sort;          /* where a mode needs it; all arrays: device, owned */
};

/* What sorting batches of at most nnz nonzeros by output row takes (row_sort.h). Along the alto
 * line the nonzeros of a row are too far apart to be in one chunk, but many are in one batch: in a
 * sorted batch, a row takes about one atomic addition, instead of one for nearly each nonzero. Adds
 * the bytes of device memory, at most PLAN_SORT_BYTES (plan.h) a nonzero and a few kilobytes, to
 * *used. The caller closes *s, also after a failure; device_batch_sort_close accepts a zeroed one.
 * STATUS_MEMORY. */
enum status device_batch_sort_open(struct row_sort *s, uint64_t nnz, uint64_t *used,
                                   struct error *error);
void device_batch_sort_close(struct row_sort *s);

/* Queues work on batch b of an ordering, decoded in a workspace: work that reads the nonzeros goes
 * into workspace->product after device_stream_workspace_ready, work before that into
 * workspace->stream. */
typedef cudaError_t device_stream_consumer(void *context, const struct device_packed_tensor *o,
                                           uint64_t b,
                                           const struct device_stream_workspace *workspace);

#define DEVICE_STREAM_NOTHING (-1)

/* Batches of an ordering, one after the other, to a consumer. */
struct device_stream_pass {
    int ordering;          /* place in struct device_stream's                             */
    const uint64_t *batch; /* (batches) that the pass takes, ascending; NULL: all of them */
    uint64_t batches;
    int following; /* the ordering whose batches are likely to be next; or _NOTHING       */
    enum precision precision;        /* of the values that are decoded */
    device_stream_consumer *consume; /* NULL: they are only decoded */
    void *context;                   /* for the consumer */
};

/* The batches of a pass: those that stay on the device, and then those that flow. */
struct device_stream_batches {
    int ordering;
    const uint64_t *number;   /* (count) ascending; NULL: all of the ordering, 0 to count - 1 */
    uint64_t count, resident; /* the first `resident` of them stay                            */
};

struct device_stream {
    int order, orderings;
    struct device_packed_tensor ordering[MAX_ORDER + 1]; /* (orderings); owned             */
    int serves[MAX_ORDER]; /* the ordering that each mode is computed from      */
    enum conflict conflict[MAX_ORDER];
    bool sorted[MAX_ORDER]; /* batches are sorted by this mode's rows */
    struct packed_layout layout;
    enum precision precision; /* of decoded values and of factors                       */
    int *damaged;             /* (1) as in struct unpack_args; device, owned            */
    uint64_t batch_nnz;       /* nonzeros of a batch, about                             */
    uint64_t bytes;           /* of device memory that may be used                      */
    uint64_t used;            /* bytes that slots and workspaces take                   */
    uint64_t slot_bytes;      /* that the largest batch takes                           */

    struct device_stream_workspace workspace[PLAN_WORKSPACES];
    cudaEvent_t begun;                                /* a call: M is zero         */
    cudaEvent_t started[MAX_ORDER], ended[MAX_ORDER]; /* each mode's latest call   */

    cudaStream_t copy; /* host to slots */
    struct device_stream_slot slot[PLAN_SLOTS];
    uint64_t filled, emptied;          /* slots so far, one after the other in a ring    */
    struct device_stream_batches flow; /* the pass whose batches fill the slots          */
    uint64_t next;                     /* of its batches that flow, the next one to copy */
    bool ahead;                        /* that pass has not begun                        */

    /* In place of each batch's values, MTTKRP takes their terms (residual_terms), made with these
     * arguments; the nonzeros are set here. Borrowed; NULL: the values. */
    const struct residual_args *terms;
    int last_mode; /* the mode that was asked for last, or -1        */
};

struct device_stream_request {
    const enum conflict *conflict; /* (order)                                                    */
    const bool *sorted;            /* (order): the mode takes batches sorted by row; only of
                                    * `register`                                                 */
    uint64_t batch_nnz;            /* nonzeros of a batch, but whole segments                    */
    uint64_t bytes;           /* device memory that may be used: slots, and batches that stay */
    enum precision precision; /* of decoded values and of factors                           */
};

/* Takes over `count` packed orderings, which are empty afterwards, also after a failure. Modes that
 * are `ordered` are computed from the ordering of their kind, all others from the alto one.
 * Memory that the slots leave is divided evenly among the orderings, for batches that stay. On
 * failure *s is empty. STATUS_MEMORY. */
enum status device_stream_open(struct device_stream *s, struct packed_tensor *packed, int count,
                               const struct device_stream_request *q, struct error *error);

/* Accepts an empty one. */
void device_stream_close(struct device_stream *s);

/* f->m = M of `mode`. Asynchronous, except for the first MTTKRP from an ordering: that one waits,
 * and returns STATUS_INPUT where a coordinate is not below its mode's length. */
enum status device_stream_mttkrp(struct device_stream *s, int mode, const struct device_factors *f,
                                 cudaStream_t stream, struct error *error);

/* Adds the sums of residual_nonzeros for every batch to sum (PLAN_WORKSPACES x RESIDUAL_BLOCKS,
 * device), or where there is args->components, those of residual_components to that. args has the
 * model and the fields of device_stream_field; the nonzeros are set here. Asynchronous. */
enum status device_stream_residual(struct device_stream *s, const struct residual_args *args,
                                   struct double_double *sum, cudaStream_t stream,
                                   struct error *error);

/* The place of mode n's row number in the decoded index. */
struct mttkrp_field device_stream_field(const struct device_stream *s, int n);

/* For consumers: *args has the nonzeros and chunks of batch b. */
void device_stream_batch(const struct device_packed_tensor *o, uint64_t b,
                         const struct device_stream_workspace *workspace, struct mttkrp_args *args);

/* For consumers: later work in workspace->product waits for the work now in workspace->stream. */
cudaError_t device_stream_workspace_ready(const struct device_stream_workspace *workspace);

/* Queues a pass: what its consumer puts into workspace->product runs after the work now in `stream`
 * and before later work there. */
cudaError_t device_stream_pass(struct device_stream *s, const struct device_stream_pass *pass,
                               cudaStream_t stream);

/* After a pass over all batches of an ordering: waits, and returns STATUS_INPUT where a coordinate
 * is not below its mode's length. Does nothing where that is known. */
enum status device_stream_check(struct device_stream *s, int ordering, cudaStream_t stream,
                                struct error *error);

/* Takes over a `mode n` ordering of the same segments, from which mode n is computed from now on;
 * *replica is empty afterwards, also after a failure, which leaves the stream as it was. No work
 * may be queued. STATUS_MEMORY. */
enum status device_stream_adopt(struct device_stream *s, struct packed_tensor *replica,
                                struct error *error);

/* Frees the orderings that serve no mode, and divides the room on the device anew among the others.
 * No work may be queued. */
enum status device_stream_rearrange(struct device_stream *s, struct error *error);

/* Bytes of device memory for batches that stay, of all orderings. */
uint64_t device_stream_room(const struct device_stream *s);

/* How long the latest MTTKRP of this mode took; waits for its end. */
enum status device_stream_seconds(const struct device_stream *s, int mode, double *seconds,
                                  struct error *error);

/* Bytes that flow for one MTTKRP of this mode. */
uint64_t device_stream_bytes(const struct device_stream *s, int mode);

/* "streamed x2048, sorted batches, 35 % resident", or "own ordering streamed x1024, ...": nonzeros
 * of a chunk, what is done to a batch, and how much of the bytes stays. */
void device_stream_describe(const struct device_stream *s, int mode, char *text, size_t size);
