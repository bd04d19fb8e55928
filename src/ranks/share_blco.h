/* A rank's share of a .blco file: an even share of its segments. */
#ifndef BLCO_SHARE_BLCO_H
#define BLCO_SHARE_BLCO_H

#include "base/progress.h"
#include "formats/tns/tns_options.h"
#include "ranks/share.h"

/* share_read of a .blco file. */
enum status share_read_blco(struct share *s, struct comm *c, const char *path,
                            const struct tns_options *options, struct progress *progress,
                            struct error *error);

#endif
