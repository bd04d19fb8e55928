/* Packs sorted nonzeros on the device, byte for byte as the host does: segments of groups
 * (packed_group.h). Device pointers only; nothing of src/ is known here. All launchers are
 * asynchronous and return the launch's error. */
#pragma once

#include "numerics/launchers.h"
#include "numerics/packed_group.h"

LAUNCHERS_BEGIN

#define PACK_SEGMENT_ALIGN 64 /* a segment's bytes are a multiple of this          */
#define PACK_MOST_WHOLE    (INT64_C(1) << 53) /* up to here every whole number is a double       */
#define PACK_WHOLE_BITS    55 /* of a field of whole numbers, at most              */

/* Nonzeros in whole segments; the last segment may be shorter. */
struct pack_args {
    const void *line;    /* (nnz) sorted, of 64 bits each, or 128 where words is 2        */
    const double *value; /* (nnz)                                                         */
    uint64_t nnz;
    uint32_t segment_nnz; /* of every segment but the last                                 */
    int words;            /* 1 or 2                                                        */
    int line_bits;        /* an entry has as many words as these need                      */
    struct packed_group
        *group;      /* (segments x pack_groups): measured; the last segment may have fewer */
    uint32_t *bytes; /* (segments): measured                                    */
};

/* Groups of a segment of nnz nonzeros. */
COMMON_FUNCTION uint32_t pack_groups(uint32_t nnz)
{
    return (nnz + PACKED_GROUP_NNZ - 1) / PACKED_GROUP_NNZ;
}

/* Chooses the groups' forms, into args->group, and sets args->bytes. */
cudaError_t pack_measure(const struct pack_args *args, cudaStream_t stream);

/* Writes the bytes of segments [first, first + count) to `out`, which has been zeroed: segment s
 * goes to out + (offset[s] - offset[first]), a multiple of PACK_SEGMENT_ALIGN. offset (segments).
 */
cudaError_t pack_write(const struct pack_args *args, uint64_t first, uint64_t count,
                       const uint64_t *offset, uint8_t *packed, cudaStream_t stream);

LAUNCHERS_END
