/* The place of a rank among the ranks that work on one tensor: the rows that it has, the peers that
 * have the same rows, and the rows that it solves.
 *
 * Where rows share a system, the rows that a rank has are those of its ranges (medium-grained grid,
 * process_grid.h). A range of mode n belongs to several ranks, the peers. If several peers touch a
 * row (have nonzeros there), the row is common: they must sum their rows of M. A row that only one
 * rank touches is its own and never moves. If there are enough own rows, a rank has its rows in
 * this order: the common rows, in the same order on all peers, in stripes of equal length, one for
 * each peer to solve; room for the sums of its own stripe; its own rows. So the rows that a rank
 * solves lie together. Otherwise all rows count as common, the sums of a stripe replace its rows,
 * and the rows keep their order.
 *
 * Where each row has a system of its own, a system is far larger than a row: R (R + 3) / 2 numbers.
 * Then rows are dealt (row_deal.h): all ranks are peers and have all rows, in equal stripes, and a
 * rank needs other nonzeros for each mode (nonzero_exchange.h): all nonzeros in the rows of its
 * stripe, except for a few common rows at the beginning of each stripe. Or ranks keep their ranges
 * of one mode, where no other rank has nonzeros, and all rows of the other modes are common
 * (row_deal_kept). */
#pragma once

#include "comm/comm.h"
#include "plan/process_grid.h"
#include "ranks/row_deal.h"

struct device_comm;

/* The rows of one mode that the rank has. */
struct mode_rows {
    struct comm *peers;     /* the ranks of this range: `all` of struct rank_rows, or owned       */
    bool with_rank_0;       /* rank 0 is one of the peers, and so has the common rows, too        */
    uint64_t *stripe_first; /* (peers + 1): stripe k has the rows from stripe_first[k] to
                             * stripe_first[k + 1] - 1; the last stripes may have fewer rows than
                             * the others, or none; owned                                         */
    uint64_t stripe;        /* rows of a full stripe                                              */
    uint64_t common;        /* where rows are dealt: common rows of all stripes (row_deal.h)      */
    uint64_t first, count;  /* the rows that this rank solves: [first, first + count)             */
    uint64_t *row; /* (part.here): part.row of the mode; NULL where rows keep their order; owned  */
};

struct rank_rows {
    struct comm *all;  /* every rank; borrowed                                                    */
    struct part range; /* the rows of the rank's ranges, in the order of the tensor               */
    struct part part;  /* the rows that the rank has, once they are divided                       */
    bool divided;      /* rank_rows_divide, or _divide_mode for all modes, or _deal is done       */
    bool dealt;        /* by rank_rows_deal, and no mode is kept                                  */
    uint64_t most_nnz; /* then: the nonzeros of the mode for which the rank has most, or of its
                        * part of the grid, if these are more                                     */
    double norm_sq;    /* ||X||^2 over all ranks, where backends take the nonzeros from a file    */
    struct device_comm *devices; /* connects the ranks' GPUs (backend_kind.h); borrowed, may be
                                  * NULL */
    struct mode_rows mode[MAX_ORDER];
};

/* How many common rows stand at the beginning of stripe k, where rows are dealt. */
static inline uint64_t mode_rows_common(const struct mode_rows *m, int k)
{
    return row_deal_common(m->common, k, m->peers->size);
}

/* Whether row `row` of those that are here is common, where rows are dealt: the common rows are
 * numbered round robin. */
static inline bool mode_rows_is_common(const struct mode_rows *m, uint64_t row)
{
    if (m->common == 0)
        return false;
    const uint64_t stripe = row / m->stripe, at = row - stripe * m->stripe;
    return at * (uint64_t)m->peers->size + stripe < m->common;
}

/* The rows of a factor matrix that this rank stores in a model. */
struct rank_rows_stored {
    uint64_t first, count;  /* of the rows that are here                                          */
    const uint64_t *number; /* (count): the rows of the model that they become, NO_ROW: none;
                             * borrowed. NULL: those from `at` on                                 */
    uint64_t at;
};

/* All rows of mode n that are here, in a model of r->part. Of the `whole` model: on ranks that are
 * threads, those that this rank solves; of processes, rank 0 stores all that are here, and each
 * other rank, in a model of r->part, those that rank 0 lacks. */
struct rank_rows_stored rank_rows_stored(const struct rank_rows *r, int n, bool whole);

/* Finds this rank's ranges and peers on the grid; every rank of `all` calls it. Then the ranks
 * divide their rows, by rank_rows_divide, or by rank_rows_divide_mode for one mode after the other;
 * for a rank alone that is done here. The caller closes *r, which is empty on failure; r->part must
 * not be used after that. STATUS_MEMORY, and failures of other ranks. */
enum status rank_rows_open(struct rank_rows *r, struct comm *all, const struct process_grid *grid,
                           struct error *error);

/* Finds common and own rows, and orders them as described above. Every rank calls this with the
 * nonzeros of its part of the grid, whose indices count from the first row of the range; x gets the
 * indices and the shape of r->part, with length 1 instead of 0. A failure ends the other ranks
 * (comm_abort). STATUS_MEMORY, and failures of other ranks. */
enum status rank_rows_divide(struct rank_rows *r, struct coo *x, struct error *error);

/* In place of rank_rows_divide where each row has a system of its own. x keeps its nonzeros, those
 * of the rank's part of the grid; they get the indices and the shape of r->part, which has all rows
 * of the tensor, but of the mode `kept` (row_deal_kept; -1: none) those of the rank's range. Errors
 * as rank_rows_divide. */
enum status rank_rows_deal(struct rank_rows *r, struct coo *x, int kept, struct error *error);

/* As rank_rows_divide, mode by mode from mode 0 on, for nonzeros that are in device memory, which
 * the caller renumbers. touched[i] (rows of the range) is 1 where the rank has a nonzero in row i
 * of the range, else 0; it may be NULL where rank_rows_compares is false. A failure does not end
 * the other ranks. */
enum status rank_rows_divide_mode(struct rank_rows *r, int n, const unsigned char *touched,
                                  struct error *error);

/* Whether dividing the rows of mode n needs `touched`. */
bool rank_rows_compares(const struct rank_rows *r, int n);

/* place[i] (rows of the range) = the place of row i of the range among the rows that the rank has,
 * after they are divided, not dealt; unset for rows that it does not have. */
void rank_rows_places(const struct rank_rows *r, int n, uint32_t *place);

/* Accepts an empty one. */
void rank_rows_close(struct rank_rows *r);

/* Seconds that this rank has spent in operations with other ranks, waiting included. */
double rank_rows_seconds(const struct rank_rows *r);

/* m (part.here rows x R) has this rank's sums. The rows that this rank solves become the sums over
 * all ranks. Errors of comm_reduce_scatter. */
enum status rank_rows_reduce_scatter(const struct rank_rows *r, int n, double *m, uint64_t rank,
                                     struct error *error);

/* Completes a (part.here rows x R), where this rank has solved its rows, by the common rows that
 * other ranks have solved. Errors of comm_allgatherv. */
enum status rank_rows_allgather(const struct rank_rows *r, int n, double *a, uint64_t rank,
                                struct error *error);
