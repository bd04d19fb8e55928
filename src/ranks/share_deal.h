/* Deals entries that rank 0 has out to all ranks. */
#ifndef BLCO_SHARE_DEAL_H
#define BLCO_SHARE_DEAL_H

#include "ranks/share.h"

/* Cuts rank 0's entries x into even parts; the next piece of each rank's share is its part. Every
 * rank calls it and knows the shape and nnz of x; only rank 0 has its arrays. s->dealt is to be
 * set. STATUS_MEMORY on every rank. */
enum status share_deal(struct share *s, struct comm *c, const struct coo *x, struct error *error);

#endif
