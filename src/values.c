#include "values.h"

#include <string.h>

#define SLICE 1024 /* values that are looked at before a form is given up */

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static bool all_same(const double *value, uint64_t count)
{
    uint64_t differing = 0;
    for (uint64_t i = 1; i < count; i++)
        differing |= bits_of(value[i]) ^ bits_of(value[0]);
    return differing == 0;
}

/* Every value is a whole number from 0 to `most`. What does not fit into an int32_t must not be
 * converted, and is 0 instead: then the bits differ. */
static bool all_whole(const double *value, uint64_t count, int32_t most)
{
    uint64_t differing = 0;
    for (uint64_t i = 0; i < count; i++) {
        int32_t whole = value[i] >= 0 && value[i] <= most ? (int32_t)value[i] : 0;
        differing |= bits_of((double)whole) ^ bits_of(value[i]);
    }
    return differing == 0;
}

static bool all_float(const double *value, uint64_t count)
{
    uint64_t differing = 0;
    for (uint64_t i = 0; i < count; i++)
        differing |= bits_of((double)(float)value[i]) ^ bits_of(value[i]);
    return differing == 0;
}

static bool holds(enum value_form form, const double *value, uint64_t count)
{
    switch (form) {
    case VALUES_U8:
        return all_whole(value, count, UINT8_MAX);
    case VALUES_U16:
        return all_whole(value, count, UINT16_MAX);
    case VALUES_F32:
        return all_float(value, count);
    default:
        return true;
    }
}

enum value_form values_narrowest(const double *value, uint64_t count)
{
    if (all_same(value, count))
        return VALUES_CONSTANT;
    enum value_form form = VALUES_U8;
    for (uint64_t i = 0; i < count && form < VALUES_F64;) {
        uint64_t length = count - i < SLICE ? count - i : SLICE;
        if (holds(form, value + i, length))
            i += length;
        else
            form++; /* which holds those before as well */
    }
    return form;
}

uint64_t values_bytes(enum value_form form, uint64_t count)
{
    static const uint64_t bytes[VALUES_FORMS] = {0, 1, 2, 4, 8};
    return form == VALUES_CONSTANT ? sizeof(double) : count * bytes[form];
}

void values_pack(enum value_form form, const double *value, uint64_t count, void *packed)
{
    uint8_t *u8 = packed;
    uint16_t *u16 = packed;
    float *f32 = packed;
    switch (form) {
    case VALUES_U8:
        for (uint64_t i = 0; i < count; i++)
            u8[i] = (uint8_t)value[i];
        break;
    case VALUES_U16:
        for (uint64_t i = 0; i < count; i++)
            u16[i] = (uint16_t)value[i];
        break;
    case VALUES_F32:
        for (uint64_t i = 0; i < count; i++)
            f32[i] = (float)value[i];
        break;
    default:
        memcpy(packed, value, values_bytes(form, count));
    }
}

void values_widen(enum value_form form, const void *packed, uint64_t count, double *value)
{
    const uint8_t *u8 = packed;
    const uint16_t *u16 = packed;
    const float *f32 = packed;
    switch (form) {
    case VALUES_CONSTANT:
        for (uint64_t i = 0; i < count; i++)
            memcpy(&value[i], packed, sizeof *value);
        break;
    case VALUES_U8:
        for (uint64_t i = 0; i < count; i++)
            value[i] = u8[i];
        break;
    case VALUES_U16:
        for (uint64_t i = 0; i < count; i++)
            value[i] = u16[i];
        break;
    case VALUES_F32:
        for (uint64_t i = 0; i < count; i++)
            value[i] = (double)f32[i];
        break;
    default:
        memcpy(value, packed, values_bytes(form, count));
    }
}
