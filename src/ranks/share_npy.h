/* A rank's share of a tensor in NumPy arrays: a range of their entries. */
#ifndef BLCO_SHARE_NPY_H
#define BLCO_SHARE_NPY_H

#include "formats/tns/tns.h"
#include "ranks/share.h"

/* Reads this rank's share; every rank of c calls it. The caller frees *s with share_free; it is
 * empty on failure. Errors of npy_read, on every rank. */
enum status share_read_npy(struct share *s, struct comm *c, const char *path,
                           const struct tns_options *options, struct progress *progress,
                           struct error *error);

#endif
