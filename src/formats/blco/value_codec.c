#include "formats/blco/value_codec.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/vector_clones.h"

/* A whole number of at most SHIFT_MOST plus SHIFT has the number in its low bits, exactly. */
#define SHIFT      0x1.8p52
#define SHIFT_MOST 0x1p51

static const double powers[PACKED_DECIMALS + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                   1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                                   1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* A group's values as whole numbers over a power of ten. */
struct decimals {
    int count; /* of digits after the decimal point */
    int64_t whole[PACKED_GROUP_NNZ];
};

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static bool all_same(const double *value, uint32_t count)
{
    uint64_t differing = 0;
    for (uint32_t i = 1; i < count; i++)
        differing |= bits_of(value[i]) ^ bits_of(value[0]);
    return differing == 0;
}

VECTOR_CLONES
static bool all_float(const double *value, uint32_t count)
{
    uint64_t differing = 0;
    for (uint32_t i = 0; i < count; i++)
        differing |= bits_of((double)(float)value[i]) ^ bits_of(value[i]);
    return differing == 0;
}

/* Whether all values are whole numbers of at most SHIFT_MOST. */
VECTOR_CLONES
static bool all_whole(const double *value, uint32_t count, int64_t *whole)
{
    uint64_t differing = 0;
    for (uint32_t i = 0; i < count; i++) {
        double shifted = value[i] + SHIFT;
        differing |= bits_of(shifted - SHIFT) ^ bits_of(value[i]);
        differing |= fabs(value[i]) <= SHIFT_MOST ? 0 : 1;
        whole[i] = (int64_t)(bits_of(shifted) - bits_of(SHIFT));
    }
    return differing == 0;
}

/* Whether the value is the double nearest to a whole number of at most VALUE_CODEC_MOST_WHOLE over
 * this power of ten: both are exact doubles, and their division is rounded correctly. */
static bool is_decimal(double value, double power, int64_t *whole)
{
    double scaled = value * power;
    if (!(fabs(scaled) <= (double)VALUE_CODEC_MOST_WHOLE))
        return false;
    *whole = llrint(scaled);
    return bits_of((double)*whole / power) == bits_of(value);
}

/* The fewest decimals, `least` or more, with which is_decimal() holds; PACKED_DECIMALS + 1 if there
 * are none. */
static int decimals_of(double value, int least, int64_t *whole)
{
    for (int d = least; d <= PACKED_DECIMALS; d++) {
        if (is_decimal(value, powers[d], whole))
            return d;
        if (!(fabs(value) * powers[d] <= (double)VALUE_CODEC_MOST_WHOLE))
            break;
    }
    return PACKED_DECIMALS + 1;
}

/* Whether all values are whole numbers over one power of ten, the least one. Arbitrary doubles fail
 * at the first value; after a value that needs more decimals, the others are checked again. */
static bool find_decimals(const double *value, uint32_t count, struct decimals *d)
{
    d->count = 0;
    if (all_whole(value, count, d->whole))
        return true;
    uint32_t good = 0; /* values in a row that have d->count decimals */
    for (uint32_t i = 0; good < count; i = i + 1 < count ? i + 1 : 0) {
        int needed = decimals_of(value[i], d->count, &d->whole[i]);
        if (needed > PACKED_DECIMALS)
            return false;
        good = needed > d->count ? 1 : good + 1;
        d->count = needed;
    }
    return true;
}

static void set_form(struct packed_group *g, enum packed_values form, int bits, int decimals,
                     int64_t least)
{
    g->value_form = (uint8_t)form;
    g->value_bits = (uint8_t)bits;
    g->decimals = (uint8_t)decimals;
    g->least = least;
}

/* Chooses whole numbers if they take at most `most_bits` bits. */
static bool choose_whole(const struct decimals *d, struct packed_group *g, int most_bits)
{
    int64_t least = d->whole[0], largest = d->whole[0];
    for (uint32_t i = 1; i < g->count; i++) {
        least = d->whole[i] < least ? d->whole[i] : least;
        largest = d->whole[i] > largest ? d->whole[i] : largest;
    }
    int bits = 64 - __builtin_clzll((uint64_t)(largest - least) | 1);
    if (bits > most_bits)
        return false;
    set_form(g, PACKED_WHOLE, bits, d->count, least);
    return true;
}

void value_codec_choose(const double *value, struct packed_group *g)
{
    struct decimals d;
    if (all_same(value, g->count)) {
        set_form(g, PACKED_CONSTANT, 0, 0, (int64_t)bits_of(value[0]));
        return;
    }
    bool whole = find_decimals(value, g->count, &d);
    if (whole && choose_whole(&d, g, 32))
        return;
    if (all_float(value, g->count))
        set_form(g, PACKED_F32, 32, 0, 0);
    else if (!whole || !choose_whole(&d, g, VALUE_CODEC_WHOLE_BITS))
        set_form(g, PACKED_F64, 64, 0, 0);
}

static uint64_t field_of(double value, const struct packed_group *g)
{
    if (g->value_form == PACKED_WHOLE)
        return (uint64_t)(llrint(value * powers[g->decimals]) - g->least);
    if (g->value_form == PACKED_F32) {
        float single = (float)value;
        uint32_t bits;
        memcpy(&bits, &single, sizeof bits);
        return bits;
    }
    return bits_of(value);
}

void value_codec_pack(const double *value, const struct packed_group *g, uint32_t *word)
{
    uint64_t field[PACKED_GROUP_NNZ];
    if (g->value_form == PACKED_CONSTANT)
        return;
    for (uint32_t i = 0; i < g->count; i++)
        field[i] = field_of(value[i], g);
    fields_pack(field, g->count, g->value_bits, word);
}

/* Unpacks whole numbers of at most SHIFT_MOST. */
VECTOR_CLONES
static void widen_whole(const uint64_t *field, const struct packed_group *g, double *value)
{
    uint64_t least = (uint64_t)g->least + bits_of(SHIFT);
    for (uint32_t i = 0; i < g->count; i++)
        value[i] = double_of(least + field[i]) - SHIFT;
    if (g->decimals > 0)
        for (uint32_t i = 0; i < g->count; i++)
            value[i] /= powers[g->decimals];
}

VECTOR_CLONES
void value_codec_unpack(const uint32_t *word, const struct packed_group *g, double *value)
{
    uint64_t field[PACKED_GROUP_NNZ];
    int64_t most = (int64_t)SHIFT_MOST;
    fields_unpack(word, g->count, g->value_bits, field);
    if (g->value_form == PACKED_WHOLE && g->value_bits <= 51 && g->least >= -most &&
        g->least <= most - (INT64_C(1) << g->value_bits)) {
        widen_whole(field, g, value);
    } else {
        for (uint32_t i = 0; i < g->count; i++)
            value[i] = packed_value(g, powers[g->decimals], field[i]);
    }
}

VECTOR_CLONES
static uint64_t count_odd(const double *value, uint64_t count)
{
    uint64_t odd = 0;
    for (uint64_t i = 0; i < count; i++)
        odd += !(fabs(value[i]) > 0 && fabs(value[i]) <= DBL_MAX);
    return odd;
}

static bool is_bad(double value, struct value_kinds may)
{
    return isinf(value) || (isnan(value) && !may.unknown) || (value == 0 && !may.zeros);
}

uint64_t value_codec_first_bad(const double *value, uint64_t count, struct value_kinds may)
{
    uint64_t i = 0;
    if (count_odd(value, count) == 0)
        return count;
    while (i < count && !is_bad(value[i], may))
        i++;
    return i;
}

void fields_pack(const uint64_t *field, uint32_t count, int bits, uint32_t *word)
{
    struct field_writer w = {.word = word};
    for (uint32_t i = 0; i < count; i++) {
        if (bits > 32)
            field_write(&w, (uint32_t)field[i], 32);
        if (bits > 0)
            field_write(&w, bits > 32 ? field[i] >> 32 : field[i], bits > 32 ? bits - 32 : bits);
    }
    field_flush(&w);
}

VECTOR_CLONES
void fields_unpack(const uint32_t *word, uint32_t count, int bits, uint64_t *field)
{
    if (bits > 32) {
        for (uint32_t i = 0; i < count; i++)
            field[i] = packed_field(word, i, bits);
        return;
    }
    if (bits == 0) {
        memset(field, 0, count * sizeof *field);
        return;
    }
    uint64_t mask = (UINT64_C(1) << bits) - 1;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t from = i * (uint32_t)bits;
        uint64_t pair;
        memcpy(&pair, word + from / 32, sizeof pair);
        field[i] = pair >> from % 32 & mask;
    }
}

void bit_places_fill(struct bit_places *p)
{
    memset(p, 0, sizeof *p);
    for (unsigned byte = 0; byte < 256; byte++)
        for (uint16_t bit = 0; bit < 8; bit++)
            if (byte >> bit & 1)
                p->place[byte][p->count[byte]++] = bit;
}

VECTOR_CLONES
void bit_places_find(const struct bit_places *restrict p, const uint32_t *restrict word,
                     uint32_t words, uint16_t *restrict place)
{
    for (uint32_t at = 0; at < 32 * words; at += 8) {
        unsigned byte = word[at / 32] >> at % 32 & 255;
        for (int k = 0; k < 8; k++)
            place[k] = (uint16_t)(p->place[byte][k] + at);
        place += p->count[byte];
    }
}
