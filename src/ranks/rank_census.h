/* The census of a tensor whose nonzeros are shared out over the ranks, the same on every rank. */
#ifndef BLCO_RANK_CENSUS_H
#define BLCO_RANK_CENSUS_H

#include "ranks/share.h"
#include "tensor/coo_census.h"

/* Counts the nonzeros of each row of each mode in the shares of all ranks (of some thousand million
 * nonzeros, every fifth or tenth counts for all), and gathers a sample of
 * some hundred thousand nonzeros of all shares, or all nonzeros where there are fewer. By all
 * OpenMP threads; 8 bytes for each row of each mode on every rank. All ranks of c call this. The
 * caller frees *census; it is empty on failure, which all ranks see. STATUS_MEMORY. */
enum status rank_census(struct share *s, struct comm *c, struct coo_census *census,
                        struct error *error);

#endif
