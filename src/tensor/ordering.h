/* An ordering gives each coordinate bit of each mode a place on the encoding line.
 *
 * Mode n needs b_n = ceil(log2 I_n) bits; the line has B = sum b_n bits, bit 0 the least
 * significant, and nonzeros are sorted along it. The uppermost bits of the line, those from `cut`
 * on, are the block key. The bits below the cut are the index, which is stored with each nonzero in
 * one or two 64-bit words, the bits of each mode side by side: coordinate n = base[n] |
 * ((index[field[n].word] >> field[n].shift) & field[n].mask), where base[n], stored once per block,
 * holds the bits of mode n above the cut. (BLCO paper, section 4: the linearised index is
 * re-encoded so that decoding is a shift and a mask.) */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "numerics/bit_move.h"
#include "numerics/tile_rows.h"
#include "tensor/coo.h"

#define MAX_LINE_BITS  (32 * MAX_ORDER)
#define MAX_LINE_WORDS (MAX_LINE_BITS / 64)

#define ORDERING_ALTO (-1) /* a kind: bits interleaved from the low end; other kinds are modes */

struct field {
    int word;      /* 0 or 1: the index word that holds the low bits of the mode  */
    int shift;     /* 0 to 63                                                    */
    uint64_t mask; /* the low bits, right-aligned; 0 where none is stored        */
};

/* Tiles of some modes: rows of a factor matrix whose numbers agree in all bits but the lowest
 * `bits`. */
struct tile {
    int modes;           /* how many modes are tiled: 0 to MAX_TILED, 0 for no tiles at all       */
    int mode[MAX_TILED]; /* those modes                                                           */
    int bits;
    bool in_cache; /* for a cache that all threads share; else for the memory of some of them */
};

struct ordering {
    int kind;                      /* ORDERING_ALTO, or n for `mode n`                   */
    struct tile tile;              /* of which the line is cut                           */
    int order;                     /* N                                                  */
    int line_bits;                 /* B                                                  */
    int cut;                       /* line bits below the block key; at most 64 * words  */
    int words;                     /* 64-bit words of an index: 1 or 2                   */
    int mode_bits[MAX_ORDER];      /* b_n                                                */
    uint16_t place[MAX_ORDER][32]; /* place on the line of bit k of mode n, for k < b_n  */
    struct field field[MAX_ORDER]; /* mode n's part of the index                         */
};

/* Lays out the line of tensors of this shape. `kind` is ORDERING_ALTO (level k of the line holds
 * bit k of every mode that has one, mode 0 lowest) or a mode n (the bits of mode n on top, then the
 * other modes by ascending length, so that the longest is lowest; ties by mode number). The index
 * has at most `index_bits` (1 to 128) bits. Above 64 bits the index has two words, and the cut is
 * lowered until the stored bits of each mode fit into one word. In each word the modes stand in the
 * order of their lowest line bits. */
void ordering_create(struct ordering *o, int kind, const struct shape *shape, int index_bits);

/* As ordering_create, but in an ordering `mode n` the mode `lowest`, which is not n, is lowest; -1:
 * the longest. */
void ordering_create_lowest(struct ordering *o, int kind, int lowest, const struct shape *shape,
                            int index_bits);

bool tile_has(const struct tile *tile, int mode);

/* Lays out the line of the ordering `mode` in tiles of other modes: on top the bits of those modes
 * that number their tiles, the first tiled mode above the second. Below them, in tiles of a cache,
 * is the line of ordering_create_lowest without these bits; in tiles of shared memory, it is
 * without these modes, whose other bits are at the bottom. The block key is the number of the tile,
 * or of the pair of tiles. False where an index would take more than one word; *o is then
 * undefined. */
bool ordering_create_tiled(struct ordering *o, int mode, const struct tile *tile, int lowest,
                           const struct shape *shape);

/* Whether coordinates a (order) come before coordinates b (order) on the line. */
bool ordering_precedes(const struct ordering *o, const uint32_t *a, const uint32_t *b);

/* key[i] = word `word` of the line of nonzero position[i] of x, or of nonzero i where position is
 * NULL, for i < x->nnz. By all OpenMP threads. STATUS_MEMORY leaves key undefined. */
enum status ordering_line_words(const struct ordering *o, const struct coo *x, int word,
                                const uint64_t *position, uint64_t *key, struct error *error);

/* The numbers 0 to count - 1, for sorting. The caller frees the array. NULL and STATUS_MEMORY. */
uint64_t *ordering_positions(uint64_t count, struct error *error);

/* Sorts position[0..count), which names nonzeros of x, by the lines of these nonzeros, of any
 * number of words; stable. key[0..count) receives the uppermost words of the lines, in the same
 * order. Takes count * 16 bytes while it runs. By all OpenMP threads. STATUS_MEMORY leaves position
 * a permutation of what it was. */
enum status ordering_sort(const struct ordering *o, const struct coo *x, uint64_t *position,
                          uint64_t count, uint64_t *key, struct error *error);

/* Encodes coordinates as lines of an ordering; once created, any number of threads may read it. */
struct line_encoder {
    struct ordering ordering;
    struct line_table *table; /* (ceil(B/64)); owned; NULL where bits move by shifts alone */
};

/* The caller frees *e with line_encoder_free. STATUS_MEMORY leaves *e without a table. */
enum status line_encoder_create(struct line_encoder *e, const struct ordering *o,
                                struct error *error);

/* Writes word `word` of the lines of nonzeros [first, first + count) of x to key[0..count). By
 * the calling thread alone. */
void line_encoder_words(const struct line_encoder *e, const struct coo *x, int word, uint64_t first,
                        uint64_t count, uint64_t *key);

/* Accepts a zeroed one. */
void line_encoder_free(struct line_encoder *e);

/* Splits coordinates (order) into the index (o->words words) and the base (order). */
void ordering_split(const struct ordering *o, const uint32_t *coordinate, uint64_t *index,
                    uint32_t *base);

/* Bits that a mode of this length needs: ceil(log2 length), 0 for length 1. */
int ordering_bits(uint64_t length);

/* Bits of the line, B: the sum of ordering_bits over all modes. */
int ordering_line_bits(const struct shape *shape);

/* --- Tables of bit moves that turn coordinates into lines, lines of one ordering into lines of
 * another, and lines into indices; numerics/bit_move.h applies them, on host and device. --- */

enum ordering_target { ORDERING_LINE, ORDERING_INDEX };

/* The moves that build word `word` of the line or the index (`layout`) of `to`: from the line of
 * `from` (at most 64 bits; every move reads word 0), or, where `from` is NULL, from the coordinates
 * (a move reads the word of its mode's number). */
void ordering_moves_create(struct bit_moves *m, const struct ordering *from,
                           const struct ordering *to, enum ordering_target layout, int word);

/* Whether the moves leave every bit where it is and drop none of the lowest `bits`. */
bool ordering_moves_identity(const struct bit_moves *m, int bits);

/* How many of the lowest line bits of `to` a stable sort may ignore where the nonzeros are sorted
 * along the line of `from`. Where `from` is ordering_common and `to` is `mode n`: all but mode n's
 * bits. */
int ordering_sorted_bits(const struct ordering *from, const struct ordering *to);

/* The ordering from which all orderings `mode n` take the least sorting: that of the shortest mode
 * s, as ordering_create makes it with a 64-bit index. In the ordering of any other mode n, mode s
 * comes next to mode n. */
void ordering_common(struct ordering *o, const struct shape *shape);

/* The ordering of nonzeros that are sorted by coordinates, mode by mode: the bits of the first mode
 * on top, those of the last mode lowest; no block key. It has no fields: use it for lines only. */
void ordering_natural(struct ordering *o, const struct shape *shape);

/* Writes the base (order), the coordinate bits above the cut, of a line of ceil(B/64) words. */
void ordering_base(const struct ordering *o, const uint64_t *line, uint32_t *base);

/* --- Which rows of a mode the lines between two lines of an ordering can have: in alto order,
 * neighbouring lines are near each other in every mode. --- */

struct row_range {
    uint32_t first, last; /* both included */
};

/* The least range that has both. */
static inline struct row_range row_range_both(struct row_range a, struct row_range b)
{
    return (struct row_range){.first = a.first < b.first ? a.first : b.first,
                              .last = a.last > b.last ? a.last : b.last};
}

/* The least and the largest coordinate of `mode` on the lines from `from` to `to` (ceil(B/64) words
 * each, from <= to). Lines whose coordinates are beyond a mode's length count too. */
struct row_range row_range_of_lines(const struct ordering *o, int mode, const uint64_t *from,
                                    const uint64_t *to);
