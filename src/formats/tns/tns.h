/* FROSTT text (.tns), plain or gzip, and the header dialects of other tools. See blco-tns(5). */
#ifndef BLCO_TNS_H
#define BLCO_TNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/progress.h"
#include "formats/tns/tns_options.h"
#include "tensor/coo.h"

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

/* Tests only: the sizes in which the reader works, to have many pieces of a small file. */
struct tns_sizes {
    size_t batch; /* bytes of text read ahead at a time; no line may be longer */
    size_t chunk; /* bytes that a thread parses at a time                      */
};

/* tns_read in pieces of these sizes. The result is the same whatever they are. */
enum status tns_read_sized(struct coo *x, const char *path, const struct tns_options *options,
                           const struct tns_sizes *sizes, struct progress *progress,
                           struct tns_report *report, struct error *error);

#endif
