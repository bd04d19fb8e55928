/* Writes FROSTT text (.tns), plain or gzip. See blco-tns(5). */
#pragma once

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

/* Writes the nonzeros of x in their order, values with the fewest digits that read back exactly,
 * with all OpenMP threads, whose number does not change the bytes. A path that ends in .gz is
 * written as gzip, in members that can be inflated at the same time; "-" is standard output. A file
 * appears whole or not at all. `report` may be NULL. STATUS_OUTPUT, STATUS_MEMORY. */
enum status tns_write(const struct coo *x, const char *path,
                      const struct tns_write_options *options, struct line_writer_report *report,
                      struct error *error);

/* Writes a tensor piece by piece, for tensors larger than memory. */
struct tns_writer;

/* Begins a file for a tensor of this shape and `nnz` nonzeros. The caller frees *w, which is NULL
 * on failure. STATUS_OUTPUT, STATUS_MEMORY. */
enum status tns_writer_open(struct tns_writer **w, const char *path, const struct shape *shape,
                            uint64_t nnz, const struct tns_write_options *options,
                            struct error *error);

/* Writes the next piece. If every piece but the last has a multiple of TNS_WRITE_PIECE nonzeros,
 * the file is the same as from one piece. A tensor without nonzeros is one piece without nonzeros.
 * STATUS_OUTPUT. */
#define TNS_WRITE_PIECE 32768
enum status tns_writer_append(struct tns_writer *w, const struct coo *x, struct error *error);

/* Gives the file its name: it is complete. `report` may be NULL. STATUS_OUTPUT. */
enum status tns_writer_commit(struct tns_writer *w, struct line_writer_report *report,
                              struct error *error);

/* Deletes a file that was not committed. Accepts NULL. */
void tns_writer_free(struct tns_writer *w);
