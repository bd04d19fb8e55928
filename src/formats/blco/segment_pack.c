#include "formats/blco/segment_pack.h"

#include "base/memory.h"
#include "base/vector_clones.h"

#define NUMBER_WORDS (PACKED_NUMBER_BITS / 64)
#define GROUP_BITS   8 /* bits of a nonzero's number in its group */

/* The lines of a group that is packed. */
struct lines {
    /* word[w][i]: word w of line i; words 0 and 1 are always set */
    uint64_t word[MAX_LINE_WORDS][PACKED_GROUP_NNZ];
};

/* Loads the lines of the group that begins with nonzero `first` of x, where the segment has `left`
 * nonzeros left. Returns the number of nonzeros of the group. */
static uint32_t load_lines(const struct line_encoder *e, const struct coo *x, uint64_t first,
                           uint32_t left, struct lines *l)
{
    uint32_t count = left < PACKED_GROUP_NNZ ? left : PACKED_GROUP_NNZ;
    int words = (int)blco_line_words(e->ordering.line_bits);
    for (int w = words - 1; w >= 0; w--) {
        line_encoder_words(e, x, w, first, count, l->word[w]);
        for (uint32_t i = 1; i < count && w >= NUMBER_WORDS; i++)
            if (l->word[w][i] != l->word[w][0])
                count = i;
    }
    for (int w = words; w < NUMBER_WORDS; w++)
        memset(l->word[w], 0, count * sizeof l->word[w][0]);
    return count;
}

static uint128 number_at(const struct lines *l, uint32_t i)
{
    return (uint128)l->word[1][i] << 64 | l->word[0][i];
}

/* Sets low_bits and upper_words so that the group takes the fewest words. Numbers that differ in
 * `range` bits take the fewest if the upper bits of the last one are between half the count and
 * twice the count, so that at most nine of these bits are above low_bits. */
static void choose_low_bits(const struct lines *l, struct packed_group *g)
{
    uint128 first = number_at(l, 0), last = number_at(l, g->count - 1u);
    int range = bit_length(last - first), low = range > GROUP_BITS + 1 ? range - GROUP_BITS - 1 : 0;
    uint32_t fewest = UINT32_MAX;
    for (; low <= range && low < PACKED_NUMBER_BITS; low++) {
        uint32_t upper = (uint32_t)((last >> low) - (first >> low));
        uint32_t vector = (upper + g->count + 31) / 32;
        uint32_t all = packed_field_words(g->count, low) + vector;
        if (all >= fewest)
            continue;
        fewest = all;
        g->low_bits = (uint8_t)low;
        g->upper_words = (uint8_t)vector;
    }
}

static uint32_t count_groups(const struct line_encoder *e, const struct coo *x, uint64_t first,
                             uint32_t count)
{
    struct lines l;
    uint32_t groups = 0;
    if (e->ordering.line_bits <= PACKED_NUMBER_BITS)
        return (uint32_t)packed_size_groups(count);
    for (uint32_t i = 0; i < count; groups++)
        i += load_lines(e, x, first + i, count - i, &l);
    return groups;
}

static void store_entry(const struct packed_group *g, const struct lines *l, int line_bits,
                        uint8_t *entry)
{
    uint64_t line[MAX_LINE_WORDS] = {0};
    uint64_t words = blco_line_words(line_bits);
    uint128 base = number_at(l, 0) >> g->low_bits << g->low_bits;
    line[0] = (uint64_t)base;
    line[1] = (uint64_t)(base >> 64);
    for (uint64_t w = NUMBER_WORDS; w < words; w++)
        line[w] = l->word[w][0];
    memcpy(entry, g, sizeof *g);
    memcpy(entry + sizeof *g, line, words * sizeof *line);
}

/* The low bits of the numbers, in pieces of at most 32 bits. */
static void pack_low_bits(const struct lines *l, const struct packed_group *g, uint32_t *word)
{
    struct field_writer w = {.word = word};
    for (uint32_t i = 0; i < g->count; i++) {
        uint128 field = number_at(l, i);
        for (int left = g->low_bits; left > 0; left -= 32, field >>= 32) {
            int bits = left < 32 ? left : 32;
            field_write(&w, (uint64_t)field & (UINT64_MAX >> (64 - bits)), bits);
        }
    }
    field_flush(&w);
}

static void pack_uppers(const struct lines *l, const struct packed_group *g, uint32_t *word)
{
    uint128 base = number_at(l, 0) >> g->low_bits;
    memset(word, 0, g->upper_words * sizeof *word);
    for (uint32_t i = 0; i < g->count; i++) {
        uint32_t place = (uint32_t)((number_at(l, i) >> g->low_bits) - base) + i;
        word[place / 32] |= UINT32_C(1) << place % 32;
    }
}

void segment_pack(const struct line_encoder *e, const struct coo *x, uint64_t first, uint32_t count,
                  uint8_t *bytes, struct blco_file_segment *s)
{
    int line_bits = e->ordering.line_bits;
    uint64_t stride = blco_group_stride(line_bits);
    *s = (struct blco_file_segment){.ngroups = count_groups(e, x, first, count)};
    uint64_t at = s->ngroups * stride;
    uint32_t done = 0;
    for (uint32_t k = 0; k < s->ngroups; k++) {
        struct lines l;
        uint32_t length = load_lines(e, x, first + done, count - done, &l);
        const double *value = x->value + first + done;
        struct packed_group g = {.count = (uint16_t)length, .first = done, .at = (uint32_t)at};
        choose_low_bits(&l, &g);
        value_codec_choose(value, &g);
        if (bytes) {
            store_entry(&g, &l, line_bits, bytes + k * stride);
            uint32_t *word = (uint32_t *)(void *)(bytes + at);
            pack_low_bits(&l, &g, word);
            word += packed_field_words(g.count, g.low_bits);
            value_codec_pack(value, &g, word);
            pack_uppers(&l, &g, word + packed_field_words(g.count, g.value_bits));
        }
        at += blco_group_words(&g) * sizeof(uint32_t);
        done += length;
    }
    s->bytes = (uint32_t)blco_round_up(at, BLCO_SEGMENT_ALIGN);
    if (bytes)
        memset(bytes + at, 0, s->bytes - at);
}

/* The bits that the 256 values of byte `byte` of a line set in a word. */
static uint64_t *table_of(const struct linear_decoder *d, int word, int byte)
{
    return d->spread + ((size_t)word * (size_t)d->bytes + (size_t)byte) * 256;
}

enum status linear_decoder_create(struct linear_decoder *d, const struct ordering *o,
                                  struct error *error)
{
    *d = (struct linear_decoder){
        .order = o->order, .line_bits = o->line_bits, .words = 1, .bytes = (o->line_bits + 7) / 8};
    int used =
        0; /* bits of the last word: each mode gets bits above those of the modes before it */
    for (int n = 0; n < o->order; n++) {
        if (used + o->mode_bits[n] > 64) {
            d->words++;
            used = 0;
        }
        d->mode[n].word = d->words - 1;
        d->mode[n].shift = used < 64 ? used : 0; /* a mode without bits may come after bit 63 */
        d->mode[n].mask = (uint32_t)((UINT64_C(1) << o->mode_bits[n]) - 1);
        used += o->mode_bits[n];
    }
    bit_places_fill(&d->places);
    d->spread =
        memory_zeros((size_t)d->words * (size_t)d->bytes * 256 + 1, sizeof *d->spread, error);
    TRY(error->status);
    for (int n = 0; n < o->order; n++) {
        for (int k = 0; k < o->mode_bits[n]; k++) {
            int place = o->place[n][k], word = d->mode[n].word;
            uint64_t *table = table_of(d, word, place / 8);
            for (unsigned value = 0; value < 256; value++)
                if (value >> place % 8 & 1)
                    table[value] |= UINT64_C(1) << (d->mode[n].shift + k);
        }
    }
    return STATUS_OK;
}

void linear_decoder_free(struct linear_decoder *d)
{
    memory_free(d->spread);
    *d = (struct linear_decoder){0};
}

/* Sets, by the tables, the bits of four bytes of each line; the first byte is at `shift`. */
VECTOR_CLONES
static void add_four(const uint64_t *const table[4], const uint64_t *restrict line, int shift,
                     uint32_t count, uint64_t *restrict word)
{
    const uint64_t *a = table[0], *b = table[1], *c = table[2], *d = table[3];
    for (uint32_t i = 0; i < count; i++) {
        uint32_t bytes = (uint32_t)(line[i] >> shift);
        __asm__("" : "+r"(bytes)); /* a vectorised lookup takes twice as long */
        word[i] |= a[bytes & 255] | b[bytes >> 8 & 255] | c[bytes >> 16 & 255] | d[bytes >> 24];
    }
}

/* Decodes word w of each line. *bits are the bits that may be set in any of the words. */
static void spread_word(const struct linear_decoder *d, const struct line_group *g, int w,
                        uint64_t *word, uint64_t *bits)
{
    static const uint64_t nothing[256];
    int differing = (g->differing + 7) / 8;
    uint64_t common = 0;
    for (int byte = differing; byte < d->bytes; byte++)
        common |= table_of(d, w, byte)[g->line[byte / 8] >> byte % 8 * 8 & 255];
    for (uint32_t i = 0; i < g->count; i++)
        word[i] = common;
    *bits = common;
    for (int byte = 0; byte < differing; byte += 4) {
        const uint64_t *table[4];
        uint64_t found = 0;
        for (int k = 0; k < 4; k++) {
            table[k] = byte + k < differing ? table_of(d, w, byte + k) : nothing;
            found |= table[k][255];
        }
        if (found)
            add_four(table, g->word[byte / 8], byte % 8 * 8, g->count, word);
        *bits |= found;
    }
}

VECTOR_CLONES
static void take_mode(const uint64_t *restrict word, uint32_t count, int shift, uint32_t mask,
                      uint32_t *restrict coordinate)
{
    for (uint32_t i = 0; i < count; i++)
        coordinate[i] = (uint32_t)(word[i] >> shift) & mask;
}

static uint32_t largest_of(const uint32_t *coordinate, uint32_t count)
{
    uint32_t largest = 0;
    for (uint32_t i = 0; i < count; i++)
        largest = coordinate[i] > largest ? coordinate[i] : largest;
    return largest;
}

bool linear_decoder_group(const struct linear_decoder *d, const struct line_group *g, struct coo *x,
                          uint64_t to)
{
    uint64_t word[PACKED_GROUP_NNZ], bits = 0;
    bool within = true;
    for (int n = 0, w = -1; n < d->order; n++) {
        if (d->mode[n].word != w)
            spread_word(d, g, w = d->mode[n].word, word, &bits);
        uint32_t *coordinate = x->index[n] + to, mask = d->mode[n].mask;
        take_mode(word, g->count, d->mode[n].shift, mask, coordinate);
        if (((bits >> d->mode[n].shift) & mask) >= x->shape.dims[n])
            within = within && largest_of(coordinate, g->count) < x->shape.dims[n];
    }
    return within;
}
