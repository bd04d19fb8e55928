/* CP-ALS on several ranks that are threads of this process. */
#ifndef BLCO_CPALS_RANKS_H
#define BLCO_CPALS_RANKS_H

#include "als/cpals.h"
#include "plan/process_grid.h"

/* cpals_run on grid->ranks ranks, each with its part of x on a backend of its own. x is only read;
 * k, of x's shape, holds the start and receives the arranged result. options.host_memory
 * is that of each rank, or, where it is 0, the ranks share the memory that may be used evenly;
 * OpenMP threads are divided among the ranks, at least one each. device (ranks) are the numbers of
 * the devices, all different; NULL where the kind has none. The failure of one rank ends all ranks
 * and is returned. */
enum status cpals_run_ranks(const struct coo *x, const struct process_grid *grid,
                            const struct backend_kind *kind, const struct backend_options *options,
                            const int *device, struct ktensor *k, const struct cpals_options *als,
                            struct progress *progress, struct cpals_result *result,
                            struct error *error);

#endif
