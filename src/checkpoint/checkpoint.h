/* Checkpoints: the state of an ALS run in a file, from which another run resumes. The file has the
 * rows of the whole tensor, whatever the number of ranks. Implemented in checkpoint_read.c
 * and checkpoint_write.c. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/filemap.h"
#include "base/outfile.h"
#include "model/ktensor.h"
#include "numerics/momentum_step.h"
#include "numerics/precision.h"
#include "problem/initial_guess.h"
#include "problem/problem.h"
#include "tensor/fingerprint.h"
#include "tensor/shape.h"

/* The bytes of a checkpoint file (see blco-checkpoint(5)):
 *
 *   header      the first page
 *   matrices    from the second page on, without a gap; rows of R doubles: lambda (1 row); of each
 *               mode the scales (1 row); of each mode the Gram (R rows); of each mode the factor
 *               matrix as the backend has it (I_n rows). If these are extrapolated, the same of
 *               the model, without lambda. If the run keeps a copy of a better model of an
 *               earlier iteration, the same of that
 *   more        sections of kinds that this version does not know
 *   directory   to the end of the file: the pieces, which are consecutive rows of one matrix, or a
 *               whole section of another kind, in the order of the file, each with its checksum */

#define CHECKPOINT_MAGIC                                                                           \
    "\x89"                                                                                         \
    "BCPT\r\n\x1a" /* damaged by a transfer as text */
#define CHECKPOINT_MAGIC_BYTES 8
#define CHECKPOINT_BYTE_ORDER  UINT32_C(0x01020304)
#define CHECKPOINT_VERSION     5
#define CHECKPOINT_PAGE        4096

struct checkpoint_header {
    uint8_t magic[CHECKPOINT_MAGIC_BYTES];
    uint32_t byte_order;
    uint32_t version;
    uint64_t file_bytes;
    uint64_t directory_offset;
    uint64_t pieces;
    uint64_t directory_crc; /* CRC-64 (ECMA, reflected) of the directory */
    uint32_t order;
    uint32_t precision; /* enum checkpoint_precision; numbers are doubles in any case */
    uint64_t dims[MAX_ORDER];
    uint64_t nnz;
    uint64_t hash; /* of the nonzeros, fingerprint.h */
    uint64_t rank; /* R */
    uint64_t iterations;
    double fit, change;      /* after the last iteration; from the one before */
    double ridge[MAX_ORDER]; /* of each mode */
    uint64_t seed;
    uint32_t init;       /* enum guess */
    uint32_t nonneg;     /* bit n: mode n + 1 is nonnegative */
    uint32_t fixed;      /* bit n: mode n + 1 is fixed */
    uint32_t momentum;   /* bits of enum checkpoint_momentum */
    uint64_t header_crc; /* of the first page, with 0 in place of this field */
    double momentum_t, momentum_objective, momentum_noise; /* numerics/momentum_step.h */
    uint32_t restarts;
    uint32_t small_changes;     /* iterations in a row that changed the fit by little */
    uint64_t single_iterations; /* in single precision, of a run that goes on in double */
    double best_fit;            /* of the best model that the run keeps a copy of       */
    uint32_t best_iteration;    /* of that model; 0: there is no copy                   */
    uint32_t best_precision;    /* enum precision, of its factor matrices                       */
    double unlisted, fade;      /* struct unlisted: weight and fade                            */
    uint32_t weighed;           /* 1 if unlisted entries are weighed, else 0                   */
    uint32_t ridge_scale;       /* enum ridge_scale                                            */
    double holdout;             /* the share of entries that are held out                      */
    uint64_t holdout_seed;      /* by which they are chosen                                    */
    double holdout_error;       /* struct holdout_error: of the last model, ...                */
    double best_holdout_error;  /* ... and of the best                                         */
    uint32_t loss, solver;      /* enum loss_name, enum solver                                 */
    double least_holdout_error; /* the smallest that holdout_error has been                    */
    uint64_t least_iteration;   /* after which it was; 0: none yet, or from before this member */
    double best_noise;          /* by how much rounding may have changed best_fit              */
    uint64_t inner;             /* struct problem; 0 or 1: one step of a mode                  */
    uint64_t ridge_chosen;      /* 1 if the run has chosen its ridge, else 0                   */
};

/* Members of struct checkpoint_about, and those of the header that have the same values. Writer and
 * reader copy what stands here: X(about's, header's). Those of the second list have a number for
 * each mode, 0 or more; the third list counts with momentum only. */
#define CHECKPOINT_FIELDS(X)                                                                       \
    X(tensor.nnz, nnz)                                                                             \
    X(tensor.hash, hash)                                                                           \
    X(problem.rank, rank)                                                                          \
    X(problem.unlisted.weighed, weighed)                                                           \
    X(problem.unlisted.weight, unlisted)                                                           \
    X(problem.unlisted.fade, fade)                                                                 \
    X(problem.ridge_scale, ridge_scale)                                                            \
    X(problem.holdout.share, holdout)                                                              \
    X(problem.holdout.seed, holdout_seed)                                                          \
    X(holdout_error, holdout_error)                                                                \
    X(best.holdout_error, best_holdout_error)                                                      \
    X(least_holdout_error, least_holdout_error)                                                    \
    X(least_iteration, least_iteration)                                                            \
    X(best.noise, best_noise)                                                                      \
    X(problem.loss, loss)                                                                          \
    X(problem.solver, solver)                                                                      \
    X(problem.inner, inner)                                                                        \
    X(ridge_chosen, ridge_chosen)                                                                  \
    X(seed, seed)                                                                                  \
    X(init, init)                                                                                  \
    X(iterations, iterations)                                                                      \
    X(fit, fit)                                                                                    \
    X(change, change)                                                                              \
    X(single_iterations, single_iterations)                                                        \
    X(small_changes, small_changes)                                                                \
    X(best.iteration, best_iteration)                                                              \
    X(best.fit, best_fit)                                                                          \
    X(best_factors, best_precision)
#define CHECKPOINT_MODE_FIELDS(X) X(problem.rules.ridge, ridge)
#define CHECKPOINT_MOMENTUM_FIELDS(X)                                                              \
    X(momentum.t, momentum_t)                                                                      \
    X(momentum.objective, momentum_objective)                                                      \
    X(momentum.noise, momentum_noise)                                                              \
    X(momentum.restarts, restarts)

enum checkpoint_momentum {
    CHECKPOINT_MOMENTUM = 1,
    CHECKPOINT_EXTRAPOLATED = 2,
    CHECKPOINT_REJECTED = 4
};

/* The precision of a run, and of its factor matrices. */
enum checkpoint_precision {
    CHECKPOINT_DOUBLE,
    CHECKPOINT_SINGLE,
    CHECKPOINT_AUTO_SINGLE, /* single first, then double; still single ... */
    CHECKPOINT_AUTO_DOUBLE  /* ... already double                          */
};

#define CHECKPOINT_MAY_SKIP 1u /* flag of a piece: readers that do not know its kind skip it */

struct checkpoint_piece {
    uint32_t kind;    /* enum checkpoint_kind */
    uint32_t version; /* of the kind: 1       */
    uint32_t mode;    /* from 1; 0: of no mode */
    uint32_t flags;
    uint64_t first; /* row of the matrix, from 0 */
    uint64_t rows;
    uint64_t offset; /* in the file */
    uint64_t bytes;  /* a multiple of 8 */
    uint64_t crc;
};

enum checkpoint_kind {
    CHECKPOINT_LAMBDA = 1,
    CHECKPOINT_SCALE = 2,
    CHECKPOINT_GRAM = 3,
    CHECKPOINT_FACTOR = 4,
    CHECKPOINT_PREVIOUS_SCALE = 5,
    CHECKPOINT_PREVIOUS_GRAM = 6,
    CHECKPOINT_PREVIOUS_FACTOR = 7,
    CHECKPOINT_BEST_LAMBDA = 8,
    CHECKPOINT_BEST_SCALE = 9,
    CHECKPOINT_BEST_GRAM = 10,
    CHECKPOINT_BEST_FACTOR = 11
};

_Static_assert(sizeof(struct checkpoint_header) == 552, "the header has no padding");
_Static_assert(sizeof(struct checkpoint_piece) == 56, "a piece has no padding");

/* The models of a checkpoint: the state, with which the next iteration begins; if that is
 * extrapolated, the previous model, from after the last iteration, with the state's lambda; and the
 * best model, if it is from an earlier iteration. */
enum checkpoint_model { CHECKPOINT_STATE, CHECKPOINT_PREVIOUS, CHECKPOINT_BEST, CHECKPOINT_MODELS };

/* A matrix of the file. */
struct checkpoint_matrix {
    enum checkpoint_model model;
    enum checkpoint_kind array; /* what it is of the model: a kind of the state */
    enum checkpoint_kind kind;  /* in the file                                  */
    int mode;                   /* from 0; of lambda -1                         */
    uint64_t rows;
    uint64_t offset;
};

struct checkpoint_layout {
    uint64_t row_bytes;
    uint64_t end; /* of the last matrix */
    int count;
    struct checkpoint_matrix matrix[9 * MAX_ORDER + 2];
};

/* *l = the places of the matrices in a file of this shape and rank R, with or without a previous
 * and a best model. False if the file would be larger than files can be. */
bool checkpoint_layout(struct checkpoint_layout *l, const struct shape *shape, uint64_t rank,
                       bool previous, bool best);

/* The checksum of the first page, with 0 in place of the checksum itself. */
uint64_t checkpoint_page_crc(const void *page);

/* An iteration, and how good its model is. */
struct model_score {
    int iteration;
    double fit;
    double holdout_error; /* the held-out error; 0 where nothing is held out */
    double noise;         /* by how much rounding may have changed the fit   */
    bool exact;           /* the fit is from the residual                    */
};

/* The tensor and the run of a checkpoint. */
struct checkpoint_about {
    struct fingerprint tensor;
    struct problem problem;   /* without the acceleration    */
    bool ridge_chosen;        /* by the held-out error, of all modes alike */
    uint64_t seed;            /* of the random start         */
    enum guess init;          /* how the run began, for information */
    int iterations;           /* made so far                 */
    double fit, change;       /* after the last iteration; from the one before   */
    bool has_momentum;        /* the iterations were accelerated                 */
    struct momentum momentum; /* if they were                                    */
    int small_changes;        /* iterations in a row that changed the fit by little           */
    int single_iterations;    /* of those, in single precision, where the policy is auto */
    enum precision factors;   /* of the factor matrices as they stand              */
    double holdout_error; /* struct holdout_error: of the last model; 0 where nothing is held out */
    double least_holdout_error; /* the smallest of them so far ...                   */
    int least_iteration;        /* ... and after which iteration; 0: none            */
    struct model_score best;    /* the best model that the run keeps a copy of; iteration 0: none */
    enum precision best_factors; /* of its factor matrices                            */
};

/* Whether the file has a best model besides that of the last iteration. */
static inline bool checkpoint_has_best(const struct checkpoint_about *a)
{
    return a->best.iteration > 0 && a->best.iteration < a->iterations;
}

/* The model after the last iteration. */
static inline enum checkpoint_model checkpoint_last(const struct checkpoint_about *a)
{
    return a->momentum.extrapolated ? CHECKPOINT_PREVIOUS : CHECKPOINT_STATE;
}

/* Whether the file has this model. */
static inline bool checkpoint_has(const struct checkpoint_about *a, enum checkpoint_model model)
{
    return model == CHECKPOINT_BEST ? checkpoint_has_best(a)
                                    : model == CHECKPOINT_STATE || model == checkpoint_last(a);
}

/* Lambda and rows of the factor matrices as the backend has them, with scales and Grams. */
struct checkpoint_rows {
    struct ktensor rows;
    struct carried carried;
};

/* A checkpoint that was read. Arrays are in the map, not to be written to. */
struct checkpoint {
    const char *name;   /* for messages; not owned                                             */
    struct filemap map; /* may change with the file; so all that is checked was copied first. The
                         * arrays below may have any values                                    */
    union {
        struct checkpoint_header header;
        char bytes[CHECKPOINT_PAGE];
    } page; /* a copy of the first page */
    struct checkpoint_about about;
    uint64_t crc; /* of the header, which has the other checksums: identifies a checkpoint */
    struct checkpoint_rows model[CHECKPOINT_MODELS]; /* all rows of the models in the file */
};

/* Maps the file and checks it. `shares` processes divide the checksums of the pieces among them;
 * this one checks share number `share`. A damaged file cannot make it take memory. The caller
 * closes *c, which is empty on failure; `path` outlives *c. By all OpenMP threads. STATUS_INPUT if
 * the file cannot be read, is damaged or cut off, or has another version or byte order;
 * STATUS_MEMORY. */
enum status checkpoint_open(struct checkpoint *c, const char *path, int share, int shares,
                            struct error *error);

/* STATUS_INPUT, with the difference, if the checkpoint has
 *   run: another R or precision, other held-out entries, or other nonnegative or fixed modes (the
 * ridge may differ); shape: another shape or number of nonzeros; hash: other nonzeros. */
enum status checkpoint_check_run(const struct checkpoint *c, const struct problem *now,
                                 struct error *error);
enum status checkpoint_check_shape(const struct checkpoint *c, const struct shape *shape,
                                   uint64_t nnz, struct error *error);
enum status checkpoint_check_hash(const struct checkpoint *c, uint64_t hash, struct error *error);

/* Accepts an empty one. */
void checkpoint_close(struct checkpoint *c);

/* Frees the models (CHECKPOINT_MODELS); accepts empty ones. */
void checkpoint_rows_free(struct checkpoint_rows *model);

/* A checkpoint that is written. */
struct checkpoint_output {
    struct outfile *file; /* borrowed */
    struct checkpoint_about about;
    struct checkpoint_layout layout;
    enum checkpoint_model model;    /* that is written now */
    struct checkpoint_piece *piece; /* (count) of the file so far; owned */
    uint64_t count, room;
};

/* Begins a checkpoint in the open file. The caller ends with checkpoint_output_free, after a
 * failure too. STATUS_OUTPUT where it is larger than files can be. */
enum status checkpoint_output_begin(struct checkpoint_output *o, struct outfile *file,
                                    const struct checkpoint_about *about, struct error *error);

/* Writes the rows of the factor matrices of a model, all or some, at their places; with `carried`
 * also lambda, scales and Grams. Every matrix of every model that the file has must be written
 * (checkpoint_has). STATUS_OUTPUT, STATUS_MEMORY, and errors of bringing rows. */
enum status checkpoint_output_put(struct checkpoint_output *o, enum checkpoint_model model,
                                  const struct ktensor_source *rows, const struct carried *carried,
                                  struct error *error);

/* Writes header and directory; the caller commits the file. STATUS_OUTPUT. */
enum status checkpoint_output_end(struct checkpoint_output *o, struct error *error);

/* Leaves the file to the caller; accepts a zeroed one. */
void checkpoint_output_free(struct checkpoint_output *o);
