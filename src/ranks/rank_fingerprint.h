/* The fingerprint of a tensor of which each rank has a part. */
#ifndef BLCO_RANK_FINGERPRINT_H
#define BLCO_RANK_FINGERPRINT_H

#include "ranks/rank_tensor.h"
#include "tensor/fingerprint.h"

/* *f = the fingerprint of the whole tensor, which may be unread, the same on all ranks and for
 * every number of them; every rank calls this, of a tensor whose request said `hashed`.
 * STATUS_MEMORY, and failures of other ranks. */
enum status rank_fingerprint(struct fingerprint *f, const struct rank_tensor *t,
                             struct error *error);

#endif
