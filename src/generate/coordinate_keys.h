/* Sets of cells of a tensor. A cell is one key of up to 128 bits, its coordinates packed with the
 * first mode on top, so that ascending keys are cells in lexicographic order. */
#ifndef BLCO_COORDINATE_KEYS_H
#define BLCO_COORDINATE_KEYS_H

#include <stdint.h>

#include "tensor/coo.h"

#define CELL_BITS 128

__extension__ typedef unsigned __int128 cell_key;

struct cell_layout {
    int order;
    int bits; /* of a key */
    uint64_t dims[MAX_ORDER];
    int shift[MAX_ORDER];
    uint64_t mask[MAX_ORDER];
};

struct cells {
    uint64_t count;
    uint64_t *low, *high; /* (count) words of the keys; owned */
};

/* STATUS_INPUT where the lengths need more than CELL_BITS bits. */
enum status cell_layout_create(struct cell_layout *layout, int order, const uint64_t *dims,
                               struct error *error);

/* How many cells the tensor has; the largest number where that does not fit. */
cell_key cell_layout_cells(const struct cell_layout *layout);

static inline cell_key cell_pack(const struct cell_layout *layout, const uint64_t *coordinate)
{
    cell_key key = 0;
    for (int n = 0; n < layout->order; n++)
        key |= (cell_key)coordinate[n] << layout->shift[n];
    return key;
}

static inline uint64_t cell_coordinate(const struct cell_layout *layout, cell_key key, int mode)
{
    return (uint64_t)(key >> layout->shift[mode]) & layout->mask[mode];
}

static inline cell_key cells_get(const struct cells *cells, uint64_t i)
{
    return (cell_key)cells->high[i] << 64 | cells->low[i];
}

static inline void cells_set(struct cells *cells, uint64_t i, cell_key key)
{
    cells->low[i] = (uint64_t)key;
    cells->high[i] = (uint64_t)(key >> 64);
}

/* Room for `count` cells, uninitialised. On failure *cells is empty. */
enum status cells_create(struct cells *cells, uint64_t count, struct error *error);

/* Accepts an empty one. */
void cells_free(struct cells *cells);

/* Sorts keys of at most `bits` bits by all OpenMP threads; 16 bytes a cell of memory while it runs.
 */
enum status cells_sort(struct cells *cells, int bits, struct error *error);

/* Leaves each cell once; sorted before and after. */
void cells_unique(struct cells *cells);

/* STATUS_MEMORY where a tensor of `count` nonzeros, made from cells as here, and `more` bytes
 * beside it take more than `memory` bytes: at the peak the tensor and what sorting it takes
 * (CELLS_OVERHEAD bytes a nonzero), which is more than two sets of keys, or one and the tensor. */
#define CELLS_OVERHEAD 32
enum status cells_check_memory(int order, double count, double more, uint64_t memory,
                               struct error *error);

/* A tensor with these coordinates and uninitialised values. On failure *x is empty. */
enum status cells_to_coo(const struct cells *cells, const struct cell_layout *layout, struct coo *x,
                         struct error *error);

#endif
