/* The coordinate tensor (COO): what a reader produces and every other form is built from.
 * Implemented in coo.c, coo_clean.c and coo_distinct.c. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "tensor/shape.h"

/* The value of an unknown entry, which is listed without a known value. Every NaN means that; files
 * have the bits of this one. */
#define COO_UNKNOWN ((double)NAN)

#define COO_COLUMNS (MAX_ORDER + 1)

/* Its entries are nonzeros, unknown entries and, where cleaning keeps them, listed zeros:
 * "nonzeros" is the word for all three. */
struct coo {
    struct shape shape;
    uint64_t nnz;
    union { /* the columns of an entry: (nnz) each; owned */
        struct {
            uint32_t *index[MAX_ORDER]; /* for n < order, zero-based; else NULL */
            double *value;
        };
        void *column[COO_COLUMNS]; /* all of them, for code that moves entries; NULL: none */
    };
};

/* Bytes of a number of column k: indices, or doubles. */
static inline size_t coo_column_bytes(int k)
{
    return k < MAX_ORDER ? sizeof(uint32_t) : sizeof(double);
}

/* The number of entry i in column k. */
static inline void *coo_at(const struct coo *x, int k, uint64_t i)
{
    return (char *)x->column[k] + i * coo_column_bytes(k);
}

/* Bytes of the columns of `nnz` nonzeros. */
static inline uint64_t coo_bytes(int order, uint64_t nnz)
{
    return nnz * ((uint64_t)order * sizeof(uint32_t) + (COO_COLUMNS - MAX_ORDER) * sizeof(double));
}

/* Allocates a tensor of `nnz` nonzeros, uninitialised. The caller frees *x with coo_free.
 * STATUS_MEMORY leaves *x empty. */
enum status coo_create(struct coo *x, const struct shape *shape, uint64_t nnz, struct error *error);

/* Changes the number of nonzeros to `nnz` and keeps the first ones; new ones are uninitialised.
 * STATUS_MEMORY leaves nonzeros and nnz as they were. A smaller nnz never fails. */
enum status coo_resize(struct coo *x, uint64_t nnz, struct error *error);

/* Writes the coordinates (order) of nonzero i. */
static inline void coo_coordinates(const struct coo *x, uint64_t i, uint32_t *coordinate)
{
    for (int n = 0; n < x->shape.order; n++)
        coordinate[n] = x->index[n][i];
}

/* Lexicographic order of the coordinates of entries i and j: negative, 0 or positive. */
static inline int coo_compare(const struct coo *x, uint64_t i, uint64_t j)
{
    for (int n = 0; n < x->shape.order; n++)
        if (x->index[n][i] != x->index[n][j])
            return x->index[n][i] < x->index[n][j] ? -1 : 1;
    return 0;
}

/* Copies entry `from` of x to place `at` of *to, which may be x. */
static inline void coo_put(struct coo *to, uint64_t at, const struct coo *x, uint64_t from)
{
    for (int n = 0; n < x->shape.order; n++)
        to->index[n][at] = x->index[n][from];
    to->value[at] = x->value[from];
}

/* Copies entries [from, from + count) of x to place `at` of *to and the following ones; both may be
 * one tensor, and overlap. */
void coo_move(struct coo *to, uint64_t at, const struct coo *x, uint64_t from, uint64_t count);

/* Entries [from, from + count) of x, whose arrays are borrowed. */
struct coo coo_slice(const struct coo *x, uint64_t from, uint64_t count);

/* to[0..count) = the numbers of column k of entries position[0..count), by all OpenMP threads. */
void coo_gather(void *to, const struct coo *x, int k, const uint64_t *position, uint64_t count);

/* Moves entry position[i] to place i, for i < count, by all OpenMP threads; what other entries are
 * then is undefined, and nnz stays. STATUS_MEMORY. */
enum status coo_permute(struct coo *x, const uint64_t *position, uint64_t count,
                        struct error *error);

/* Frees the arrays of coordinates; shape, nnz and values stay. */
void coo_free_indices(struct coo *x);

/* Frees the arrays and empties *x; accepts a half-built or an empty one. */
void coo_free(struct coo *x);

/* What a tensor lists besides nonzeros. */
struct coo_listed {
    uint64_t unknown; /* of its entries, those whose value is NaN                       */
    uint64_t zeros;   /* of its entries, those whose value is 0                         */
    uint64_t dropped; /* zeros that were listed and that cleaning has dropped */
};

/* Counts the unknown entries and the zeros of x by all OpenMP threads; `dropped` is 0. An x
 * without an array of values lists nothing. */
struct coo_listed coo_count_listed(const struct coo *x);

/* What cleaning does to listed zeros, and to sums that are zero. A tensor whose unlisted entries
 * are zeros can do without them; where unlisted entries are unknown, a zero is an observation. */
enum coo_zeros { COO_DROP_ZEROS, COO_KEEP_ZEROS };

struct coo_cleaning {
    uint64_t zeros;      /* entries dropped because their value is zero */
    uint64_t duplicates; /* entries added to an earlier entry           */
};

/* The sum of entries with the same coordinates. */
struct coo_sum {
    double value;   /* of the terms; 0 where there are none         */
    uint64_t terms; /* zeros that are to be dropped are no terms    */
    uint64_t zeros; /* these zeros                                  */
};

/* Adds the value of the next entry. */
void coo_sum_add(struct coo_sum *sum, double value, enum coo_zeros zeros);

/* Counts the entries of the sum that will be no more. Returns whether the sum will be an entry. */
bool coo_sum_count(const struct coo_sum *sum, enum coo_zeros zeros, struct coo_cleaning *cleaning);

/* Sums entries position[0..*count) of x that have the same coordinates, in their order, and adds to
 * *cleaning. They are sorted along a line, and key (*count) has a word of each line, so that equal
 * coordinates have equal keys. position[0..*count) then names the entries that stay; the values of
 * others are lost. *infinite becomes the first entry whose sum is infinite, if there is one before
 * it. By all OpenMP threads. */
void coo_sum_repeats(struct coo *x, uint64_t *position, const uint64_t *key, uint64_t *count,
                     enum coo_zeros zeros, struct coo_cleaning *cleaning, uint64_t *infinite);

/* Drops explicit zeros, sums entries with the same coordinates (in their order in x, whatever the
 * number of threads), and drops sums that are zero; with COO_KEEP_ZEROS it drops neither. The sum
 * of an unknown entry and others is unknown. Afterwards all coordinates are distinct. A tensor
 * without duplicates keeps the order of its entries; a tensor with duplicates is sorted. Sums that
 * are zero count among the zeros, so that entries before = zeros + duplicates + entries after.
 * STATUS_INPUT where a sum is infinite; the message gives the coordinates, counted from 1, plus
 * `first` (order) unless it is NULL. STATUS_MEMORY. After both the caller frees *x; some duplicates
 * may already be summed, with infinity in their place. Values of x are finite or unknown. */
enum status coo_clean(struct coo *x, const uint64_t *first, enum coo_zeros zeros,
                      struct coo_cleaning *report, struct error *error);

/* Finds out without sorting: *distinct = true: no two entries of x have the same coordinates.
 * false: two entries probably have the same coordinates; all may be distinct nevertheless where
 * coordinates take more than 64 bits, or where a tensor was made to deceive. Takes 8 bytes for each
 * entry, and some megabytes for each thread. By all OpenMP threads. STATUS_MEMORY. */
enum status coo_distinct(const struct coo *x, bool *distinct, struct error *error);

/* Sets the message that the sum of the entries with the coordinates of entry i is infinite; `first`
 * as in coo_clean. Returns STATUS_INPUT. */
enum status coo_overflow(const struct coo *x, const uint64_t *first, uint64_t i,
                         struct error *error);

/* Sum of squared values that are known, as struct norm_sum defines it: the same bits whatever the
 * number of threads. */
double coo_norm_sq(const struct coo *x);

/* --- a tensor that is handed over in pieces, since the whole need not fit into memory --- */

/* Takes a piece: consecutive nonzeros, with the order and lengths of the whole tensor (a text
 * reader, which does not know the lengths yet, gives those of the largest indices so far). The
 * piece is the caller's, valid during the call; the taker may change its nonzeros and their number,
 * not free it. A failure of the taker ends the caller with the taker's status and message. */
typedef enum status (*coo_taker)(void *context, struct coo *piece, struct error *error);

struct coo_pieces {
    struct shape shape;
    uint64_t nnz; /* of all pieces */
    /* Hands all pieces to `take`, one after the other, the same pieces at each call; ends at the
     * first failure, with its status. */
    enum status (*each)(void *pieces, coo_taker take, void *context, struct error *error);
    void *pieces; /* first argument of each(); borrowed */
};

/* A tensor in memory as one piece, which is a copy of *x that borrows its arrays. x must outlive
 * the pieces, and takers must leave the arrays as they are. */
struct coo_pieces coo_in_one_piece(struct coo *x);

/* The sum of the squares of values that come in pieces of any size, NaN (an unknown entry) left
 * out: the same bits whatever the pieces and the number of threads. The values are cut into chunks
 * of NORM_CHUNK; a chunk has eight interleaved sums of squares, which are added; then the sums of
 * the chunks are added in order. */
#define NORM_CHUNK 4096

struct norm_sum {
    double sum;                 /* of the chunks that are full                            */
    uint64_t filled;            /* values of the last chunk, which is not full            */
    double waiting[NORM_CHUNK]; /* (filled)                                               */
};

/* Begins the sum of no values. */
void norm_sum_begin(struct norm_sum *s);

/* Adds the next values, value[0..count). By all OpenMP threads. */
void norm_sum_add(struct norm_sum *s, const double *value, uint64_t count);

/* The sum of squares of all values so far. */
double norm_sum_total(const struct norm_sum *s);
