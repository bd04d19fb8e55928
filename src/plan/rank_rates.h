/* How fast ranks work and exchange rows, from recorded measurements and, for networks, from
 * assumptions (rank_rates.c). A grid of ranks is chosen by these where nothing has been measured.
 */
#pragma once

#include <stdbool.h>

#include "plan/process_grid.h"

/* What the ranks run on. */
struct rank_machine {
    bool device;   /* each rank has a GPU; otherwise host threads                   */
    bool one_host; /* all ranks are on one host                                     */
    int threads;   /* host threads of a rank, 1 or more; unused with a GPU          */
};

/* Fills the rates of *request (seconds_per_nonzero, bytes_per_second, seconds_per_collective,
 * solve_bytes_per_second) for a tensor of this shape; request->row_bytes must be set. Measured
 * sweeps took between half and twice the seconds that follow. */
void rank_rates(struct grid_request *request, const struct shape *shape,
                const struct rank_machine *machine);
