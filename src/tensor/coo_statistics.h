/* Statistics of a tensor's nonzeros, as `blco info` prints them. */
#ifndef BLCO_COO_STATISTICS_H
#define BLCO_COO_STATISTICS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/progress.h"
#include "tensor/coo.h"

struct coo_statistics {
    double norm; /* the root of the sum of squared values, as struct norm_sum defines it  */
    double least, largest;             /* values that are known; 0 where there are none   */
    int all_integer;                   /* every known value is a whole number             */
    struct coo_listed listed;          /* `dropped` is 0                                  */
    uint64_t empty_slices[MAX_ORDER];  /* slices of mode n without a nonzero              */
    uint64_t largest_slice[MAX_ORDER]; /* nonzeros of mode n's fullest slice              */
};

/* Statistics of distinct nonzeros that come in pieces. One pass over the pieces is enough where
 * `memory` bytes hold a counter for each index of each mode (slice_counts_bytes); otherwise each
 * pass counts some of the indices, at least a 4096th of a mode's. Values whose squares a double
 * cannot hold take one more pass. By all OpenMP threads; neither their number nor memory nor pieces
 * change the result. `progress` may be NULL. STATUS_MEMORY, and the failures of the pieces. */
enum status coo_pieces_statistics(const struct coo_pieces *pieces, uint64_t memory,
                                  struct coo_statistics *s, struct progress *progress,
                                  struct error *error);

/* Counts the nonzeros of each slice of a mode, for a class of the mode's indices: those with
 * the same remainder by a power of two. Threads that count different classes never meet, and where
 * the counters of all classes do not fit into memory, each pass over the tensor counts some
 * classes. */
struct slice_count;

struct slice_counts {
    int bits;                   /* a mode has 2^bits classes                                      */
    uint32_t remainder;         /* the lowest `bits` bits of the class's indices                  */
    uint64_t *dense;            /* (length), by the upper bits of the index; owned, or NULL       */
    uint64_t length;            /* indices of the class                                           */
    struct slice_count *sparse; /* (room) a hash table of the indices that occur; owned, or NULL  */
    uint64_t room, used;        /* places of the table, a power of two; those that are taken      */
};

/* The most bytes that the counters of one of 2^bits classes take, for a mode of `length` indices in
 * a tensor of `nnz` nonzeros: 8 for each index, or, where there are many more indices than
 * nonzeros, up to 64 for each index that occurs (if the classes have equally many of these). */
uint64_t slice_counts_bytes(uint64_t length, uint64_t nnz, int bits);

/* Sets all counters of a class to zero; `length` and `nnz` as for slice_counts_bytes. The caller
 * frees *c with slice_counts_free. STATUS_MEMORY leaves *c empty. */
enum status slice_counts_create(struct slice_counts *c, uint64_t length, uint64_t nnz, int bits,
                                uint32_t remainder, struct error *error);

/* Counts the nonzeros with mode indices index[0..nnz) that belong to the class. By the calling
 * thread alone. STATUS_MEMORY leaves the counts incomplete. */
enum status slice_counts_add(struct slice_counts *c, const uint32_t *index, uint64_t nnz,
                             struct error *error);

/* The number of indices of the class that have a nonzero, and the most nonzeros of an index. */
void slice_counts_total(const struct slice_counts *c, uint64_t *occurring, uint64_t *most);

/* Frees the counters and empties *c; accepts an empty one. */
void slice_counts_free(struct slice_counts *c);

#endif
