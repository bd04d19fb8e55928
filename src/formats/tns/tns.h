/* Reads FROSTT text (.tns), plain or gzip, with the headers of other tools. See blco-tns(5). */
#ifndef BLCO_TNS_H
#define BLCO_TNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/progress.h"
#include "formats/tns/tns_options.h"
#include "formats/tns/tns_text.h"
#include "tensor/coo.h"

struct tns_report {
    enum tns_header header;
    bool gzip;
    uint64_t text_bytes; /* after inflation */
    uint64_t entries;    /* in the file, zeros and duplicates included */
};

/* Reads a tensor from a file, or from standard input if path is "-", with all OpenMP threads. *x
 * has the entries in the order of the file, with zeros and duplicates (see coo_clean()). Errors
 * name file, text line, mode, what was read and what was expected: "x.tns:17: mode 2: index 0,
 * expected 1 or more". The caller frees *x, which is empty on failure. STATUS_INPUT. STATUS_MEMORY,
 * also where the entries, with TNS_CLEAN_BYTES for each to clean them, may take more bytes than
 * options->memory, so that the system does not run out of memory. */
#define TNS_CLEAN_BYTES 16
enum status tns_read(struct coo *x, const char *path, const struct tns_options *options,
                     struct progress *progress, struct tns_report *report, struct error *error);

/* How tns_read_pieces() hands over entries. */
struct tns_pieces {
    uint64_t memory;           /* bytes that the entries of one piece may take                   */
    uint64_t overhead;         /* bytes of an entry, beside 4 for each mode and 8 for the value  */
    coo_taker take;            /* the lengths of a piece are those of the largest indices so far */
    void *context;             /* of `take`; not owned                                           */
    struct progress *progress; /* may be NULL                                            */
};

/* The whole tensor as one piece, of `memory` bytes (0: what the machine has): where it has more
 * entries, STATUS_MEMORY with a message that names *path, which must stay, and what to do. */
struct tns_pieces tns_whole(uint64_t memory, const char **path, struct progress *progress);

/* tns_read() for files larger than memory: whenever there are as many entries as memory holds, they
 * are handed over, in the order of the file. *x has the last ones (perhaps none) and the lengths of
 * the whole tensor. A piece has at least the entries of 64 kB of text. Errors of tns_read() and of
 * `take`. */
enum status tns_read_pieces(struct coo *x, const char *path, const struct tns_options *options,
                            const struct tns_pieces *pieces, struct tns_report *report,
                            struct error *error);

#endif
