/* MTTKRP of one mode with the rows of another mode's factor matrix in shared memory, tile by tile
 * (kernels/mttkrp/tiles.h). The nonzeros stand in an ordering of their own, whose blocks are the
 * tiles. The same run gives the same bits of M. */
#ifndef BLCO_DEVICE_TILES_H
#define BLCO_DEVICE_TILES_H

#include "backend/cuda/mttkrp/device_factors.h"
#include "backend/cuda/tensor/device_blco.h"
#include "kernels/mttkrp/tiles.h"

struct device_tiles {
    struct device_blco blco;
    int mode;         /* of M */
    int tiled;        /* the mode whose rows stand in shared memory */
    uint32_t vectors; /* of the rows that the arrays below are for; 0: they are not there yet */
    struct tiles_args args; /* all arrays: device, owned; M and the gathers are set by each run */
    uint64_t sums;          /* partial sums of a run */
};

/* The tile that pays most for MTTKRP of `mode` with rows of so many bytes: a long mode whose tiles
 * have many nonzeros for each of their rows of M. False where none pays. */
bool device_tiles_pay(struct tile *tile, const struct shape *shape, uint64_t nnz, int mode,
                      uint64_t row_bytes);

/* Sorts the nonzeros of x. Values have this precision; with `last`, x's arrays may become *t's. On
 * failure *t is empty. STATUS_MEMORY. */
enum status device_tiles_build(struct device_tiles *t, struct device_coo *x, int mode,
                               const struct tile *tile, enum precision precision, bool last,
                               struct error *error);

/* Makes *t ready for rows of so many vectors; waits for the pool's stream. STATUS_MEMORY leaves *t
 * as device_tiles_build did. */
enum status device_tiles_prepare(struct device_tiles *t, uint32_t vectors,
                                 const struct device_pool *pool, struct error *error);

/* f->m = X_(mode) (Khatri-Rao product of the other factors). *t is ready for f->vectors.
 * Asynchronous. */
enum status device_tiles_run(const struct device_tiles *t, const struct device_factors *f,
                             cudaStream_t stream, struct error *error);

/* Writes the rows of a tile and the tiled mode into text: "tiles x512 of mode 3". */
void device_tiles_describe(const struct device_tiles *t, char *text, size_t size);

/* Only when no work on the device uses it any more. Accepts an empty one. */
void device_tiles_free(struct device_tiles *t);

#endif
