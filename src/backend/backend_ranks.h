/* Where a rank stands among the ranks that work on one tensor (medium-grained grid,
 * process_grid.h): the rows of the rank, the ranks that share these rows, and the rows that the
 * rank solves. */
#ifndef BLCO_BACKEND_RANKS_H
#define BLCO_BACKEND_RANKS_H

#include "comm/comm.h"
#include "plan/process_grid.h"

struct backend_ranks {
    struct comm *all; /* every rank; borrowed                                                     */
    struct part part; /* the rows of each mode that are here                                      */
    struct comm *sharing[MAX_ORDER]; /* the ranks with the same rows of mode n: `all`, or owned   */
    uint64_t *first[MAX_ORDER];      /* (ranks that share + 1) of the rows here, rank k of them
                                      * solves the rows first[n][k] to first[n][k + 1] - 1; owned */
};

/* Finds this rank's place on the grid; every rank of `all` calls it. The caller closes *r, which is
 * empty on failure. STATUS_MEMORY, and what another rank fails with. */
enum status backend_ranks_open(struct backend_ranks *r, struct comm *all,
                               const struct process_grid *grid, struct error *error);

/* The place of a rank that is alone, with all rows of this shape; `self` is a comm_self. The caller
 * closes *r, which is empty on failure. STATUS_MEMORY. */
enum status backend_ranks_alone(struct backend_ranks *r, struct comm *self,
                                const struct shape *shape, struct error *error);

/* Accepts an empty one. */
void backend_ranks_close(struct backend_ranks *r);

/* Rows of mode n that every rank solves but the last ones, which solve fewer or none: slots of
 * equal length, in which the rows of mode n end. */
uint64_t backend_ranks_slot(const struct backend_ranks *r, int n);

/* The rows of mode n that this rank solves: *first of those here, and how many. */
uint64_t backend_ranks_rows(const struct backend_ranks *r, int n, uint64_t *first);

/* Seconds that this rank has spent in operations with other ranks, waiting included. */
double backend_ranks_seconds(const struct backend_ranks *r);

/* m (rows here x R) has this rank's sums. The rows that this rank solves become the sums over all
 * ranks that share these rows. Errors of comm_reduce_scatter. */
enum status backend_ranks_scatter(const struct backend_ranks *r, int n, double *m, uint64_t rank,
                                  struct error *error);

/* Fills a (rows here x R), of which this rank has solved some rows, with the rows that other ranks
 * have solved. Errors of comm_all_gather. */
enum status backend_ranks_gather(const struct backend_ranks *r, int n, double *a, uint64_t rank,
                                 struct error *error);

#endif
