/* Writes a tensor that comes in pieces along the alto line to a file whose name says how: .blco, or
 * text. */
#ifndef BLCO_TENSOR_WRITER_H
#define BLCO_TENSOR_WRITER_H

#include "formats/blco/blco_writer.h"
#include "formats/tensor_file.h"
#include "formats/tns/tns_writer.h"

struct tensor_writer {
    enum tensor_format format;
    struct blco_writer blco;
    struct tns_writer *text;
};

/* Begins a file for a tensor of this order, these lengths (order) and `nnz` nonzeros; `memory`
 * bounds the bytes of nonzeros that wait, above one segment. The options are for text. On failure
 * *w is empty. STATUS_OUTPUT, STATUS_MEMORY. */
enum status tensor_writer_open(struct tensor_writer *w, const char *path, const struct shape *shape,
                               uint64_t nnz, uint64_t memory,
                               const struct tns_write_options *options, struct error *error);

/* The next nonzeros; all pieces but the last have multiples of BLCO_SEGMENT_NNZ. */
enum status tensor_writer_append(struct tensor_writer *w, const struct coo *x, struct error *error);

/* The file is there. *report says its bytes and, where it is text, those before compression. */
enum status tensor_writer_commit(struct tensor_writer *w, struct tns_write_report *report,
                                 struct error *error);

/* Drops what was not committed; accepts an empty one. */
void tensor_writer_free(struct tensor_writer *w);

#endif
