/* The rows of a factor matrix in an order that makes similar rows neighbours, and a tree of ranges
 * of these rows with the least and the largest entry of each column: from them follows how large a
 * model's values can be over many cells at once. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define ROW_GROUP 16 /* rows that are packed together */

/* The most ranges of a tree: each division makes a leaf more. */
#define ROW_RANGES(rows) (2 * (((rows) + ROW_GROUP - 1) / ROW_GROUP) - 1)
#define ROW_STRIDE(rank) (((rank) + 7) / 8 * 8)

/* Rows [begin, end) of the tree's order; `begin` is a multiple of ROW_GROUP. */
struct row_range {
    uint64_t begin, end;
    uint64_t child; /* the first of two neighbours, which divide the rows; 0: a leaf */
    double norm;    /* of its longest row */
};

struct row_tree {
    uint64_t rows, rank;
    uint64_t stride; /* ROW_STRIDE(R): the columns beyond R are 0                          */
    uint32_t *index; /* (rows) which row of the matrix it is; owned                        */
    double *row;     /* (rows x stride); or packed, see below; owned                       */
    double *length;  /* (rows) by which each row was divided; NULL: by none; owned         */
    uint64_t ranges;
    struct row_range *range; /* (ranges) the first has all rows; owned */
    double *box; /* (ranges x 2 x stride) least and largest entries of columns; owned  */
};

/* How the rows are kept. */
struct row_tree_form {
    const double *scale; /* (R) factors of the columns, borrowed                                  */
    const double *weight; /* (R) how much the spread of a column counts: ranges are divided by the
                           * column with the largest product of both; borrowed */
    uint64_t leaf; /* ranges with so many rows or ROW_GROUP are not divided                       */
    bool unit;     /* rows are divided by their 2-norms, unless those are 0                 */
    bool packed;   /* `row` has a matrix (R x ROW_GROUP) for each ROW_GROUP rows, zeros after
                    * the last row                                                          */
};

/* a (rows x R) has 1 row or more. By all OpenMP threads. The caller frees *t, which is empty on
 * failure. STATUS_MEMORY. */
enum status row_tree_create(struct row_tree *t, const double *a, uint64_t rows, uint64_t rank,
                            const struct row_tree_form *form, struct error *error);

/* Accepts an empty one. */
void row_tree_free(struct row_tree *t);
