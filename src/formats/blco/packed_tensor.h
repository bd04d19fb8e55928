/* A tensor in host memory, sorted along one ordering and packed in the segments of a .blco file
 * (blco_format.h): the form in which a tensor larger than device memory is streamed. */
#pragma once

#include "formats/blco/blco_file.h"
#include "tensor/coo.h"

struct packed_tensor {
    struct shape shape;
    uint64_t nnz;
    int kind;             /* ORDERING_ALTO, or the mode by whose rows the nonzeros are sorted */
    uint64_t segment_nnz; /* of every segment but the last                                    */
    uint64_t nsegments;
    struct blco_file_segment *segment; /* (nsegments); offsets count from bytes; owned */
    uint8_t *bytes;                    /* (size) segments in their order, page-aligned, without
                                        * gaps beyond BLCO_SEGMENT_ALIGN; owned                 */
    uint64_t size;
};

/* Sorts x, whose coordinates are distinct, along the ordering `kind` and packs it with all OpenMP
 * threads: `segment_nnz` nonzeros a segment, 1 to BLCO_SEGMENT_NNZ, or 0 for BLCO_SEGMENT_NNZ. x is
 * not changed. Takes 32 bytes a nonzero beside x and *p while it runs. The caller frees *p, which
 * is empty on failure. STATUS_MEMORY. */
enum status packed_tensor_build(struct packed_tensor *p, const struct coo *x, int kind,
                                uint64_t segment_nnz, struct progress *progress,
                                struct error *error);

/* Copies the segments of a .blco file, which are in alto order, with all OpenMP threads, and checks
 * checksums and segment_is_sound(). The decoder must check that every coordinate is below its
 * mode's length. The caller frees *p, which is empty on failure. STATUS_INPUT if the file is
 * damaged, STATUS_MEMORY. */
enum status packed_tensor_load(struct packed_tensor *p, const struct blco_file *f,
                               struct progress *progress, struct error *error);

/* Copies only the entry of the first group of each segment, unchecked, which suffices for
 * segment_rows.h. The caller frees *p, which is empty on failure. STATUS_INPUT, STATUS_MEMORY. */
enum status packed_tensor_load_lines(struct packed_tensor *p, const struct blco_file *f,
                                     struct error *error);

/* ||X||^2, without unknown entries, with the same bits whatever the number of threads. A file is
 * read segment by segment: STATUS_INPUT where one is damaged, STATUS_MEMORY. */
double packed_tensor_norm_sq(const struct packed_tensor *p);
enum status packed_tensor_file_norm_sq(const struct blco_file *f, double *sum, struct error *error);

/* The number of nonzeros of segments [begin, end). */
uint64_t packed_tensor_nnz(const struct packed_tensor *p, uint64_t begin, uint64_t end);

/* Accepts an empty *p. */
void packed_tensor_free(struct packed_tensor *p);
