/* From sorted nonzeros on the device to packed segments in host memory (packed.h). */
#ifndef BLCO_DEVICE_SEGMENT_PACKER_H
#define BLCO_DEVICE_SEGMENT_PACKER_H

#include <cuda_runtime.h>

#include "backend/cuda/runtime/device_staging.h"
#include "formats/blco/packed_tensor.h"
#include "kernels/packed/pack.h"

struct device_segment_packer {
    struct packed_tensor *to;   /* its arrays are there, and its first segments are done   */
    uint64_t done;              /* so many of them                                         */
    uint64_t room;              /* bytes that to->bytes holds                              */
    uint64_t segments;          /* that are packed at a time, at most                      */
    struct packed_group *group; /* (segments x groups of a segment); device, owned     */
    uint32_t *bytes;            /* (segments); device, owned                           */
    uint64_t *offset;           /* (segments + 1); device, owned                       */
    uint32_t *host_bytes;       /* (segments); owned                                   */
    uint64_t *host_offset;      /* (segments + 1); owned                               */
    struct device_staging *staging;
};

/* Bytes of device memory that packing `nnz` nonzeros at a time takes, and of the room for packed
 * bytes, one segment's, that it needs at least. */
uint64_t device_segment_packer_bytes(uint64_t nnz, uint64_t segment_nnz);
uint64_t device_segment_packer_least(uint64_t segment_nnz);

/* For at most nnz nonzeros at a time, to be packed into *to, whose segment table has been allocated
 * and whose `room` bytes are to be filled from to->size on. The staging stays the caller's, who
 * closes *k, after a failure too. STATUS_MEMORY. */
enum status device_segment_packer_open(struct device_segment_packer *k, struct packed_tensor *to,
                                       uint64_t room, uint64_t nnz, struct device_staging *staging,
                                       struct error *error);
void device_segment_packer_close(struct device_segment_packer *k);

/* Packs the next nnz nonzeros: whole segments, but the last one where the tensor ends; lines of
 * `words` words and line_bits bits, sorted. By way of out (out_bytes), device memory. All is done
 * when it returns. Checksums are left 0. STATUS_MEMORY where to->bytes has no room for them. */
enum status device_segment_packer_run(struct device_segment_packer *k, const void *line,
                                      const double *value, uint64_t nnz, int words, int line_bits,
                                      uint8_t *out, uint64_t out_bytes, struct error *error);

#endif
