/* Reads the header of FROSTT text (see enum tns_header), one text line at a time, until the form of
 * the entries is known. */
#ifndef BLCO_TNS_HEADER_H
#define BLCO_TNS_HEADER_H

#include <stdbool.h>

#include "formats/tns/tns_line.h"
#include "formats/tns/tns_options.h"
#include "tensor/shape.h"

/* What must come in the next text line that is not blank. */
enum tns_awaited {
    TNS_AWAIT_FIRST,
    TNS_AWAIT_ORDER,
    TNS_AWAIT_LENGTHS,
    TNS_AWAIT_COUNT,
    TNS_AWAIT_ENTRY, /* the first entry, which shows whether entries have values */
    TNS_READY        /* an entry */
};

struct tns_head {
    const char *name;                  /* of the file, for messages; not owned */
    const struct tns_options *options; /* not owned                            */
    enum tns_awaited awaited;
    enum tns_header dialect;
    struct shape shape;       /* from the header                            */
    uint64_t count;           /* entries that an `sptensor` header declares */
    struct tns_format format; /* of the entries; set once TNS_READY         */
};

/* Awaits the first text line of a file. `name` and *options outlive *h. */
void tns_head_begin(struct tns_head *h, const char *name, const struct tns_options *options);

/* Takes the next text line of the file, [line, end), number `number`. *is_entry is true if the line
 * is the first entry; then only entries follow. STATUS_INPUT if the line is neither an entry nor
 * part of a header. */
enum status tns_head_line(struct tns_head *h, const char *line, const char *end, uint64_t number,
                          bool *is_entry, struct error *error);

/* Whether [line, end) is the first text line of a header with the word `sptensor`. */
bool tns_is_sptensor(const char *line, const char *end);

/* Takes the end of the file. STATUS_INPUT if the file ends within the header or has no entries. */
enum status tns_head_end(const struct tns_head *h, struct error *error);

#endif
