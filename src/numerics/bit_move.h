/* Moving bits from one 64-bit word to another, the same code on the host and on the device. Every
 * change of layout (coordinates to a line, a line to an index) is a table of such moves. */
#pragma once

#include <stdint.h>

#include "numerics/common_function.h"

/* The bits of one word that are moved by the same distance: the word is rotated left, and the bits
 * of the mask are kept. */
struct bit_move {
    uint64_t mask;    /* in the word that is built               */
    int32_t rotation; /* 0 to 63                                 */
    int32_t from;     /* the word to read: a mode's, or 0 for the line */
};

#define BIT_MOVES_MAX 64 /* each bit of the word that is built is in one move's mask */

struct bit_moves {
    int count;
    struct bit_move move[BIT_MOVES_MAX]; /* moves from the same word side by side */
};

COMMON_FUNCTION uint64_t bit_move_apply(struct bit_move m, uint64_t from)
{
    return (from << m.rotation | from >> ((64 - m.rotation) & 63)) & m.mask;
}
