/* Writes FROSTT text (.tns), plain or gzip. See blco-tns(5). */
#ifndef BLCO_TNS_WRITER_H
#define BLCO_TNS_WRITER_H

#include <stdint.h>

#include "base/progress.h"
#include "formats/tns/tns.h"
#include "tensor/coo.h"

struct tns_write_options {
    int index_base; /* 0 or 1 */
    enum tns_header header;
};

struct tns_write_report {
    uint64_t text_bytes; /* before compression     */
    uint64_t file_bytes; /* as they are in the file */
};

/* Writes x's nonzeros in their order, the values with the fewest digits that read back exactly, by
 * all OpenMP threads; the bytes do not depend on their number. A path that ends in .gz is written
 * as gzip, in members that can be inflated at the same time; "-" is standard output. A file appears
 * whole or not at all. `report` may be NULL. STATUS_OUTPUT, STATUS_MEMORY. */
enum status tns_write(const struct coo *x, const char *path,
                      const struct tns_write_options *options, struct progress *progress,
                      struct tns_write_report *report, struct error *error);

/* The same in pieces, for tensors larger than memory. */
struct tns_writer;

/* Begins a file for a tensor of this order, these lengths (order) and `nnz` nonzeros. The caller
 * frees *w; it is NULL on failure. */
enum status tns_writer_open(struct tns_writer **w, const char *path, const struct shape *shape,
                            uint64_t nnz, const struct tns_write_options *options,
                            struct progress *progress, struct error *error);

/* The next nonzeros. Pieces of multiples of TNS_WRITE_PIECE nonzeros, but for the last, make the
 * same file as one piece does. A tensor without nonzeros is one piece of none. */
#define TNS_WRITE_PIECE 32768
enum status tns_writer_append(struct tns_writer *w, const struct coo *x, struct error *error);

/* The file is there. `report` may be NULL. */
enum status tns_writer_commit(struct tns_writer *w, struct tns_write_report *report,
                              struct error *error);

/* Drops what was not committed; accepts NULL. */
void tns_writer_free(struct tns_writer *w);

#endif
