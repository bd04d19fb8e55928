/* What stands before the entries of FROSTT text: nothing; a line with the order and one with the
 * lengths; or `sptensor`, order, lengths and the number of entries, each on a line. Read one line
 * at a time, until the format of the entries is known. */
#ifndef BLCO_TNS_HEADER_H
#define BLCO_TNS_HEADER_H

#include <stdbool.h>

#include "formats/tns/tns_line.h"
#include "formats/tns/tns_options.h"

enum tns_awaited {
    TNS_AWAIT_FIRST,
    TNS_AWAIT_ORDER,
    TNS_AWAIT_LENGTHS,
    TNS_AWAIT_COUNT,
    TNS_READY
};

struct tns_head {
    const char *name; /* of the file, for messages; not owned          */
    const struct tns_options *options;
    enum tns_awaited awaited; /* by the next line that is not blank    */
    enum tns_header dialect;
    struct shape shape;
    uint64_t count;           /* entries that `sptensor` declares      */
    struct tns_format format; /* of the entries, where TNS_READY       */
};

void tns_head_begin(struct tns_head *h, const char *name, const struct tns_options *options);

/* The file's next line, [line, end), `number` in it. *is_entry where it is the first entry, and not
 * the header's; then nothing but entries follows. */
enum status tns_head_line(struct tns_head *h, const char *line, const char *end, uint64_t number,
                          bool *is_entry, struct error *error);

/* The file is over. STATUS_INPUT where it ended within the header. */
enum status tns_head_end(const struct tns_head *h, struct error *error);

#endif
