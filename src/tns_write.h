/* Writes FROSTT text (.tns), plain or gzip. See blco-tns(5). */
#ifndef BLCO_TNS_WRITE_H
#define BLCO_TNS_WRITE_H

#include <stdint.h>

#include "coo.h"
#include "progress.h"
#include "tns.h"

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

#endif
