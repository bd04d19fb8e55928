/* Sets of cells of a tensor. A cell is one key of up to 128 bits, its coordinates packed with the
 * first mode on top, so that ascending keys are cells in lexicographic order. */
#ifndef BLCO_COORDINATE_KEYS_H
#define BLCO_COORDINATE_KEYS_H

#include <stdint.h>

#include "base/uint128.h"
#include "tensor/coo.h"

#define KEY_BITS 128

typedef uint128 coordinate_key;

struct key_layout {
    struct shape shape;
    int bits; /* of a key */
    int shift[MAX_ORDER];
    uint64_t mask[MAX_ORDER];
};

struct coordinate_keys {
    uint64_t count;
    uint64_t *low, *high; /* (count) words of the keys; owned */
};

/* STATUS_INPUT where the lengths need more than KEY_BITS bits. */
enum status key_layout_create(struct key_layout *layout, const struct shape *shape,
                              struct error *error);

/* How many cells the tensor has; the largest number where that does not fit. */
coordinate_key key_layout_cells(const struct key_layout *layout);

static inline coordinate_key key_pack(const struct key_layout *layout, const uint64_t *coordinate)
{
    coordinate_key key = 0;
    for (int n = 0; n < layout->shape.order; n++)
        key |= (coordinate_key)coordinate[n] << layout->shift[n];
    return key;
}

static inline uint64_t key_coordinate(const struct key_layout *layout, coordinate_key key, int mode)
{
    return (uint64_t)(key >> layout->shift[mode]) & layout->mask[mode];
}

static inline coordinate_key coordinate_keys_get(const struct coordinate_keys *cells, uint64_t i)
{
    return (coordinate_key)cells->high[i] << 64 | cells->low[i];
}

static inline void coordinate_keys_set(struct coordinate_keys *cells, uint64_t i,
                                       coordinate_key key)
{
    cells->low[i] = (uint64_t)key;
    cells->high[i] = (uint64_t)(key >> 64);
}

/* Room for `count` cells, uninitialised. On failure *cells is empty. */
enum status coordinate_keys_create(struct coordinate_keys *cells, uint64_t count,
                                   struct error *error);

/* Accepts an empty one. */
void coordinate_keys_free(struct coordinate_keys *cells);

/* Sorts keys of at most `bits` bits by all OpenMP threads; 16 bytes a cell of memory while it runs.
 */
enum status coordinate_keys_sort(struct coordinate_keys *cells, int bits, struct error *error);

/* Leaves each cell once; sorted before and after. */
void coordinate_keys_unique(struct coordinate_keys *cells);

/* STATUS_MEMORY where a tensor of `count` nonzeros, made from cells as here, and `more` bytes
 * beside it take more than `memory` bytes: at the peak the tensor and what sorting it takes
 * (KEYS_OVERHEAD bytes a nonzero), which is more than two sets of keys, or one and the tensor. */
#define KEYS_OVERHEAD 32
enum status coordinate_keys_check_memory(int order, double count, double more, uint64_t memory,
                                         struct error *error);

/* A tensor with these coordinates and uninitialised values. On failure *x is empty. */
enum status coordinate_keys_to_coo(const struct coordinate_keys *cells,
                                   const struct key_layout *layout, struct coo *x,
                                   struct error *error);

#endif
