/* A rank's share of a .blco file: an even share of its segments. */
#ifndef BLCO_SHARE_BLCO_H
#define BLCO_SHARE_BLCO_H

#include "base/progress.h"
#include "formats/blco/blco_file.h"
#include "formats/tns/tns_options.h"
#include "ranks/share.h"

/* Opens the same .blco file on every rank of c (tensor_open_blco), or fails on all. The caller
 * closes *f, which is empty on failure; `path` outlives *f. STATUS_INPUT, also where the ranks'
 * files differ. */
enum status share_open_blco(struct blco_file *f, struct comm *c, const char *path,
                            const struct tns_options *options, struct error *error);

/* Reads this rank's share of an open .blco file; every rank of c calls it. The caller frees *s with
 * share_free; it is empty on failure, which all ranks see. STATUS_INPUT, STATUS_MEMORY. */
enum status share_read_blco(struct share *s, struct comm *c, const struct blco_file *f,
                            struct progress *progress, struct error *error);

/* As share_read_blco, but only about every `every`-th nonzero (1 or more) of the share is read;
 * s->total is the number of nonzeros that all ranks have read. */
enum status share_sample_blco(struct share *s, struct comm *c, const struct blco_file *f,
                              uint64_t every, struct error *error);

#endif
