/* Decodes packed nonzeros on the device. Device pointers only; nothing of src/ is known here. */
#pragma once

#include "numerics/launchers.h"
#include "numerics/packed_group.h"

LAUNCHERS_BEGIN

struct unpack_segment {
    uint64_t offset; /* where its bytes begin */
    uint32_t ngroups;
};

/* Consecutive segments. Their bytes must be sound: groups follow each other and lie in the segment.
 */
struct unpack_args {
    struct packed_layout layout;
    const struct packed_spread *spread; /* of the segments' ordering                              */
    const uint8_t *bytes;               /* from `offset` on; aligned to 16 bytes                  */
    uint64_t offset;
    const struct unpack_segment *segment; /* (nnz / segment_nnz, rounded up)                      */
    uint32_t segment_nnz;                 /* of every segment but the last                        */
    uint64_t nnz;
    uint64_t *index[PACKED_WORDS]; /* (nnz) each; [1] is not written where layout.words is 1      */
    void *value;                   /* (nnz), of `precision`                                       */
    enum precision precision;
    int *damaged; /* (1): becomes a mode, counted from one, with a coordinate that is not below its
                   * length; unchanged if there is no such mode */
};

/* Writes the nonzeros' words and values; a nonzero with a coordinate beyond its mode's length gets
 * words of zeros. Asynchronous; returns the launch's error. */
cudaError_t unpack_launch(const struct unpack_args *args, cudaStream_t stream);

LAUNCHERS_END
