/* Checkpoints: the state of an ALS run in a file, from which another run goes on. The state is that
 * of the whole tensor, in its own rows, whatever the number of ranks. Implemented in
 * checkpoint_read.c, checkpoint_check.c and checkpoint_write.c. */
#ifndef BLCO_CHECKPOINT_H
#define BLCO_CHECKPOINT_H

#include "base/filemap.h"
#include "base/outfile.h"
#include "checkpoint/checkpoint_format.h"
#include "numerics/momentum_step.h"
#include "numerics/precision.h"
#include "model/carried.h"
#include "model/ktensor.h"
#include "problem/initial_guess.h"
#include "problem/problem.h"
#include "tensor/fingerprint.h"

/* What a checkpoint says of the tensor and of the run. */
struct checkpoint_about {
    struct fingerprint tensor;
    struct problem problem;   /* but for the acceleration    */
    uint64_t seed;            /* for information, as is init */
    enum guess init;          /* how the run began           */
    int iterations;           /* that were made              */
    double fit, change;       /* after the last of them, and from the one before */
    bool has_momentum;        /* the iterations were accelerated                 */
    struct momentum momentum; /* where they were                                 */
    int small_changes;        /* iterations in a row that changed the fit by little, likewise */
    int single_iterations;    /* of those, in single precision, where the policy is auto */
    enum precision factors;   /* of the factor matrices as they stand              */
    int best_iteration; /* after which the model was the best, where the run keeps a copy; else 0 */
    double best_fit;    /* of that model                                              */
    enum precision best_factors; /* of its factor matrices                            */
};

/* Whether the best model is apart from that of the last iteration. */
static inline bool checkpoint_has_best(const struct checkpoint_about *a)
{
    return a->best_iteration > 0 && a->best_iteration < a->iterations;
}

/* Which model is that after the last iteration. */
static inline enum checkpoint_model checkpoint_last(const struct checkpoint_about *a)
{
    return a->momentum.extrapolated ? CHECKPOINT_PREVIOUS : CHECKPOINT_STATE;
}

/* Lambda and rows of the factor matrices as they stand, with scales and Grams. */
struct checkpoint_rows {
    struct ktensor rows;
    struct carried carried;
};

/* A checkpoint that was read. Arrays are in the map, not to be written to. */
struct checkpoint {
    const char *name;   /* for messages; not owned                                             */
    struct filemap map; /* may change with the file: what is judged is copied, the arrays below
                         * are numbers of any kind                                             */
    union {
        struct checkpoint_header header;
        char bytes[CHECKPOINT_PAGE];
    } page; /* a copy of the first page */
    struct checkpoint_about about;
    uint64_t crc; /* of the header, which has the others: tells checkpoints apart */
    struct checkpoint_rows model[CHECKPOINT_MODELS]; /* those that there are: all rows */
};

/* Maps the file and checks it, but of the pieces' checksums
 * only those of a share: of `shares` processes each is to check its own. Takes no memory that a
 * damaged file could ask for. The caller closes *c, which is empty on failure; `path` outlives *c.
 * By all OpenMP threads. STATUS_INPUT where the file cannot be read, is damaged or cut off, of
 * another version, or of a machine with another byte order; STATUS_MEMORY. */
enum status checkpoint_open(struct checkpoint *c, const char *path, int share, int shares,
                            struct error *error);

/* STATUS_INPUT, with what differs, where the checkpoint is of another R or precision, or of other
 * nonnegative or fixed modes (the ridge may differ); of another shape or number of nonzeros; of
 * other nonzeros. */
enum status checkpoint_check_run(const struct checkpoint *c, const struct problem *now,
                                 struct error *error);
enum status checkpoint_check_shape(const struct checkpoint *c, const struct shape *shape,
                                   uint64_t nnz, struct error *error);
enum status checkpoint_check_hash(const struct checkpoint *c, uint64_t hash, struct error *error);

/* Accepts an empty one. */
void checkpoint_close(struct checkpoint *c);

/* Pieces that were written, in the order of the file. */
struct checkpoint_pieces {
    struct checkpoint_piece *piece; /* (count); owned */
    uint64_t count;
};

/* Frees the models (CHECKPOINT_MODELS); accepts empty ones. */
void checkpoint_rows_free(struct checkpoint_rows *model);

/* Writes, at their places, the rows of the factor matrices of each model (CHECKPOINT_MODELS) that
 * *about tells of, which are consecutive (rows.row is NULL), and with `shared` what all ranks have:
 * lambda, scales and Grams. The caller frees pieces->piece with memory_free; *pieces is empty on
 * failure. STATUS_OUTPUT, STATUS_MEMORY. */
enum status checkpoint_write_rows(struct outfile *f, const struct checkpoint_about *about,
                                  const struct checkpoint_rows *model, bool shared,
                                  struct checkpoint_pieces *pieces, struct error *error);

/* Writes header and directory. *pieces are all pieces of the file, in any order, in which they do
 * not stay. STATUS_OUTPUT. */
enum status checkpoint_write_directory(struct outfile *f, const struct checkpoint_about *about,
                                       struct checkpoint_pieces *pieces, struct error *error);

#endif
