/* MTTKRP of one mode with rows of one or two other modes' factor matrices in shared memory, tile by
 * tile (kernels/mttkrp/tiles.h), from a tensor in a tiled ordering, whose blocks are the tiles. M
 * has the same bits each time. */
#ifndef BLCO_DEVICE_TILES_H
#define BLCO_DEVICE_TILES_H

#include "backend/cuda/mttkrp/device_factors.h"
#include "backend/cuda/tensor/device_tensor.h"
#include "kernels/mttkrp/tiles.h"

struct device_tiles {
    const struct device_tensor *tensor; /* borrowed                                          */
    int mode;                           /* of M                                              */
    uint32_t vectors;                   /* in the rows that *args is for; 0: for none yet    */
    struct tiles_args args; /* all arrays: device, owned; M and the gathers are set by each run */
};

/* Makes *t ready for rows of so many vectors; waits for the pool's stream. STATUS_MEMORY leaves *t
 * ready for none. */
enum status device_tiles_prepare(struct device_tiles *t, uint32_t vectors,
                                 const struct device_pool *pool, struct error *error);

/* f->m = X_(mode) (Khatri-Rao product of the other factors). *t is ready for f->vectors.
 * Asynchronous. */
enum status device_tiles_run(const struct device_tiles *t, const struct device_factors *f,
                             cudaStream_t stream, struct error *error);

/* Writes the rows of a tile and the tiled modes into text: "tiles of 512 rows of mode 3". */
void device_tiles_describe(const struct device_tiles *t, char *text, size_t size);

/* Frees the arrays; only when no work on the device uses them any more. Accepts an empty one. */
void device_tiles_free(struct device_tiles *t);

#endif
