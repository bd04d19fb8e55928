/* One packed ordering of a tensor that is streamed: its batches, and what the device has of it. */
#ifndef BLCO_DEVICE_PACKED_TENSOR_H
#define BLCO_DEVICE_PACKED_TENSOR_H

#include <stdbool.h>

#include "backend/cuda/tensor/device_tensor.h"
#include "formats/blco/packed_tensor.h"
#include "kernels/packed/unpack.h"

struct device_packed_tensor {
    struct packed_tensor packed; /* owned */
    uint64_t segments; /* of a batch; the last one may have fewer                              */
    uint64_t nbatches;
    uint64_t nresident;             /* batches, the first ones, that stay on the device           */
    uint8_t *resident;              /* their bytes; device, owned                                 */
    struct unpack_segment *segment; /* (packed.nsegments); device, owned                          */
    struct packed_spread *spread;   /* (1): of this ordering; device, owned                       */
    struct device_chunk_table full, last; /* of a batch, and of the last one */
    bool pinned;  /* the host memory is registered: the copy engine reads it    */
    bool checked; /* all its coordinates have been seen to be below the lengths */
};

/* Takes over *packed, which is empty afterwards, whatever is returned; it is decoded to the words
 * of `layout`. Batches are of about batch_nnz nonzeros, but whole segments. The caller closes *p,
 * after a failure too. */
enum status device_packed_tensor_open(struct device_packed_tensor *p, struct packed_tensor *packed,
                                      const struct packed_layout *layout, uint64_t batch_nnz,
                                      struct error *error);

/* Takes as many of the first batches as `bytes` hold to the device, or none where it has less room
 * than that. */
enum status device_packed_tensor_keep(struct device_packed_tensor *p, uint64_t bytes,
                                      struct error *error);

/* Undoes that: nothing stays. No copy may be under way. */
void device_packed_tensor_drop(struct device_packed_tensor *p);

/* Accepts a zeroed one. No copy from its memory may be under way. */
void device_packed_tensor_close(struct device_packed_tensor *p);

/* Where batch b's bytes begin, or (b = nbatches) all end, counted from packed.bytes. */
uint64_t device_packed_tensor_at(const struct device_packed_tensor *p, uint64_t b);

uint64_t device_packed_tensor_bytes(const struct device_packed_tensor *p, uint64_t b);
uint64_t device_packed_tensor_nnz(const struct device_packed_tensor *p, uint64_t b);

/* Nonzeros of a chunk, and the chunks of batch b. */
uint32_t device_packed_tensor_chunk_size(const struct device_packed_tensor *p);
const struct device_chunk_table *device_packed_tensor_chunks(const struct device_packed_tensor *p,
                                                             uint64_t b);

#endif
