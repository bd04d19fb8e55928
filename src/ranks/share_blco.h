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

/* share_read of an open .blco file. */
enum status share_read_blco(struct share *s, struct comm *c, const struct blco_file *f,
                            struct progress *progress, struct error *error);

/* Some nonzeros of the file, evenly spread, in place of a share: of all ranks, about one of `every`
 * (1 or more). s->total is the number that all ranks have. Otherwise as share_read_blco. */
enum status share_sample_blco(struct share *s, struct comm *c, const struct blco_file *f,
                              uint64_t every, struct error *error);

#endif
