/* Checkpoints: the state of an ALS run in a file, from which another run resumes. The file has the
 * rows of the whole tensor, whatever the number of ranks. Implemented in checkpoint_read.c
 * and checkpoint_write.c. */
#ifndef BLCO_CHECKPOINT_H
#define BLCO_CHECKPOINT_H

#include "base/filemap.h"
#include "base/outfile.h"
#include "checkpoint/checkpoint_format.h"
#include "numerics/momentum_step.h"
#include "numerics/precision.h"
#include "model/carried.h"
#include "model/ktensor_source.h"
#include "problem/initial_guess.h"
#include "problem/problem.h"
#include "tensor/fingerprint.h"

/* The tensor and the run of a checkpoint. */
struct checkpoint_about {
    struct fingerprint tensor;
    struct problem problem;      /* without the acceleration    */
    bool ridge_chosen;           /* by the held-out error, of all modes alike */
    uint64_t seed;               /* of the random start         */
    enum guess init;             /* how the run began, for information */
    int iterations;              /* made so far                 */
    double fit, change;          /* after the last iteration; from the one before   */
    bool has_momentum;           /* the iterations were accelerated                 */
    struct momentum momentum;    /* if they were                                    */
    int small_changes;           /* iterations in a row that changed the fit by little           */
    int single_iterations;       /* of those, in single precision, where the policy is auto */
    enum precision factors;      /* of the factor matrices as they stand              */
    int best_iteration;          /* of the best model that the run keeps a copy of; 0: no copy */
    double best_fit;             /* of that model                                     */
    double held, best_held;      /* struct held_error: of the last model, and of the best; 0
                                  * where no entries are held out                     */
    double least_held;           /* the smallest of them so far ...                   */
    int least_iteration;         /* ... and after which iteration; 0: none            */
    double best_noise;           /* by which rounding may have changed best_fit       */
    enum precision best_factors; /* of its factor matrices                            */
};

/* Whether the file has a best model besides that of the last iteration. */
static inline bool checkpoint_has_best(const struct checkpoint_about *a)
{
    return a->best_iteration > 0 && a->best_iteration < a->iterations;
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

#endif
