/* Exchanges rows of M and of a factor matrix with other ranks. Doubles are sent as they are; floats
 * are converted to doubles in h->solve.sent first. */
#ifndef BLCO_HOST_RANKS_H
#define BLCO_HOST_RANKS_H

#include "backend/host/host_state.h"

/* As rank_rows_reduce_scatter, of entries. */
enum status host_ranks_reduce_scatter(struct host_state *h, int mode, void *m, struct error *error);

/* As rank_rows_allgather, of entries. */
enum status host_ranks_allgather(struct host_state *h, int mode, void *a, struct error *error);

#endif
