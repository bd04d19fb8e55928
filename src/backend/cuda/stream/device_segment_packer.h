/* Packs sorted nonzeros on the device into segments of a packed tensor in host memory. */
#ifndef BLCO_DEVICE_SEGMENT_PACKER_H
#define BLCO_DEVICE_SEGMENT_PACKER_H

#include <cuda_runtime.h>

#include "backend/cuda/runtime/device_staging.h"
#include "formats/blco/packed_tensor.h"
#include "kernels/packed/pack.h"

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

/* Nonzeros on the device, sorted along a line. */
struct device_sorted_nonzeros {
    const void *line; /* (nnz x words): lines of line_bits bits */
    int words, line_bits;
    const double *value; /* (nnz) */
    uint64_t nnz;
};

/* Packs the next nonzeros, by way of out (out_bytes), device memory. They are whole segments, but
 * the tensor's last segment may be shorter. All is done when it returns. Checksums are left 0.
 * STATUS_MEMORY where to->bytes has no room for the segments. */
enum status device_segment_packer_run(struct device_segment_packer *k,
                                      const struct device_sorted_nonzeros *x, uint8_t *out,
                                      uint64_t out_bytes, struct error *error);

#endif
