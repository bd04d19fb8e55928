/* What `blco info --ranks` says: how the tensor would be split among several ranks, and what an
 * iteration would cost them. */
#ifndef BLCO_INFO_RANKS_H
#define BLCO_INFO_RANKS_H

#include "base/progress.h"
#include "commands/options/cmd_common.h"
#include "plan/rank_rates.h"
#include "tensor/coo_census.h"

struct info_ranks {
    struct rank_machine machine;
    struct process_grid grid; /* owned */
    struct grid_cost cost;
    bool is_chosen;    /* by the model, not by the user */
    bool is_estimated; /* the cost, from a sample       */
    bool dealt;        /* rows are, and no mode is kept (ranks/row_deal.h): no mode is cut */
};

/* The census of a tensor, in one pass over the pieces. The caller frees *c with coo_census_free.
 * STATUS_MEMORY, also where the counters take more than `memory` bytes; failures of the pieces. */
enum status info_ranks_census(struct coo_census *c, const struct coo_pieces *pieces,
                              uint64_t memory, struct error *error);

/* The machine of ranks with so many threads each. Processes are on one host as long as this host
 * has a core for each thread. */
struct rank_machine info_ranks_machine(const struct backend_kind *kind,
                                       const struct cmd_ranks *ranks, int threads);

/* Chooses the grid, or takes the user's; `plan` is that of the whole tensor. The caller frees *r
 * with info_ranks_free. STATUS_INPUT, STATUS_MEMORY. */
enum status info_ranks_choose(struct info_ranks *r, const struct cmd_ranks *ranks,
                              const struct rank_machine *machine, const struct coo_census *census,
                              const struct plan *plan, struct error *error);

/* The same where each row has a system of its own, of which the model knows no seconds. */
enum status info_ranks_deal(struct info_ranks *r, const struct cmd_ranks *ranks,
                            const struct rank_machine *machine, const struct coo_census *census,
                            const struct plan *plan, struct error *error);

/* *plan = the memory plan of a rank with the longest ranges and the most nonzeros. Ranks of one
 * host share the host's memory, unless the user says how much a rank may use. Errors as
 * backend_plan. */
enum status info_ranks_plan(struct plan *plan, const struct info_ranks *r,
                            const struct backend_kind *kind, const struct backend_options *options,
                            struct error *error);

/* Prints the grid, its parts and its cost; or how rows are dealt. */
void info_ranks_show(const struct info_ranks *r);

/* Accepts an empty *r. */
void info_ranks_free(struct info_ranks *r);

#endif
