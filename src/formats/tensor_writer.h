/* Writes a tensor that comes in pieces in alto order to a file, .blco or text by its name. */
#ifndef BLCO_TENSOR_WRITER_H
#define BLCO_TENSOR_WRITER_H

#include "formats/blco/blco_writer.h"
#include "formats/tensor_file.h"
#include "formats/tns/tns_writer.h"
#include "tensor/coo.h"

struct tensor_writer {
    const struct tensor_format *format;
    struct blco_writer blco;
    struct tns_writer *text;
};

struct tensor_write_options {
    struct tns_write_options text;
    uint64_t memory; /* of a .blco file: bytes of nonzeros that may wait; one segment always may */
};

/* Begins a file for a tensor of this shape and `nnz` nonzeros. The caller frees *w, which is empty
 * on failure. STATUS_OUTPUT, STATUS_MEMORY. */
enum status tensor_writer_open(struct tensor_writer *w, const char *path, const struct shape *shape,
                               uint64_t nnz, const struct tensor_write_options *options,
                               struct error *error);

/* Writes the next piece; every piece but the last has a multiple of BLCO_SEGMENT_NNZ nonzeros.
 * STATUS_OUTPUT, STATUS_MEMORY. */
enum status tensor_writer_append(struct tensor_writer *w, const struct coo *x, struct error *error);

/* Completes the file. *report has its bytes and, for text, the bytes before compression.
 * STATUS_OUTPUT, STATUS_MEMORY. */
enum status tensor_writer_commit(struct tensor_writer *w, struct line_writer_report *report,
                                 struct error *error);

/* Deletes a file that was not committed. Accepts an empty *w. */
void tensor_writer_free(struct tensor_writer *w);

#endif
