/* The cuts of every mode into every number of ranges that a grid of ranks can have, each made once,
 * and with these cuts the nonzeros of a grid's fullest rank. */
#ifndef BLCO_GRID_CUTS_H
#define BLCO_GRID_CUTS_H

#include <stdint.h>

#include "plan/process_grid.h"

/* A mode cut into `parts` ranges. */
struct mode_cut {
    int parts;
    uint64_t *cut;    /* (parts + 1), as in struct process_grid; owned                            */
    uint64_t longest; /* rows of the longest range                                                */
    double moving; /* the fraction of a range's rows that moves among the ranks of the range    */
    uint64_t fullest; /* nonzeros of the range with most                                          */
    uint16_t *range;  /* (sampled) the range of each sampled nonzero; owned; NULL: all in range 0 */
};

struct grid_cuts {
    struct shape shape;
    int ranks;
    struct mode_cut *way[MAX_ORDER]; /* (ways[n]) of mode n, by ascending parts; owned   */
    int ways[MAX_ORDER];
    uint64_t sampled; /* nonzeros, evenly spread ones of the sample */
};

/* Cuts each mode into the number of ranges that the request fixes, or into d ranges for each
 * divisor d of the number of ranks. At most `most` (1 or more) of the sample's nonzeros are looked
 * at, with 2 bytes for each of them and each way to cut a mode. By all OpenMP threads. The caller
 * frees *c with grid_cuts_free. STATUS_MEMORY leaves *c empty. */
enum status grid_cuts_create(struct grid_cuts *c, const struct grid_request *request,
                             const struct coo_census *census, uint64_t most, struct error *error);

/* Accepts an empty *c. */
void grid_cuts_free(struct grid_cuts *c);

/* The cut of the mode into `parts` ranges, which must be one of the ways. */
const struct mode_cut *grid_cuts_find(const struct grid_cuts *c, int mode, int parts);

/* How many of the sampled nonzeros the fullest rank of the grid of parts[0..order) has. By the
 * calling thread alone. */
uint64_t grid_cuts_fullest(const struct grid_cuts *c, const int *parts);

#endif
