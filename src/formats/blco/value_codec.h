/* Narrow forms of a group's values (packed_group.h): equal to the last bit when they are unpacked,
 * or not used. */
#ifndef BLCO_VALUE_CODEC_H
#define BLCO_VALUE_CODEC_H

#include <stdint.h>

#include "kernels/shared/packed_group.h"

#define VALUE_CODEC_MOST_WHOLE                                                                     \
    (INT64_C(1) << 53)            /* up to it every whole number is a double         */
#define VALUE_CODEC_WHOLE_BITS 55 /* what a field needs at most for their difference */

/* Sets the form in which g->count (1 or more) values take the fewest bits: value_form, value_bits,
 * decimals and least. Bits decide: -0.0 is no whole number, and a NaN keeps its payload. */
void value_codec_choose(const double *value, struct packed_group *g);

/* g->count values in the form that was chosen for them to packed_field_words words. */
void value_codec_pack(const double *value, const struct packed_group *g, uint32_t *word);

/* And back. One word behind the fields is read as well. */
void value_codec_unpack(const uint32_t *word, const struct packed_group *g, double *value);

#endif
