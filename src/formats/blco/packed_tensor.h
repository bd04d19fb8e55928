/* An ordering of a tensor in host memory in the bytes of a .blco file's segments (blco_format.h):
 * groups of neighbours. This is the form in which a tensor that is too large for the
 * device waits and flows. */
#ifndef BLCO_PACKED_TENSOR_H
#define BLCO_PACKED_TENSOR_H

#include "formats/blco/blco_file.h"
#include "tensor/coo.h"

struct packed_tensor {
    struct shape shape;
    uint64_t nnz;
    int kind;             /* ORDERING_ALTO, or the mode whose rows stand together               */
    uint64_t segment_nnz; /* of every segment but the last                                      */
    uint64_t nsegments;
    struct blco_file_segment *segment; /* (nsegments); offsets count from bytes; owned          */
    uint8_t *bytes;                    /* (size), page-aligned; owned; segments in their order,
                                        * without gaps beyond BLCO_SEGMENT_ALIGN                */
    uint64_t size;
};

/* Bytes a nonzero that packed_tensor_build takes beside x and *p while it runs. */
#define PACKED_TENSOR_BUILD_BYTES 32

/* Sorts x along the ordering `kind` and packs it, segment_nnz (1 to BLCO_SEGMENT_NNZ, or 0 for
 * that) nonzeros a segment; x, of distinct coordinates, is only read. By all OpenMP threads. On
 * failure *p is empty. STATUS_MEMORY. */
enum status packed_tensor_build(struct packed_tensor *p, const struct coo *x, int kind,
                                uint64_t segment_nnz, struct progress *progress,
                                struct error *error);

/* A .blco file's segments as they are (alto order), checked: checksums, and what segment_is_sound
 * looks at. That every coordinate is below its mode's length is for whoever decodes to check. By
 * all OpenMP threads. On failure *p is empty. STATUS_INPUT, STATUS_MEMORY. */
enum status packed_tensor_load(struct packed_tensor *p, const struct blco_file *f,
                               struct progress *progress, struct error *error);

/* ||X||^2: the same bits whatever the number of threads. */
double packed_tensor_norm_sq(const struct packed_tensor *p);

/* Nonzeros of segments [begin, end). */
uint64_t packed_tensor_nnz(const struct packed_tensor *p, uint64_t begin, uint64_t end);

/* Accepts an empty one. */
void packed_tensor_free(struct packed_tensor *p);

#endif
