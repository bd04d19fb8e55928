/* The census of a tensor, from the shares of all ranks; all get the same. */
#pragma once

#include "ranks/share.h"
#include "tensor/coo_census.h"

/* Counts the nonzeros of each row of each mode in the shares of all ranks (where there are
 * billions, only every k-th nonzero, as k nonzeros), and gathers a sample of at most 200000
 * nonzeros of all shares. By all OpenMP threads; takes 8 bytes for each row of each mode on every
 * rank. All ranks of c call this. The caller frees *census; it is empty on failure, which all ranks
 * see. STATUS_MEMORY. */
enum status rank_census(struct share *s, struct comm *c, struct coo_census *census,
                        struct error *error);
