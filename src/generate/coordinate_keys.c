#include "generate/coordinate_keys.h"

#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/radix_sort.h"
#include "tensor/ordering.h"

enum status key_layout_create(struct key_layout *layout, const struct shape *shape,
                              struct error *error)
{
    memset(layout, 0, sizeof *layout);
    layout->shape.order = shape->order;
    for (int n = shape->order - 1; n >= 0; n--) {
        int bits = ordering_bits(shape->dims[n]);
        layout->shape.dims[n] = shape->dims[n];
        layout->mask[n] = (UINT64_C(1) << bits) - 1;
        layout->shift[n] = bits ? layout->bits : 0;
        layout->bits += bits;
    }
    if (layout->bits > KEY_BITS)
        return error_set(error, STATUS_INPUT,
                         "the lengths of the modes need %d bits for an index, at most %d are "
                         "possible",
                         layout->bits, KEY_BITS);
    return STATUS_OK;
}

coordinate_key key_layout_places(const struct key_layout *layout)
{
    coordinate_key places = 1;
    for (int n = 0; n < layout->shape.order; n++)
        if (__builtin_mul_overflow(places, layout->shape.dims[n], &places))
            return ~(coordinate_key)0;
    return places;
}

enum status coordinate_keys_create(struct coordinate_keys *keys, uint64_t count,
                                   struct error *error)
{
    keys->count = count;
    keys->low = memory_array(count, sizeof *keys->low, error);
    keys->high = memory_array(count, sizeof *keys->high, error);
    if (!keys->low || !keys->high)
        coordinate_keys_free(keys);
    return error->status;
}

void coordinate_keys_free(struct coordinate_keys *keys)
{
    memory_free(keys->low);
    memory_free(keys->high);
    memset(keys, 0, sizeof *keys);
}

enum status coordinate_keys_sort(struct coordinate_keys *keys, int bits, struct error *error)
{
    int low_bits = bits < 64 ? bits : 64;
    TRY(radix_sort(keys->low, keys->high, keys->count, low_bits, error));
    return radix_sort(keys->high, keys->low, keys->count, bits - low_bits, error);
}

void coordinate_keys_unique(struct coordinate_keys *keys)
{
    uint64_t kept = 0;
    for (uint64_t i = 0; i < keys->count; i++) {
        coordinate_key key = coordinate_keys_get(keys, i);
        if (kept == 0 || coordinate_keys_get(keys, kept - 1) != key)
            coordinate_keys_set(keys, kept++, key);
    }
    keys->count = kept;
}

enum status coordinate_keys_check_memory(int order, double count, double more, uint64_t memory,
                                         struct error *error)
{
    double entry = (double)order * sizeof(uint32_t) + sizeof(double);
    double needed = more + count * (entry + KEYS_OVERHEAD);
    char takes[NUMBER_SIZE_TEXT], most[NUMBER_SIZE_TEXT];
    if (needed > (double)memory)
        return error_set(error, STATUS_MEMORY,
                         "%.0f nonzeros take %s of memory to make, %s may be used", count,
                         number_size(number_whole(needed), takes), number_size(memory, most));
    return STATUS_OK;
}

enum status coordinate_keys_to_coo(const struct coordinate_keys *keys,
                                   const struct key_layout *layout, struct coo *x,
                                   struct error *error)
{
    TRY(coo_create(x, &layout->shape, keys->count, error));
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < keys->count; i++) {
        coordinate_key key = coordinate_keys_get(keys, i);
        for (int n = 0; n < layout->shape.order; n++)
            x->index[n][i] = (uint32_t)key_coordinate(layout, key, n);
    }
    return STATUS_OK;
}
