/* Writes FROSTT text (.tns), plain or gzip. See blco-tns(5). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/progress.h"
#include "formats/tns/line_writer.h"
#include "formats/tns/tns_options.h"
#include "tensor/coo.h"

struct tns_write_options {
    int index_base; /* 0 or 1 */
    enum tns_header header;
    struct progress *progress; /* may be NULL */
};

/* Writes the nonzeros of a tensor in their order, values with the fewest digits that read back
 * exactly, with all OpenMP threads, whose number does not change the bytes. */
struct tns_writer {
    struct shape shape;
    uint64_t nnz;
    const struct coo *x; /* the piece that is being written; borrowed */
    bool begun;          /* the header is written                     */
    struct tns_write_options options;
    struct line_writer *lines; /* owned */
};

/* Begins a file for a tensor of this shape and `nnz` nonzeros. A path that ends in .gz is written
 * as gzip, in members that can be inflated at the same time; "-" is standard output. The caller
 * commits w->lines, and frees them (line_writer.h); they are NULL on failure. STATUS_OUTPUT,
 * STATUS_MEMORY. */
enum status tns_writer_open(struct tns_writer *w, const char *path, const struct shape *shape,
                            uint64_t nnz, const struct tns_write_options *options,
                            struct error *error);

/* Writes the next piece. If every piece but the last has a multiple of TNS_WRITE_PIECE nonzeros,
 * the file is the same as from one piece. A tensor without nonzeros is one piece without nonzeros.
 * STATUS_OUTPUT. */
#define TNS_WRITE_PIECE 32768
enum status tns_writer_append(struct tns_writer *w, const struct coo *x, struct error *error);
