/* Where a rank stands among the ranks that work on one tensor (medium-grained grid,
 * process_grid.h): the rows of the rank, the ranks that share these rows, and the rows that the
 * rank solves.
 *
 * A range of mode n belongs to `size` ranks. Where nonzeros of several of them touch a row, these
 * ranks must sum their rows of M; but a row that one rank alone touches is that rank's own, and
 * never moves. Where enough rows are of that kind, a rank has them in this order: the rows that are
 * shared, alike on all ranks, in stripes of equal length, one for each rank to solve; room for the
 * sums of its own stripe; its own rows. So what a rank solves lies together. Otherwise all rows are
 * shared, the sums of a stripe replace its rows, and the rows keep their order. */
#ifndef BLCO_RANK_ROWS_H
#define BLCO_RANK_ROWS_H

#include "comm/comm.h"
#include "plan/process_grid.h"

struct device_comm;

/* The rows of one mode that are here. */
struct mode_rows {
    struct comm *sharing;   /* the ranks of this range: `all` of struct rank_rows, or owned    */
    uint64_t *stripe_first; /* (size + 1): of the rows here, stripe k has those from
                             * stripe_first[k] to stripe_first[k + 1] - 1; the last stripes may have
                             * fewer rows than the others, or none; owned                        */
    uint64_t stripe;        /* rows of a stripe that is full                                     */
    uint64_t first, count; /* the rows that this rank solves, of those here                       */
    uint64_t *row; /* (here): part.row of the mode; NULL where rows keep their order; owned */
};

struct rank_rows {
    struct comm *all;  /* every rank; borrowed                                                   */
    struct part range; /* the rows of the rank's ranges, in the order of the tensor              */
    struct part part;  /* the rows of each mode that are here, once they are shared              */
    bool shared;       /* they are                                                               */
    struct device_comm *devices; /* of a backend whose devices meet early (backend_kind.h);
                                  * borrowed, may be NULL */
    struct mode_rows mode[MAX_ORDER];
};

/* Finds this rank's place on the grid; every rank of `all` calls it. Before the ranks work, they
 * share their rows, unless they have: by rank_rows_share, or by rank_rows_share_mode for one mode
 * after the other. A rank alone has shared them. The caller closes *r, which is empty on failure,
 * and whose part must not be used afterwards. STATUS_MEMORY, and what another rank fails with. */
enum status rank_rows_open(struct rank_rows *r, struct comm *all, const struct process_grid *grid,
                           struct error *error);

/* Every rank calls this with the nonzeros of its part of the grid, whose indices count from the
 * first row of the range; x gets the indices and the shape of r->part, with length 1 instead of 0.
 * A failure ends the other ranks (comm_abort). STATUS_MEMORY, and what another rank fails with. */
enum status rank_rows_share(struct rank_rows *r, struct coo *x, struct error *error);

/* The same for nonzeros that are elsewhere, mode by mode from mode 0 on: touched[i] (rows of the
 * range) is 1 where the rank has a nonzero in row i of the range, else 0; it may be NULL where
 * rank_rows_compares is false. The caller renumbers the nonzeros. A failure ends nobody. */
enum status rank_rows_share_mode(struct rank_rows *r, int n, const unsigned char *touched,
                                 struct error *error);

/* Whether sharing the rows of mode n takes marks of the rows that each rank touches. */
bool rank_rows_compares(const struct rank_rows *r, int n);

/* place[i] (rows of the range) = where row i of the range is among the rows here, for rows that are
 * here, once they are shared. */
void rank_rows_places(const struct rank_rows *r, int n, uint32_t *place);

/* Accepts an empty one. */
void rank_rows_close(struct rank_rows *r);

/* Seconds that this rank has spent in operations with other ranks, waiting included. */
double rank_rows_seconds(const struct rank_rows *r);

/* m (rows here x R) has this rank's sums. The rows that this rank solves become the sums over all
 * ranks. Errors of comm_reduce_scatter. */
enum status rank_rows_scatter(const struct rank_rows *r, int n, double *m, uint64_t rank,
                              struct error *error);

/* Fills a (rows here x R), of which this rank has solved some rows, with the shared rows that other
 * ranks have solved. Errors of comm_allgatherv. */
enum status rank_rows_gather(const struct rank_rows *r, int n, double *a, uint64_t rank,
                             struct error *error);

#endif
