/* Synthetic sparse tensors: skewed like measured data, or with a planted low-rank model. The same
 * arguments give the same tensor whatever the number of threads. */
#ifndef BLCO_GENERATE_H
#define BLCO_GENERATE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/progress.h"
#include "tensor/coo.h"

/* In place of a mode's Zipf exponent: the indices are used evenly, and in order, so that each one
 * has its share (as times do). */
#define GENERATE_EVEN      (-1.0)
#define GENERATE_MOST_SKEW 8.0

/* How the coordinates of nonzeros are drawn. Without pool and runs every mode is independent. */
struct generate_skew {
    double exponent[MAX_ORDER]; /* Zipf exponent of mode n's index, 0 (uniform) to MOST_SKEW, or
                                   EVEN */

    /* The pool: the coordinates of some modes come together, as one of `pool` tuples that are drawn
     * beforehand. It sets how many fibers are nonempty and how full they are. */
    uint64_t pool;        /* tuples; 0: none                         */
    uint32_t pool_modes;  /* bit n: mode n is one of them            */
    double pool_exponent; /* Zipf exponent of the choice of a tuple  */

    /* Runs: some nonzeros come in rows along one mode, the other coordinates equal. */
    int run_mode;
    double run_share;   /* of the nonzeros; 0: no runs                          */
    double run_length;  /* mean of a geometric distribution, 1 or more          */
    bool run_scattered; /* the run's indices are drawn anew, not each the next  */
};

struct generate_spec {
    struct shape shape;
    uint64_t nnz;
    struct generate_skew skew;
};

struct generate_preset {
    const char *name;
    struct generate_spec spec;
};

/* Named after data sets of the FROSTT collection, with their lengths and numbers of nonzeros and
 * roughly their fibers. Smallest first; the last one's name is NULL. */
extern const struct generate_preset generate_presets[];

/* Is given a tensor's nonzeros, piece after piece; a piece is the caller's and valid during the
 * call. */
struct generate_taker {
    enum status (*take)(void *context, const struct coo *piece, struct error *error);
    void *context;
};

#define GENERATE_PIECE 65536 /* all pieces but the last have multiples of as many nonzeros */

/* Exactly spec->nnz distinct nonzeros, along the line on which the bits of their coordinates are
 * interleaved; values are small counts, half of them 1. They are made part by part, so that
 * `memory` bounds the bytes they take; neither it nor the number of threads changes them.
 * STATUS_INPUT where the spec makes no sense or asks for more nonzeros than there are cells,
 * STATUS_MEMORY also where `memory` is too little for the tuples of the pool or a part, and what
 * the taker fails with. */
enum status generate_skewed(const struct generate_spec *spec, uint64_t seed, uint64_t memory,
                            const struct generate_taker *taker, struct progress *progress,
                            struct error *error);

struct generate_plant {
    struct shape shape;
    uint64_t nnz; /* aimed at                                                   */
    uint64_t rank;
    double noise; /* norm of the noise on the nonzeros, relative to the model's */
};

/* A sum of `rank` outer products of sparse positive vectors: all cells that it makes nonzero, in
 * lexicographic order, so that the tensor, zeros included, has this rank (without noise). Their
 * number is near `nnz`: what blocks of the same shape, overlapping at random, give. They share some
 * of each mode's indices, fewer the sparser the tensor; slices of the others are empty. All of
 * them are in memory at once: STATUS_MEMORY before anything is made where `memory` bytes do not
 * hold them and what sorting them takes. On failure *x is empty. STATUS_INPUT, STATUS_MEMORY. */
enum status generate_planted(struct coo *x, const struct generate_plant *plant, uint64_t seed,
                             uint64_t memory, struct progress *progress, struct error *error);

#endif
