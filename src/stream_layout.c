#include "stream_layout.h"

#include <stddef.h>
#include <string.h>

#include "blco_format.h"
#include "ordering.h"
#include "values.h"

/* The kernels read the bytes of files without the headers of this folder. */
_Static_assert(PACKED_MAX_ORDER == MAX_ORDER, "every mode has its place");
_Static_assert(PACKED_BITS_AT == BLCO_BLOCK_FIXED, "where the bits are");
_Static_assert(
    offsetof(struct packed_block, first) == offsetof(struct blco_file_block, first) &&
        offsetof(struct packed_block, count) == offsetof(struct blco_file_block, count) &&
        offsetof(struct packed_block, index_at) == offsetof(struct blco_file_block, index_at) &&
        offsetof(struct packed_block, value_at) == offsetof(struct blco_file_block, value_at) &&
        offsetof(struct packed_block, index_bytes) ==
            offsetof(struct blco_file_block, index_bytes) &&
        offsetof(struct packed_block, value_form) == offsetof(struct blco_file_block, value_form),
    "an entry of the table begins as in the file");
_Static_assert((int)PACKED_CONSTANT == VALUES_CONSTANT && (int)PACKED_U8 == VALUES_U8 &&
                   (int)PACKED_U16 == VALUES_U16 && (int)PACKED_F32 == VALUES_F32 &&
                   (int)PACKED_F64 == VALUES_F64,
               "the forms' numbers are those of files");

bool stream_layout_create(struct packed_layout *layout, int order, const uint64_t *dims)
{
    struct ordering o;
    memset(layout, 0, sizeof *layout);
    ordering_create(&o, ORDERING_ALTO, order, dims,
                    ordering_line_bits(order, dims) > 64 ? 128 : 64);
    layout->order = order;
    layout->words = o.words;
    layout->stride = (uint32_t)blco_block_stride(order);
    layout->base_at = (uint32_t)blco_block_base_at(order);
    for (int n = 0; n < order; n++) {
        layout->mode[n].length = (uint32_t)dims[n];
        layout->mode[n].mask = (uint32_t)o.field[n].mask;
        layout->mode[n].word = (uint8_t)o.field[n].word;
        layout->mode[n].shift = (uint8_t)o.field[n].shift;
    }
    return o.cut == o.line_bits;
}
