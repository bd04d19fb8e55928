/* Some nonzeros of a .blco file, evenly spread over it, without decoding it all. */
#ifndef BLCO_BLCO_SAMPLE_H
#define BLCO_BLCO_SAMPLE_H

#include "formats/blco/blco_file.h"
#include "tensor/coo.h"

/* Decodes every `every`-th group (1 or more) of segments [begin, end), and so about every
 * `every`-th nonzero, with all OpenMP threads. Checksums are not checked. The caller frees *x,
 * which is empty on failure. STATUS_INPUT where a group is damaged, STATUS_MEMORY. */
enum status blco_sample(struct coo *x, const struct blco_file *f, uint64_t begin, uint64_t end,
                        uint64_t every, struct error *error);

#endif
