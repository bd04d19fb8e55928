/* An ordering: where on the encoding line each coordinate bit of each mode has its place.
 *
 * Mode n needs b_n = ceil(log2 I_n) bits; the line has B = sum b_n bits, bit 0 the least
 * significant, and nonzeros are sorted along it. The uppermost bits of the line, those from `cut`
 * on, are the block key. The bits below the cut are stored with each nonzero in one or two 64-bit
 * words, grouped by mode, so that coordinate n = base[n] | ((word[field[n].word] >> field[n].shift)
 * & field[n].mask) where base[n], stored once per block, holds the bits of mode n that are above
 * the cut. (BLCO paper, section 4: the linearised index is re-encoded so that decoding is a shift
 * and a mask.) */
#ifndef BLCO_ORDERING_H
#define BLCO_ORDERING_H

#include <stdbool.h>
#include <stdint.h>

#include "tensor/coo.h"

#define MAX_LINE_BITS  (32 * MAX_ORDER)
#define MAX_LINE_WORDS (MAX_LINE_BITS / 64)

#define ORDERING_ALTO                                                                              \
    (-1) /* bits interleaved from the low end; every other kind is a mode's number */

struct field {
    int word;      /* 0 or 1: which word of the index holds this mode's low bits */
    int shift;     /* 0 to 63                                                    */
    uint64_t mask; /* the low bits, right-aligned; 0 where none is stored        */
};

struct ordering {
    int kind; /* ORDERING_ALTO, or n for `mode n` */
    int order;
    int line_bits;                 /* B                                                  */
    int cut;                       /* line bits below the block key; at most 64 * words  */
    int words;                     /* 64-bit words of an index: 1 or 2                   */
    int mode_bits[MAX_ORDER];      /* b_n                                                */
    uint16_t place[MAX_ORDER][32]; /* line place of bit k of mode n, for k < b_n        */
    struct field field[MAX_ORDER];
};

/* Lays out the line of a tensor of the given lengths. `kind` is ORDERING_ALTO (level k of the line
 * holds bit k of every mode that has one, mode 0 lowest) or a mode n (its bits on top, then the
 * other modes by ascending length, so the longest is lowest; ties by mode number). At most
 * `index_bits` (1 to 128) line bits are stored per nonzero; above 64 the index has two words, each
 * mode's stored bits lie within one of them, and the cut is lowered until they do. In each word the
 * modes stand in the order of their lowest line bits. */
void ordering_create(struct ordering *o, int kind, const struct shape *shape, int index_bits);

/* Coordinates (order) to the line, in ceil(B/64) words of line[], least significant first. */
void ordering_encode(const struct ordering *o, const uint32_t *coordinate, uint64_t *line);

/* Whether coordinates a (order) stand before b on the line. */
bool ordering_precedes(const struct ordering *o, const uint32_t *a, const uint32_t *b);

/* Word `word` of the lines of all of x's nonzeros into key[0..nnz): that of nonzero position[i], or
 * of nonzero i where position is NULL. By all OpenMP threads. STATUS_MEMORY leaves key undefined.
 */
enum status ordering_line_words(const struct ordering *o, const struct coo *x, int word,
                                const uint64_t *position, uint64_t *key, struct error *error);

/* What computes lines of an ordering for one thread or many: only read once it is created. */
struct line_encoder {
    struct ordering ordering;
    struct line_table *table; /* (ceil(B/64)); owned; NULL where bits move by shifts alone */
};

/* On failure *e is empty. STATUS_MEMORY. */
enum status line_encoder_create(struct line_encoder *e, const struct ordering *o,
                                struct error *error);

/* Word `word` of the lines of nonzeros [first, first + count) of x into key[0..count). */
void line_encoder_words(const struct line_encoder *e, const struct coo *x, int word, uint64_t first,
                        uint64_t count, uint64_t *key);

/* Accepts an empty one. */
void line_encoder_free(struct line_encoder *e);

/* The stored index (o->words words) and the base (order) of one nonzero. */
void ordering_split(const struct ordering *o, const uint32_t *coordinate, uint64_t *index,
                    uint32_t *base);

/* Base (order) and index (o->words words) back to coordinates (order). */
void ordering_decode(const struct ordering *o, const uint64_t *index, const uint32_t *base,
                     uint32_t *coordinate);

/* Bits that a mode of this length needs: ceil(log2 length), 0 for length 1. */
int ordering_bits(uint64_t length);

/* B: those of all modes. */
int ordering_line_bits(const struct shape *shape);

#endif
