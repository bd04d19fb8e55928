/* A packed ordering of a streamed tensor, in host memory: its batches, the tables on the device
 * that describe them, and the first batches, which stay on the device. */
#pragma once

#include <stdbool.h>

#include "backend/cuda/tensor/device_tensor.h"
#include "formats/blco/packed_tensor.h"
#include "kernels/packed/unpack.h"

struct device_packed_tensor {
    struct packed_tensor packed; /* the segments in host memory; owned                       */
    uint64_t segments;           /* of a batch; the last batch may have fewer                */
    uint64_t nbatches;
    uint64_t nresident;             /* the first `nresident` batches stay on the device      */
    uint8_t *resident;              /* their bytes; device, owned                            */
    struct unpack_segment *segment; /* (packed.nsegments); device, owned                     */
    struct packed_spread *spread;   /* (1): of this ordering; device, owned                  */
    struct device_chunk_table full, last; /* of a batch, and of the last one; owned          */
    bool pinned;  /* the host memory is registered with the copy engine                      */
    bool checked; /* all coordinates are known to be below their modes' lengths              */
};

/* Takes over *packed, which is empty afterwards, also after a failure. Its nonzeros are decoded to
 * the words of `layout`. Batches have about batch_nnz nonzeros, but whole segments. The caller
 * closes *p, also after a failure. STATUS_MEMORY. */
enum status device_packed_tensor_open(struct device_packed_tensor *p, struct packed_tensor *packed,
                                      const struct packed_layout *layout, uint64_t batch_nnz,
                                      struct error *error);

/* Copies as many of the first batches as `bytes` hold to the device, where they stay; none if the
 * device has less room. */
enum status device_packed_tensor_keep(struct device_packed_tensor *p, uint64_t bytes,
                                      struct error *error);

/* Frees them: no batch stays. No copy may be queued. */
void device_packed_tensor_drop(struct device_packed_tensor *p);

/* Accepts a zeroed one. No copy from its memory may be queued. */
void device_packed_tensor_close(struct device_packed_tensor *p);

/* Where batch b's bytes begin, counted from packed.bytes; for b = nbatches, where all of them end.
 */
uint64_t device_packed_tensor_at(const struct device_packed_tensor *p, uint64_t b);

/* Bytes and nonzeros of batch b. */
uint64_t device_packed_tensor_bytes(const struct device_packed_tensor *p, uint64_t b);
uint64_t device_packed_tensor_nnz(const struct device_packed_tensor *p, uint64_t b);

/* Most nonzeros of a chunk, and the chunks of batch b. */
uint32_t device_packed_tensor_chunk_size(const struct device_packed_tensor *p);
const struct device_chunk_table *device_packed_tensor_chunks(const struct device_packed_tensor *p,
                                                             uint64_t b);
