/* The sizes in which the reader works, for tests that want many pieces of a small file. */
#ifndef BLCO_TNS_TESTING_H
#define BLCO_TNS_TESTING_H

#include <stddef.h>

#include "formats/tns/tns.h"

struct tns_sizes {
    size_t batch; /* bytes of text read ahead at a time; no line may be longer */
    size_t chunk; /* bytes that a thread parses at a time                      */
};

/* tns_read in pieces of these sizes. The result is the same whatever they are. */
enum status tns_read_sized(struct coo *x, const char *path, const struct tns_options *options,
                           const struct tns_sizes *sizes, struct progress *progress,
                           struct tns_report *report, struct error *error);

#endif
