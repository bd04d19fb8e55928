/* Narrow forms of values: equal to the last bit after widening, or not used. */
#ifndef BLCO_VALUES_H
#define BLCO_VALUES_H

#include <stdbool.h>
#include <stdint.h>

/* In files: the numbers stay. A value that one form holds all but VALUES_CONSTANT above it hold. */
enum value_form {
    VALUES_CONSTANT, /* all the same: one double        */
    VALUES_U8,       /* whole numbers from 0 to 255     */
    VALUES_U16,      /* whole numbers from 0 to 65535   */
    VALUES_F32,      /* exact as float                  */
    VALUES_F64,
    VALUES_FORMS
};

/* The form in which value[0..count) takes the fewest bytes. Bits decide: -0.0 is no whole number,
 * and a NaN keeps its payload. `count` must not be 0. */
enum value_form values_narrowest(const double *value, uint64_t count);

/* Bytes that `count` values of this form take. */
uint64_t values_bytes(enum value_form form, uint64_t count);

/* value[0..count) to values_bytes bytes at `packed`, which is aligned to 8 bytes. The form must
 * hold them. */
void values_pack(enum value_form form, const double *value, uint64_t count, void *packed);

/* And back. */
void values_widen(enum value_form form, const void *packed, uint64_t count, double *value);

#endif
