/* Packs the values of a group in the narrowest form (packed_group.h) that gives the same bits when
 * they are unpacked. */
#ifndef BLCO_VALUE_CODEC_H
#define BLCO_VALUE_CODEC_H

#include <stdbool.h>
#include <stdint.h>

#include "numerics/packed_group.h"

#define VALUE_CODEC_MOST_WHOLE (INT64_C(1) << 53) /* whole numbers up to it are doubles  */
#define VALUE_CODEC_WHOLE_BITS 55                 /* the most bits of a difference of two */

/* Sets the form in which value[0..g->count) take the fewest bits: value_form, value_bits, decimals
 * and least; g->count is 1 or more. Bits decide: -0.0 is not a whole number, and a NaN keeps its
 * payload. */
void value_codec_choose(const double *value, struct packed_group *g);

/* Packs value[0..g->count) in the form that was chosen for them, to
 * packed_field_words(g->count, g->value_bits) words. */
void value_codec_pack(const double *value, const struct packed_group *g, uint32_t *word);

/* Unpacks the values to value[0..g->count). One word after the words of the fields is read too. */
void value_codec_unpack(const uint32_t *word, const struct packed_group *g, double *value);

/* Values that a file may have besides finite numbers that are not 0. */
struct value_kinds {
    bool unknown; /* NaN */
    bool zeros;
};

/* The first of `count` values that is infinite, or that is NaN or zero unless it may be; `count`
 * where there is none. */
uint64_t value_codec_first_bad(const double *value, uint64_t count, struct value_kinds may);

#endif
