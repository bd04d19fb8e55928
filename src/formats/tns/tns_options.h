/* What a caller says about a text file, and the headers that such a file may have. */
#ifndef BLCO_TNS_OPTIONS_H
#define BLCO_TNS_OPTIONS_H

#include <stdint.h>

#include "tensor/coo.h"

struct tns_options {
    int index_base;           /* 0 or 1                                                         */
    int ndims;                /* how many lengths --dims gives; 0: taken from header or indices */
    uint64_t dims[MAX_ORDER]; /* an index beyond its length is an error                         */
    uint64_t memory; /* that tns_read may take; 0: MACHINE_MEMORY_SHARE of what is available   */
};

enum tns_header { TNS_HEADER_NONE, TNS_HEADER_DIMS, TNS_HEADER_SPTENSOR };

#endif
