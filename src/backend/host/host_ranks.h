/* Rows of M and of a factor matrix on their way to other ranks: those of doubles go as they are,
 * others as doubles, by way of h->solve.sent. */
#ifndef BLCO_HOST_RANKS_H
#define BLCO_HOST_RANKS_H

#include "backend/host/host_state.h"

/* As rank_rows_reduce_scatter, of entries. */
enum status host_ranks_reduce_scatter(struct host_state *h, int mode, void *m, struct error *error);

/* As rank_rows_allgather, of entries. */
enum status host_ranks_allgather(struct host_state *h, int mode, void *a, struct error *error);

#endif
