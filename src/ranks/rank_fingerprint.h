/* The fingerprint of a tensor from its parts on all ranks. */
#ifndef BLCO_RANK_FINGERPRINT_H
#define BLCO_RANK_FINGERPRINT_H

#include "ranks/rank_tensor.h"
#include "tensor/fingerprint.h"

/* *f = the fingerprint of the whole tensor, read or unread, which was opened with `hashed`. It is
 * the same on all ranks and for any number of ranks. Every rank calls this. STATUS_MEMORY, and
 * failures of other ranks. */
enum status rank_fingerprint(struct fingerprint *f, const struct rank_tensor *t,
                             struct error *error);

#endif
