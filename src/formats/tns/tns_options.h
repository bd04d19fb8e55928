/* How a FROSTT text file is to be read, and the headers that such a file may have. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/words.h"
#include "tensor/coo.h"

/* Sizes in which text is read. The result does not depend on the sizes. */
struct tns_sizes {
    size_t window;  /* bytes of text read ahead at a time; no text line may be longer */
    size_t section; /* bytes of text that a thread parses at a time                   */
};

struct tns_options {
    int index_base; /* 0 or 1                                                        */
    const char *index_base_given; /* "--index-base", or NULL: 1, and of .npy files 0          */
    int ndims;                /* number of modes that --dims names; 0: it is not given         */
    uint64_t dims[MAX_ORDER]; /* lengths; an index beyond its length is an error. 0: from the
                               * header or the indices                                         */
    const char *dims_origin[MAX_ORDER]; /* what gives a length; NULL: what gives the order     */
    const char *order_origin; /* "the model", which gives the order and all lengths for certain;
                               * NULL: --dims if it is given, else the file                    */
    bool values_optional;     /* all entries may lack their values, which are then unknown; with
                               * order_origin. One column may be an index, not a header        */
    uint64_t memory;          /* for reading, bytes; 0: MACHINE_MEMORY_FRACTION of the available */
    enum coo_zeros zeros;     /* what cleaning does to listed zeros                             */
    const struct value_check *check; /* of values, by a process that reads alone; NULL: none    */
    struct tns_sizes sizes; /* 0: the reader's; tests read small files in many steps           */
};

/* None; the order and the lengths, a text line each; or `sptensor`, order, lengths and number of
 * entries, a text line each. */
enum tns_header { TNS_HEADER_NONE, TNS_HEADER_DIMS, TNS_HEADER_SPTENSOR };
extern const struct word tns_header_words[];

/* What gives the order, and what the length of mode n, for messages. */
const char *tns_order_origin(const struct tns_options *options);
const char *tns_dims_origin(const struct tns_options *options, int n);

/* STATUS_INPUT if `options` give other lengths than `shape`, which the file `path`, CSV or .blco,
 * has for certain. */
enum status tns_check_lengths(const char *path, const struct shape *shape,
                              const struct tns_options *options, struct error *error);
