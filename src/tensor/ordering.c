#include "tensor/ordering.h"

#include <string.h>

#include "base/memory.h"
#include "base/radix_sort.h"

#define MAX_WORDS   2
#define PART        2048 /* nonzeros whose keys stay in cache while every mode adds its bits */
#define COORD_BYTES 4

int ordering_bits(uint64_t length)
{
    return length > 1 ? 64 - __builtin_clzll(length - 1) : 0;
}

int ordering_line_bits(const struct shape *shape)
{
    int bits = 0;
    for (int n = 0; n < shape->order; n++)
        bits += ordering_bits(shape->dims[n]);
    return bits;
}

/* Bits [begin, end) of mode n take the next places; returns the place after them. */
static uint16_t place_bits(struct ordering *o, int n, int begin, int end, uint16_t place)
{
    for (int k = begin; k < end; k++)
        o->place[n][k] = place++;
    return place;
}

/* The longest mode that has no place yet, the last of equally long ones; -1 where all have one. */
static int longest_left(const struct ordering *o, const bool *placed, const uint64_t *dims)
{
    int longest = -1;
    for (int n = 0; n < o->order; n++)
        if (!placed[n] && (longest < 0 || dims[n] >= dims[longest]))
            longest = n;
    return longest;
}

bool tile_has(const struct tile *tile, int mode)
{
    for (int k = 0; k < tile->modes; k++)
        if (tile->mode[k] == mode)
            return true;
    return false;
}

/* Bits of mode n that number the rows of a tile. */
static int low_bits(const struct ordering *o, int n)
{
    return o->tile.bits < o->mode_bits[n] ? o->tile.bits : o->mode_bits[n];
}

/* Fills the line from the lowest place up: the low bits of modes in tiles of shared memory; the
 * mode `lowest`, unless that is -1; the other modes, the longest first; the mode o->kind; and the
 * upper bits of the tiled modes. In tiles of a cache, the line below these is as without tiles. */
static void place_mode(struct ordering *o, int lowest, const uint64_t *dims)
{
    const struct tile *tile = &o->tile;
    bool placed[MAX_ORDER] = {false};
    uint16_t place = 0;
    placed[o->kind] = true;
    for (int k = tile->modes - 1; k >= 0 && !tile->in_cache; k--) {
        place = place_bits(o, tile->mode[k], 0, low_bits(o, tile->mode[k]), place);
        placed[tile->mode[k]] = true;
    }
    for (int next = lowest >= 0 ? lowest : longest_left(o, placed, dims); next >= 0;
         next = longest_left(o, placed, dims)) {
        const int end = tile_has(tile, next) ? low_bits(o, next) : o->mode_bits[next];
        place = place_bits(o, next, 0, end, place);
        placed[next] = true;
    }
    place = place_bits(o, o->kind, 0, o->mode_bits[o->kind], place);
    for (int k = tile->modes - 1; k >= 0; k--) {
        const int n = tile->mode[k];
        place = place_bits(o, n, low_bits(o, n), o->mode_bits[n], place);
    }
}

/* Bits of mode n that lie below the cut. */
static int stored_bits(const struct ordering *o, int n, int cut)
{
    int bits = 0;
    while (bits < o->mode_bits[n] && o->place[n][bits] < cut)
        bits++;
    return bits;
}

/* Assigns each mode's stored bits to one of two words of 64 bits; false where that is not possible.
 * can[n][s]: some of the first n modes have s bits in sum. */
static bool assign_words(const int *bits, int order, int *word)
{
    bool can[MAX_ORDER + 1][65] = {{true}};
    int total = 0;
    for (int n = 0; n < order; n++) {
        total += bits[n];
        for (int s = 0; s <= 64; s++)
            can[n + 1][s] = can[n][s] || (s >= bits[n] && can[n][s - bits[n]]);
    }
    int sum = 64;
    while (sum >= 0 && !can[order][sum])
        sum--;
    if (total - sum > 64)
        return false;
    for (int n = order - 1; n >= 0; n--) {
        word[n] = can[n][sum] ? 1 : 0;
        if (word[n] == 0)
            sum -= bits[n];
    }
    return true;
}

/* *o without places and fields. */
static void begin(struct ordering *o, int kind, const struct shape *shape)
{
    memset(o, 0, sizeof *o);
    o->kind = kind;
    o->order = shape->order;
    for (int n = 0; n < shape->order; n++) {
        o->mode_bits[n] = ordering_bits(shape->dims[n]);
        o->line_bits += o->mode_bits[n];
    }
}

/* The index has at most `index_bits` bits, all below the cut. Each word is packed from its low end,
 * the modes in the order of their lowest line bits. */
static void cut(struct ordering *o, int index_bits)
{
    int bits[MAX_ORDER], word[MAX_ORDER] = {0}, used[MAX_WORDS] = {0};
    o->cut = index_bits < o->line_bits ? index_bits : o->line_bits;
    o->words = o->cut > 64 ? 2 : 1;
    for (;; o->cut--) {
        for (int n = 0; n < o->order; n++)
            bits[n] = stored_bits(o, n, o->cut);
        if (o->words == 1 || assign_words(bits, o->order, word))
            break;
    }
    memset(o->field, 0, sizeof o->field);
    for (int place = 0; place < o->cut; place++) {
        for (int n = 0; n < o->order; n++) {
            if (bits[n] == 0 || o->place[n][0] != place)
                continue;
            int w = word[n];
            o->field[n] = (struct field){w, used[w], (UINT64_C(1) << bits[n]) - 1};
            used[w] += bits[n];
        }
    }
}

void ordering_create_lowest(struct ordering *o, int kind, int lowest, const struct shape *shape,
                            int index_bits)
{
    begin(o, kind, shape);
    if (kind == ORDERING_ALTO) {
        uint16_t place = 0;
        for (int k = 0; k < 32; k++)
            for (int n = 0; n < o->order; n++)
                if (k < o->mode_bits[n])
                    o->place[n][k] = place++;
    } else {
        place_mode(o, lowest, shape->dims);
    }
    cut(o, index_bits);
}

void ordering_create(struct ordering *o, int kind, const struct shape *shape, int index_bits)
{
    ordering_create_lowest(o, kind, -1, shape, index_bits);
}

bool ordering_create_tiled(struct ordering *o, int mode, const struct tile *tile, int lowest,
                           const struct shape *shape)
{
    begin(o, mode, shape);
    o->tile = *tile;
    int index_bits = o->line_bits;
    for (int k = 0; k < tile->modes; k++)
        index_bits -= o->mode_bits[tile->mode[k]] - low_bits(o, tile->mode[k]);
    place_mode(o, lowest, shape->dims);
    cut(o, index_bits);
    return o->words == 1;
}

/* a comes first where b has the uppermost bit in which the lines differ. */
bool ordering_precedes(const struct ordering *o, const uint32_t *a, const uint32_t *b)
{
    int highest = -1;
    bool before = false;
    for (int n = 0; n < o->order; n++) {
        if (a[n] == b[n])
            continue;
        int bit = 31 - __builtin_clz(a[n] ^ b[n]);
        if (o->place[n][bit] > highest) {
            highest = o->place[n][bit];
            before = b[n] >> bit & 1;
        }
    }
    return before;
}

/* byte[n][b][v]: the bits of one word of the line that byte b of coordinate n gives where its value
 * is v. */
struct line_table {
    uint64_t byte[MAX_ORDER][COORD_BYTES][256];
};

static void fill_table(struct line_table *t, const struct ordering *o, int word)
{
    memset(t, 0, sizeof *t);
    for (int n = 0; n < o->order; n++) {
        for (int k = 0; k < o->mode_bits[n]; k++) {
            if (o->place[n][k] / 64 != word)
                continue;
            for (unsigned value = 0; value < 256; value++)
                if (value >> (k % 8) & 1)
                    t->byte[n][k / 8][value] |= UINT64_C(1) << (o->place[n][k] % 64);
        }
    }
}

/* Adds the bits of mode n to the keys of `count` nonzeros, by the bytes of coordinate[0..count). */
static void add_by_table(const struct line_table *t, int n, int bits, const uint32_t *coordinate,
                         uint64_t count, uint64_t *key)
{
    for (int b = 0; 8 * b < bits; b++)
        for (uint64_t i = 0; i < count; i++)
            key[i] |= t->byte[n][b][(coordinate[i] >> (8 * b)) & 255];
}

/* As add_by_table, for a mode whose bits are neighbours on the line and begin `up` places above the
 * lowest place of the word (below it where negative). */
static void add_by_shift(int up, const uint32_t *coordinate, uint64_t count, uint64_t *key)
{
    if (up >= 0) {
        for (uint64_t i = 0; i < count; i++)
            key[i] |= (uint64_t)coordinate[i] << up;
    } else {
        for (uint64_t i = 0; i < count; i++)
            key[i] |= (uint64_t)coordinate[i] >> -up;
    }
}

/* Whether no bit of mode n lies in this word of the line. */
static bool misses_word(const struct ordering *o, int n, int word)
{
    int bits = o->mode_bits[n];
    return bits == 0 || o->place[n][0] / 64 > word || o->place[n][bits - 1] / 64 < word;
}

enum status line_encoder_create(struct line_encoder *e, const struct ordering *o,
                                struct error *error)
{
    int words = (o->line_bits + 63) / 64;
    *e = (struct line_encoder){.ordering = *o};
    if (words == 0 || (o->kind != ORDERING_ALTO && o->tile.modes == 0))
        return STATUS_OK; /* the bits of each mode are neighbours on the line: a shift is enough */
    e->table = memory_array((size_t)words, sizeof *e->table, error);
    for (int word = 0; word < words && e->table; word++)
        fill_table(&e->table[word], o, word);
    return error->status;
}

void line_encoder_free(struct line_encoder *e)
{
    memory_free(e->table);
    *e = (struct line_encoder){0};
}

/* Writes the word of all nonzeros of x, at most PART, to key[0..x->nnz), or, where position is not
 * NULL, of the nonzeros position[0..x->nnz). */
static void encode_part(const struct line_encoder *e, const struct coo *x, int word,
                        const uint64_t *position, uint64_t *key)
{
    const struct ordering *o = &e->ordering;
    uint32_t gathered[PART];
    memset(key, 0, x->nnz * sizeof *key);
    for (int n = 0; n < o->order; n++) {
        if (misses_word(o, n, word))
            continue;
        const uint32_t *coordinate = x->index[n];
        if (position) {
            for (uint64_t i = 0; i < x->nnz; i++)
                gathered[i] = x->index[n][position[i]];
            coordinate = gathered;
        }
        if (e->table)
            add_by_table(&e->table[word], n, o->mode_bits[n], coordinate, x->nnz, key);
        else
            add_by_shift(o->place[n][0] - 64 * word, coordinate, x->nnz, key);
    }
}

void line_encoder_words(const struct line_encoder *e, const struct coo *x, int word, uint64_t first,
                        uint64_t count, uint64_t *key)
{
    const struct coo part = coo_slice(x, first, count);
    encode_part(e, &part, word, NULL, key);
}

static void encode_all(const struct line_encoder *e, const struct coo *x, int word,
                       const uint64_t *position, uint64_t *key)
{
#pragma omp parallel for schedule(static)
    for (uint64_t first = 0; first < x->nnz; first += PART) {
        struct coo part = position ? *x : coo_slice(x, first, PART);
        part.nnz = x->nnz - first < PART ? x->nnz - first : PART;
        encode_part(e, &part, word, position ? position + first : NULL, key + first);
    }
}

enum status ordering_line_words(const struct ordering *o, const struct coo *x, int word,
                                const uint64_t *position, uint64_t *key, struct error *error)
{
    struct line_encoder e;
    TRY(line_encoder_create(&e, o, error));
    encode_all(&e, x, word, position, key);
    line_encoder_free(&e);
    return STATUS_OK;
}

uint64_t *ordering_positions(uint64_t count, struct error *error)
{
    uint64_t *position = memory_array(count, sizeof *position, error);
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < (position ? count : 0); i++)
        position[i] = i;
    return position;
}

enum status ordering_sort(const struct ordering *o, const struct coo *x, uint64_t *position,
                          uint64_t count, uint64_t *key, struct error *error)
{
    struct line_encoder e;
    struct coo part = *x; /* borrows the arrays; one key for each position */
    part.nnz = count;
    int word = 0;
    TRY(line_encoder_create(&e, o, error));
    do {
        encode_all(&e, &part, word, position, key);
        TRY_OR(done, radix_sort(key, position, count, error));
        word++;
    } while (64 * word < o->line_bits);
done:
    line_encoder_free(&e);
    return error->status;
}

void ordering_split(const struct ordering *o, const uint32_t *coordinate, uint64_t *index,
                    uint32_t *base)
{
    memset(index, 0, (size_t)o->words * sizeof *index);
    for (int n = 0; n < o->order; n++) {
        const struct field *f = &o->field[n];
        index[f->word] |= (coordinate[n] & f->mask) << f->shift;
        base[n] = coordinate[n] & (uint32_t)~f->mask;
    }
}

/* Adds the move of bit `bit` of word `from` to bit `to` of the word that is built. Bits of one word
 * that go the same distance have one move. Calls come in ascending order of `from`. */
static void add_move(struct bit_moves *m, int from, int bit, int to)
{
    int rotation = (to - bit) & 63, i = m->count;
    while (i > 0 && m->move[i - 1].from == from && m->move[i - 1].rotation != rotation)
        i--;
    if (i == 0 || m->move[i - 1].from != from) {
        i = ++m->count;
        m->move[i - 1] = (struct bit_move){0, rotation, from};
    }
    m->move[i - 1].mask |= UINT64_C(1) << to;
}

/* The place of bit k of mode n in the line or index, counted through all words; -1 where the index
 * lacks the bit. */
static int target_bit(const struct ordering *o, enum ordering_target layout, int n, int k)
{
    if (layout == ORDERING_LINE)
        return o->place[n][k];
    const struct field *f = &o->field[n];
    return (f->mask >> k) & 1 ? 64 * f->word + f->shift + k : -1;
}

void ordering_moves_create(struct bit_moves *m, const struct ordering *from,
                           const struct ordering *to, enum ordering_target layout, int word)
{
    m->count = 0;
    for (int n = 0; n < to->order; n++) {
        for (int k = 0; k < to->mode_bits[n]; k++) {
            int target = target_bit(to, layout, n, k);
            if (target < 0 || target / 64 != word)
                continue;
            if (from)
                add_move(m, 0, from->place[n][k], target % 64);
            else
                add_move(m, n, k, target % 64);
        }
    }
}

bool ordering_moves_identity(const struct bit_moves *m, int bits)
{
    uint64_t all = bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
    return m->count == 0 ? bits == 0
                         : m->count == 1 && m->move[0].rotation == 0 && m->move[0].mask == all;
}

/* A stable sort by the upper bits keeps the order along `from` of nonzeros that agree in the upper
 * bits. That is the order along `to` where the other bits stand in the same order on both lines. */
int ordering_sorted_bits(const struct ordering *from, const struct ordering *to)
{
    uint16_t from_place[MAX_LINE_BITS];
    for (int n = 0; n < to->order; n++)
        for (int k = 0; k < to->mode_bits[n]; k++)
            from_place[to->place[n][k]] = from->place[n][k];

    int bits = 0;
    while (bits < to->line_bits && (bits == 0 || from_place[bits] > from_place[bits - 1]))
        bits++;
    return bits;
}

void ordering_common(struct ordering *o, const struct shape *shape)
{
    int shortest = 0;
    for (int n = 1; n < shape->order; n++)
        if (shape->dims[n] < shape->dims[shortest])
            shortest = n;
    ordering_create(o, shortest, shape, 64);
}

void ordering_natural(struct ordering *o, const struct shape *shape)
{
    memset(o, 0, sizeof *o);
    o->order = shape->order;
    for (int n = shape->order - 1; n >= 0; n--) {
        o->mode_bits[n] = ordering_bits(shape->dims[n]);
        for (int k = 0; k < o->mode_bits[n]; k++)
            o->place[n][k] = (uint16_t)o->line_bits++;
    }
    o->cut = o->line_bits;
}

void ordering_base(const struct ordering *o, const uint64_t *line, uint32_t *base)
{
    for (int n = 0; n < o->order; n++) {
        base[n] = 0;
        for (int k = 0; k < o->mode_bits[n]; k++) {
            int place = o->place[n][k];
            if (place >= o->cut)
                base[n] |= (uint32_t)((line[place / 64] >> (place % 64)) & 1) << k;
        }
    }
}

static int bit_of(const uint64_t *line, int place)
{
    return line[place / 64] >> place % 64 & 1;
}

static bool is_of_mode(const struct ordering *o, int mode, int place)
{
    for (int k = 0; k < o->mode_bits[mode]; k++)
        if (o->place[mode][k] == place)
            return true;
    return false;
}

static uint32_t coordinate_of(const struct ordering *o, int mode, const uint64_t *line)
{
    uint32_t coordinate = 0;
    for (int k = 0; k < o->mode_bits[mode]; k++)
        coordinate |= (uint32_t)bit_of(line, o->place[mode][k]) << k;
    return coordinate;
}

/* The bits of a coordinate that stand at `place` of the line or below. */
static uint32_t bits_up_to(const struct ordering *o, int mode, int place)
{
    uint32_t bits = 0;
    for (int k = 0; k < o->mode_bits[mode]; k++)
        bits |= o->place[mode][k] <= place ? UINT32_C(1) << k : 0;
    return bits;
}

/* The rows of this line and of all larger lines that share its bits from place `above` on. A larger
 * line has a one at some place where this line has a zero, and any bits below that place. */
static struct row_range range_from(const struct ordering *o, int mode, const uint64_t *line,
                                   int above)
{
    uint32_t own = coordinate_of(o, mode, line);
    struct row_range r = {own, own};
    int place = above - 1;
    while (place >= 0 && bit_of(line, place))
        place--;
    r.last |= bits_up_to(o, mode, place); /* a one at the highest zero leaves most bits free */
    while (place >= 0 && (bit_of(line, place) || is_of_mode(o, mode, place)))
        place--;
    r.first &= ~bits_up_to(o, mode, place); /* a one at another mode's place, zeros below */
    return r;
}

/* The rows of this line and of all smaller lines: range_from with zeros and ones exchanged. */
static struct row_range range_to(const struct ordering *o, int mode, const uint64_t *line,
                                 int above)
{
    uint64_t opposite[MAX_LINE_WORDS];
    for (int w = 0; w < (o->line_bits + 63) / 64; w++)
        opposite[w] = ~line[w];
    struct row_range r = range_from(o, mode, opposite, above);
    uint32_t all = bits_up_to(o, mode, o->line_bits);
    return (struct row_range){.first = all ^ r.last, .last = all ^ r.first};
}

struct row_range row_range_of_lines(const struct ordering *o, int mode, const uint64_t *from,
                                    const uint64_t *to)
{
    int place = o->line_bits - 1;
    while (place >= 0 && bit_of(from, place) == bit_of(to, place))
        place--;
    if (place < 0)
        return range_from(o, mode, from, 0);
    return row_range_both(range_from(o, mode, from, place), range_to(o, mode, to, place));
}
