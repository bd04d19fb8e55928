/* An ordering of a tensor in host memory in the bytes of a .blco file's segments (blco_format.h):
 * groups of neighbours. This is the form in which a tensor that is too large for the
 * device waits and flows. */
#ifndef BLCO_PACKED_TENSOR_H
#define BLCO_PACKED_TENSOR_H

#include "formats/blco/blco_file.h"
#include "tensor/coo.h"

struct packed {
    int order;
    uint64_t nnz;
    uint64_t dims[MAX_ORDER];
    int kind;             /* ORDERING_ALTO, or the mode whose rows stand together               */
    uint64_t segment_nnz; /* of every segment but the last                                      */
    uint64_t nsegments;
    struct blco_file_segment *segment; /* (nsegments); offsets count from bytes; owned          */
    uint8_t *bytes;                    /* (size), page-aligned; owned; segments in their order,
                                        * without gaps beyond BLCO_SEGMENT_ALIGN                */
    uint64_t size;
};

/* Bytes a nonzero that packed_build takes beside x and *p while it runs. */
#define PACKED_BUILD_BYTES 32

/* Sorts x along the ordering `kind` and packs it, segment_nnz (1 to BLCO_SEGMENT_NNZ, or 0 for
 * that) nonzeros a segment; x, of distinct coordinates, is only read. By all OpenMP threads. On
 * failure *p is empty. STATUS_MEMORY. */
enum status packed_build(struct packed *p, const struct coo *x, int kind, uint64_t segment_nnz,
                         struct progress *progress, struct error *error);

/* A .blco file's segments as they are (alto order), checked: checksums, and what blco_is_sound
 * looks at. That every coordinate is below its mode's length is for whoever decodes to check. By
 * all OpenMP threads. On failure *p is empty. STATUS_INPUT, STATUS_MEMORY. */
enum status packed_load(struct packed *p, const struct blco_file *f, struct progress *progress,
                        struct error *error);

/* ||X||^2: the same bits whatever the number of threads. */
double packed_norm_sq(const struct packed *p);

/* Nonzeros of segments [begin, end). */
uint64_t packed_nnz(const struct packed *p, uint64_t begin, uint64_t end);

/* Accepts an empty one. */
void packed_free(struct packed *p);

#endif
