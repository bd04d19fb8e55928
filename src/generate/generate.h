/* Synthetic sparse tensors: skewed like measured data, or with a planted low-rank model. The same
 * arguments give the same tensor whatever the number of threads.
 *
 * Implemented in generate_spec.c, generate_skewed.c and generate_planted.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/progress.h"
#include "base/random_stream.h"
#include "tensor/coo.h"
#include "tensor/ordering.h"

/* Instead of a mode's Zipf exponent: all indices are equally likely, and drawn in order, as times
 * are. */
#define GENERATE_EVEN      (-1.0)
#define GENERATE_MOST_SKEW 8.0

/* How the coordinates of nonzeros are drawn. Without pool and runs every mode is independent. */
struct generate_skew {
    double exponent[MAX_ORDER]; /* Zipf exponent of each mode's indices: 0 (uniform) to
                                   GENERATE_MOST_SKEW, or GENERATE_EVEN */

    /* The fiber pool: the indices of some modes come together, in one of `pool` random
     * combinations, the fibers of the pool. The pool sets how many fibers of the tensor are
     * nonempty and how full they are. */
    uint64_t pool;        /* number of fibers; 0: no pool                      */
    uint32_t pool_modes;  /* bit n: the fibers fix mode n's index              */
    double pool_exponent; /* Zipf exponent by which a nonzero's fiber is drawn */

    /* Runs (--runs): some nonzeros come one after the other along one mode, with equal indices in
     * the other modes. */
    int run_mode;
    double run_fraction; /* of the nonzeros; 0: no runs                                       */
    double run_length;   /* mean of a geometric distribution, 1 or more                       */
    bool run_scattered;  /* indices of a run are drawn independently, not one after the other */
};

struct generate_spec {
    struct shape shape;
    uint64_t nnz;
    struct generate_skew skew;
};

/* A spec in the words of the options --skew ("0.5,even,1": each mode's Zipf exponent), --fibers
 * ("100000:3,4:1.5": size of the fiber pool, its modes and perhaps its Zipf exponent) and --runs
 * ("2:0.5:4" or "2:0.5:4:scattered": the mode of the runs, which fraction of the nonzeros they
 * have, and their mean length). */
struct generate_recipe {
    const char *name;
    struct shape shape;
    uint64_t nnz;
    const char *skew, *fibers, *runs; /* NULL: without; borrowed */
};

/* Presets named after data sets of the FROSTT collection, with the published lengths and numbers of
 * nonzeros and nearly the published numbers of fibers. Smallest first; the name of the last entry
 * is NULL. */
extern const struct generate_recipe generate_presets[];

/* *spec = what the recipe says. STATUS_INPUT with a message that says which option is wrong and
 * what was expected. */
enum status generate_read(struct generate_spec *spec, const struct generate_recipe *recipe,
                          struct error *error);

/* STATUS_INPUT if a number of a spec that was read is too large, or if the tensor has fewer places
 * than nonzeros. */
enum status generate_check(const struct generate_spec *spec, struct error *error);

#define GENERATE_PIECE 65536 /* every piece but the last has a multiple of so many nonzeros */

/* How a skewed tensor is made and handed over. */
struct generate_run {
    uint64_t seed;
    uint64_t memory; /* bytes that making the tensor may take */
    coo_taker take;
    void *context;             /* of `take`; not owned */
    struct progress *progress; /* may be NULL          */
};

/* Makes distinct nonzeros in the order of the alto line and hands them over piece after piece:
 * exactly spec->nnz of them up to 262144, otherwise nearly as many: the deviation is random and
 * below 1 %. Values are small counts, half of them 1. Neither the memory nor the number of threads
 * changes the tensor; the less memory, the more often its nonzeros are drawn. STATUS_INPUT as
 * generate_check; STATUS_MEMORY, also if run->memory is too little; errors of run->take. */
enum status generate_skewed(const struct generate_spec *spec, const struct generate_run *run,
                            struct error *error);

struct generate_plant {
    struct shape shape;
    uint64_t nnz; /* wanted; the tensor has about as many */
    uint64_t rank;
    double noise;   /* norm of the noise on the nonzeros, relative to the model's            */
    bool collinear; /* instead of sparse components: dense ones on the same indices ...       */
    double collinearity; /* ... the cosine of any two columns of a factor matrix: 0 to
                          * 0.9999                                                                */
    double counts; /* instead of the model's values: Poisson counts whose rates are these values,
                    * multiplied so that they have this mean; counts of 0 are left out. 0: not  */
    bool clipped;  /* every count becomes 1 */
};

/* Makes a sum of `rank` outer products of sparse positive vectors: all places where the sum is not
 * zero, in lexicographic order, so that the tensor, zeros included, has this rank (without noise).
 * The number of nonzeros is near plant->nnz: the supports of the components have one shape and
 * overlap at random. They lie within some of each mode's indices, fewer the sparser the tensor;
 * slices of the other indices are empty. Where plant->collinear, all components have the same
 * support, with at least as many indices of each mode as the rank, columns of unit norm and entries
 * of either sign. All nonzeros are in memory at once. The caller frees *x, which is empty on
 * failure. STATUS_INPUT; STATUS_MEMORY, before anything is made, if the nonzeros and sorting them
 * take more than `memory` bytes. */
enum status generate_planted(struct coo *x, const struct generate_plant *plant, uint64_t seed,
                             uint64_t memory, struct progress *progress, struct error *error);

/* Sorting the places of a synthetic tensor, of which some may be listed several times. */

#define PLACE_SORT_BYTES 32 /* for each place, while place_sort runs */

/* Sorts the coordinates of x along the line of `o`, by all OpenMP threads, and drops repeated ones.
 * x->nnz becomes the number of those that stay; the arrays keep their room. Values mean nothing
 * yet. STATUS_MEMORY leaves the coordinates in some order. */
enum status place_sort(struct coo *x, const struct ordering *o, struct error *error);

/* STATUS_INPUT where a tensor of this shape has fewer places. */
enum status place_check(const struct shape *shape, uint64_t nnz, struct error *error);

/* Pseudorandom permutations of [0, length) that need no table. */

#define PERMUTATION_ROUNDS 3

/* Each round is a bijection on the numbers of `bits` bits. A result outside of [0, length) is
 * permuted again until it is inside (cycle walking: Black and Rogaway, Ciphers with Arbitrary
 * Finite Domains, 2002). */
struct permutation {
    uint64_t length, mask;
    int half; /* of the number of bits, rounded up */
    uint64_t factor[PERMUTATION_ROUNDS], addend[PERMUTATION_ROUNDS];
};

static inline struct permutation permutation_create(uint64_t length, struct random_stream stream)
{
    int bits = ordering_bits(length);
    struct permutation p = {
        .length = length, .mask = (UINT64_C(1) << bits) - 1, .half = (bits + 1) / 2};
    for (int i = 0; i < PERMUTATION_ROUNDS; i++) {
        p.factor[i] = random_next(&stream) | 1;
        p.addend[i] = random_next(&stream);
    }
    return p;
}

/* The image of x; x < length. */
static inline uint64_t permutation_apply(const struct permutation *p, uint64_t x)
{
    do {
        for (int i = 0; i < PERMUTATION_ROUNDS; i++) {
            x = (x * p->factor[i] + p->addend[i]) & p->mask;
            x ^= x >> p->half;
        }
    } while (x >= p->length);
    return x;
}
