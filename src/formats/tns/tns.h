/* FROSTT text (.tns), plain or gzip, and the header dialects of other tools. See blco-tns(5). */
#ifndef BLCO_TNS_H
#define BLCO_TNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/progress.h"
#include "tensor/coo.h"

struct tns_options {
    int index_base;           /* 0 or 1                                                         */
    int ndims;                /* how many lengths --dims gives; 0: taken from header or indices */
    uint64_t dims[MAX_ORDER]; /* an index beyond its length is an error                         */
    uint64_t memory;          /* that tns_read may take; 0: MEMORY_SHARE of what is available   */
};

enum tns_header { TNS_HEADER_NONE, TNS_HEADER_DIMS, TNS_HEADER_SPTENSOR };

struct tns_report {
    enum tns_header header;
    bool gzip;
    uint64_t text_bytes; /* of text, after inflation */
    uint64_t entries;    /* nonzeros as they stand in the file, zeros and duplicates included */
};

/* Reads a tensor from a file, or from standard input where path is "-", by all OpenMP threads. What
 * is in *x is what the file says, in its order: zeros and duplicates are still in it (coo_clean).
 * Errors name file, line, mode, what was read and what was expected: "x.tns:17: mode 2: index 0,
 * expected 1 or more". *x is fresh, or empty on failure. STATUS_INPUT, STATUS_MEMORY: the latter
 * also where a batch of text would make more entries than options->memory holds, with
 * TNS_CLEAN_BYTES for each to clean them, so that the system does not run out of memory. */
#define TNS_CLEAN_BYTES 8
enum status tns_read(struct coo *x, const char *path, const struct tns_options *options,
                     struct progress *progress, struct tns_report *report, struct error *error);

/* Where tns_read_parts lets go of what it has read. */
struct tns_parts {
    uint64_t memory;   /* that the entries of one part may take                                 */
    uint64_t overhead; /* bytes an entry, beside its 4 for each mode and 8 for the value        */
    /* Takes the entries of *part, which is the reader's again afterwards. Its lengths are those of
     * the largest indices so far. */
    enum status (*take)(void *context, struct coo *part, struct error *error);
    void *context;
};

/* tns_read for files larger than memory: whenever there are as many entries as memory holds, they
 * are handed over, in file order. *x has the last ones (perhaps none), and the lengths of the whole
 * tensor. A part has at least the entries of 64 kB of text. */
enum status tns_read_parts(struct coo *x, const char *path, const struct tns_options *options,
                           const struct tns_parts *parts, struct progress *progress,
                           struct tns_report *report, struct error *error);

#endif
