/* Which mode's bits are lowest in an ordering `mode n`. Neighbours on the line then form a fiber
 * along that mode: they agree in all other coordinates, so that a near cache has the rows of the
 * other modes. The mode with the longest fibers is best. */
#ifndef BLCO_FIBER_CHOICE_H
#define BLCO_FIBER_CHOICE_H

#include <stdbool.h>

#include "tensor/ordering.h"

/* `skipped` of numerics/fiber_sample.h for so many nonzeros: at most a quarter of the map's bits
 * will be marked. */
int fiber_skipped_bits(uint64_t nnz);

/* The number of fibers, about, from the number of marked bits. */
double fiber_estimate(uint64_t marked, int skipped);

/* Whether some ordering `mode n` with ordered[n] leaves a choice of the lowest mode: more than one
 * mode besides mode n and those of its tiles. tile (order): of each ordering. */
bool fiber_choice_open(int order, const bool *ordered, const struct tile *tile);

/* The mode that is to be lowest in the ordering `mode` (`lowest` of ordering_create_lowest and
 * ordering_create_tiled); -1 for the longest. tile: the ordering's. fibers (order): of each
 * mode, the number of fibers along it. */
int fiber_lowest(int mode, const struct tile *tile, const struct shape *shape,
                 const double *fibers);

#endif
