#include "formats/blco/segment_pack.h"

#include "base/vector_clones.h"
#include "formats/blco/value_codec.h"

void segment_group_load(const uint8_t *bytes, uint32_t k, int line_bits, struct packed_group *g,
                        uint64_t *line)
{
    const uint8_t *entry = bytes + k * blco_group_stride(line_bits);
    memcpy(g, entry, sizeof *g);
    if (line)
        memcpy(line, entry + sizeof *g, blco_line_words(line_bits) * sizeof *line);
}

static const uint32_t *words_of(const uint8_t *bytes, const struct packed_group *g)
{
    return (const uint32_t *)(const void *)(bytes + g->at);
}

static const uint32_t *value_words(const uint8_t *bytes, const struct packed_group *g)
{
    return words_of(bytes, g) + packed_field_words(g->count, g->low_bits);
}

static const uint32_t *upper_words(const uint8_t *bytes, const struct packed_group *g)
{
    return value_words(bytes, g) + packed_field_words(g->count, g->value_bits);
}

void segment_group_values(const uint8_t *bytes, const struct packed_group *g, double *value)
{
    value_codec_unpack(value_words(bytes, g), g, value);
}

/* --- checking --- */

static bool values_are_sound(const struct packed_group *g)
{
    bool none = g->least == 0 && g->decimals == 0;
    switch (g->value_form) {
    case PACKED_CONSTANT:
        return g->value_bits == 0 && g->decimals == 0;
    case PACKED_WHOLE:
        return g->value_bits <= VALUE_CODEC_WHOLE_BITS && g->decimals <= PACKED_DECIMALS &&
               g->least >= -VALUE_CODEC_MOST_WHOLE && g->least <= VALUE_CODEC_MOST_WHOLE;
    case PACKED_F32:
        return g->value_bits == 32 && none;
    case PACKED_F64:
        return g->value_bits == 64 && none;
    default:
        return false;
    }
}

/* Checks the entry of a group, which must begin with nonzero `first` of the segment, with `left`
 * nonzeros left. */
static bool entry_is_sound(const struct packed_group *g, int line_bits, uint32_t first,
                           uint32_t left)
{
    uint32_t full = left < PACKED_GROUP_NNZ ? left : PACKED_GROUP_NNZ;
    return g->first == first && g->count >= 1 && g->count <= full &&
           (g->count == full || line_bits > PACKED_NUMBER_BITS) && g->low_bits <= line_bits &&
           g->low_bits < PACKED_NUMBER_BITS && g->upper_words >= 1 &&
           g->upper_words <= PACKED_UPPER_WORDS && g->unused == 0 && values_are_sound(g);
}

/* The number of set bits of a bit vector. */
VECTOR_CLONES
static uint32_t count_bits(const uint32_t *word, uint32_t words)
{
    uint32_t count = 0;
    for (uint32_t w = 0; w < words; w++) {
        uint32_t x = word[w];
        x -= x >> 1 & 0x55555555;
        x = (x & 0x33333333) + (x >> 2 & 0x33333333);
        x = (x + (x >> 4)) & 0x0f0f0f0f;
        x += x >> 8;
        count += (x + (x >> 16)) & 0x3f;
    }
    return count;
}

/* The place of the last set bit of a bit vector that has one. */
static uint32_t last_bit(const uint32_t *word, uint32_t words)
{
    do {
        words--;
    } while (words > 0 && word[words] == 0);
    return 32 * words + 31 - (uint32_t)__builtin_clz(word[words]);
}

/* Checks that no line of the group has bits beyond line_bits, or differs from the others above
 * place PACKED_NUMBER_BITS. `upper` is the upper number of the last line. */
static bool line_is_sound(const uint64_t *line, int line_bits, int low_bits, uint32_t upper)
{
    int words = (int)blco_line_words(line_bits), top = line_bits % 64;
    uint128 base = (words > 0 ? line[0] : 0) | (uint128)(words > 1 ? line[1] : 0) << 64;
    uint128 low = ((uint128)1 << low_bits) - 1, more = (uint128)upper << low_bits;
    uint128 end = (base | low) + more;
    if ((base & low) != 0 || more >> low_bits != upper || end < base)
        return false;
    if (line_bits < PACKED_NUMBER_BITS)
        return end >> line_bits == 0;
    return top == 0 || line[words - 1] >> top == 0;
}

/* Checks a group whose entry is sound and whose words must begin at byte `at`. */
static bool group_is_sound(const uint8_t *bytes, const struct blco_file_segment *s, int line_bits,
                           const struct packed_group *g, const uint64_t *line, uint64_t at)
{
    if (g->at != at || blco_group_words(g) * sizeof(uint32_t) > s->bytes - at)
        return false;
    const uint32_t *vector = upper_words(bytes, g);
    return count_bits(vector, g->upper_words) == g->count &&
           line_is_sound(line, line_bits, g->low_bits,
                         last_bit(vector, g->upper_words) - (g->count - 1u));
}

bool segment_is_sound(const uint8_t *bytes, const struct blco_file_segment *s, int line_bits,
                      uint32_t count)
{
    uint32_t done = 0;
    uint64_t at = s->ngroups * blco_group_stride(line_bits);
    bool good = at <= s->bytes;
    for (uint32_t k = 0; k < s->ngroups && good; k++) {
        struct packed_group g;
        uint64_t line[MAX_LINE_WORDS];
        segment_group_load(bytes, k, line_bits, &g, line);
        good = entry_is_sound(&g, line_bits, done, count - done) &&
               group_is_sound(bytes, s, line_bits, &g, line, at);
        at += blco_group_words(&g) * sizeof(uint32_t);
        done += g.count;
    }
    good = good && done == count && s->bytes - at < BLCO_SEGMENT_ALIGN;
    for (; good && at < s->bytes; at++)
        good = bytes[at] == 0;
    return good;
}

bool segment_values_are(const uint8_t *bytes, const struct blco_file_segment *s, int line_bits,
                        struct value_kinds may)
{
    bool good = true;
    for (uint32_t k = 0; k < s->ngroups && good; k++) {
        struct packed_group g;
        double value[PACKED_GROUP_NNZ];
        segment_group_load(bytes, k, line_bits, &g, NULL);
        if (g.value_form == PACKED_WHOLE && g.least > 0) /* neither 0 nor infinite */
            continue;
        segment_group_values(bytes, &g, value);
        good = value_codec_first_bad(value, g.count, may) == g.count;
    }
    return good;
}

/* --- decoding --- */

/* Sets the lowest 128 bits of each line. */
static void add_wide(const uint32_t *word, const struct packed_group *g, const uint16_t *upper,
                     struct line_group *lines)
{
    uint128 base = (uint128)lines->line[1] << 64 | lines->line[0];
    uint32_t low = g->low_bits;
    for (uint32_t i = 0; i < g->count; i++) {
        uint64_t lower = packed_bits(word, i * low, low < 64 ? (int)low : 64);
        uint64_t higher = low > 64 ? packed_bits(word, i * low + 64, (int)low - 64) : 0;
        uint128 number = base + ((uint128)upper[i] << low | (uint128)higher << 64 | lower);
        lines->word[0][i] = (uint64_t)number;
        lines->word[1][i] = (uint64_t)(number >> 64);
    }
}

/* Sets the lowest 64 bits of each line, where the lines agree in all higher bits. */
VECTOR_CLONES
static void add_narrow(const uint32_t *word, const struct packed_group *g, const uint16_t *upper,
                       struct line_group *lines)
{
    uint64_t *line = lines->word[0], base = lines->line[0];
    int low = g->low_bits;
    fields_unpack(word, g->count, low, line);
    for (uint32_t i = 0; i < g->count; i++)
        line[i] += base + ((uint64_t)upper[i] << low);
}

/* Unpacks a sound group, whose line is lines->line, to the nonzeros from `to` on. Returns whether
 * all coordinates are below the lengths of x. */
static bool unpack_group(const struct linear_decoder *d, const uint8_t *bytes,
                         const struct packed_group *g, struct line_group *lines, struct coo *x,
                         uint64_t to)
{
    uint16_t upper[PACKED_GROUP_NNZ + 8]; /* up to eight entries after the last are overwritten */
    bit_places_find(&d->places, upper_words(bytes, g), g->upper_words, upper);
    for (uint16_t i = 0; i < g->count; i++)
        upper[i] = (uint16_t)(upper[i] - i);
    uint128 base = (uint128)lines->line[1] << 64 | lines->line[0];
    uint128 end = base + ((uint128)(upper[g->count - 1u] + 1u) << g->low_bits) - 1;
    lines->count = g->count;
    lines->differing = bit_length(end ^ base);
    if (lines->differing > 64 || g->low_bits == 64)
        add_wide(words_of(bytes, g), g, upper, lines);
    else
        add_narrow(words_of(bytes, g), g, upper, lines);
    segment_group_values(bytes, g, x->value + to);
    return linear_decoder_group(d, lines, x, to);
}

bool segment_unpack(const struct linear_decoder *d, const uint8_t *bytes,
                    const struct blco_file_segment *s, struct coo *x, uint64_t first,
                    uint32_t count)
{
    bool good = segment_is_sound(bytes, s, d->line_bits, count);
    for (uint32_t k = 0; k < s->ngroups && good; k++) {
        struct packed_group g;
        struct line_group lines;
        memset(lines.line, 0, sizeof lines.line);
        segment_group_load(bytes, k, d->line_bits, &g, lines.line);
        good = unpack_group(d, bytes, &g, &lines, x, first + g.first);
    }
    return good;
}

uint32_t segment_unpack_group(const struct linear_decoder *d, const uint8_t *bytes,
                              const struct blco_file_segment *s, uint32_t k, struct coo *x,
                              uint64_t to)
{
    struct packed_group g;
    struct line_group lines;
    if ((k + UINT64_C(1)) * blco_group_stride(d->line_bits) > s->bytes)
        return 0;
    memset(lines.line, 0, sizeof lines.line);
    segment_group_load(bytes, k, d->line_bits, &g, lines.line);
    bool good = entry_is_sound(&g, d->line_bits, g.first, g.count) && g.at <= s->bytes &&
                g.at % sizeof(uint32_t) == 0 &&
                group_is_sound(bytes, s, d->line_bits, &g, lines.line, g.at) &&
                unpack_group(d, bytes, &g, &lines, x, to);
    return good ? g.count : 0;
}
