/* Sets of places of a tensor. A place is a possible tuple of coordinates, nonzero or not. Its key
 * has up to 128 bits: the coordinates, packed with the first mode on top, so that ascending keys
 * are places in lexicographic order. */
#ifndef BLCO_COORDINATE_KEYS_H
#define BLCO_COORDINATE_KEYS_H

#include <stdint.h>

#include "base/error.h"
#include "base/uint128.h"
#include "tensor/coo.h"

#define KEY_BITS 128

typedef uint128 coordinate_key;

/* Where a key has mode n's coordinate: (key >> shift[n]) & mask[n]. */
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

/* STATUS_INPUT if the lengths need more than KEY_BITS bits. */
enum status key_layout_create(struct key_layout *layout, const struct shape *shape,
                              struct error *error);

/* The number of places of the tensor: the product of the lengths, or the largest number if the
 * product does not fit. */
coordinate_key key_layout_places(const struct key_layout *layout);

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

static inline coordinate_key coordinate_keys_get(const struct coordinate_keys *keys, uint64_t i)
{
    return (coordinate_key)keys->high[i] << 64 | keys->low[i];
}

static inline void coordinate_keys_set(struct coordinate_keys *keys, uint64_t i, coordinate_key key)
{
    keys->low[i] = (uint64_t)key;
    keys->high[i] = (uint64_t)(key >> 64);
}

/* Allocates `count` keys, uninitialised. The caller frees *keys, which is empty on failure.
 * STATUS_MEMORY. */
enum status coordinate_keys_create(struct coordinate_keys *keys, uint64_t count,
                                   struct error *error);

/* Accepts empty keys. */
void coordinate_keys_free(struct coordinate_keys *keys);

/* Sorts keys of at most `bits` bits with all OpenMP threads. Takes 16 bytes a key of memory while
 * it runs. STATUS_MEMORY. */
enum status coordinate_keys_sort(struct coordinate_keys *keys, int bits, struct error *error);

/* Drops repeated keys from sorted keys, which stay sorted. */
void coordinate_keys_unique(struct coordinate_keys *keys);

/* STATUS_MEMORY if making a tensor of `count` nonzeros from keys, with `more` bytes beside the
 * tensor, takes more than `memory` bytes. The peak is the tensor and the memory for sorting it
 * (KEYS_OVERHEAD bytes a nonzero), which is more than two sets of keys, or one set and the tensor.
 */
#define KEYS_OVERHEAD 32
enum status coordinate_keys_check_memory(int order, double count, double more, uint64_t memory,
                                         struct error *error);

/* Makes a tensor with the coordinates of the keys, in their order, and uninitialised values. The
 * caller frees *x, which is empty on failure. STATUS_MEMORY. */
enum status coordinate_keys_to_coo(const struct coordinate_keys *keys,
                                   const struct key_layout *layout, struct coo *x,
                                   struct error *error);

#endif
