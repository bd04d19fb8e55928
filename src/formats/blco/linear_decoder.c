#include "formats/blco/linear_decoder.h"

#include "base/memory.h"
#include "base/vector_clones.h"

/* Gives each mode bits of a word, above those of the modes before it. */
static void place_modes(struct linear_decoder *d, const struct ordering *o)
{
    int used = 0;
    d->words = 1;
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
}

/* The bits that the 256 values of byte `byte` of a line set in a word. */
static uint64_t *table_of(const struct linear_decoder *d, int word, int byte)
{
    return d->spread + ((size_t)word * (size_t)d->bytes + (size_t)byte) * 256;
}

static void fill_tables(struct linear_decoder *d, const struct ordering *o)
{
    for (int n = 0; n < o->order; n++) {
        for (int k = 0; k < o->mode_bits[n]; k++) {
            int place = o->place[n][k], word = d->mode[n].word;
            uint64_t *table = table_of(d, word, place / 8);
            for (unsigned value = 0; value < 256; value++)
                if (value >> place % 8 & 1)
                    table[value] |= UINT64_C(1) << (d->mode[n].shift + k);
        }
    }
}

enum status linear_decoder_create(struct linear_decoder *d, const struct ordering *o,
                                  struct error *error)
{
    *d = (struct linear_decoder){
        .order = o->order, .line_bits = o->line_bits, .bytes = (o->line_bits + 7) / 8};
    place_modes(d, o);
    bit_places_fill(&d->places);
    d->spread =
        memory_zeros((size_t)d->words * (size_t)d->bytes * 256 + 1, sizeof *d->spread, error);
    if (!d->spread)
        return error->status;
    fill_tables(d, o);
    return STATUS_OK;
}

void linear_decoder_free(struct linear_decoder *d)
{
    memory_free(d->spread);
    *d = (struct linear_decoder){0};
}

static unsigned byte_of(const uint64_t *line, int byte)
{
    return (unsigned)(line[byte / 8] >> byte % 8 * 8 & 255);
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
        common |= table_of(d, w, byte)[byte_of(g->line, byte)];
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
