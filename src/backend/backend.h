/* The seam between the ALS loop and the machine: an open backend and its operations. The backend
 * owns every array (orderings of the tensor, factor matrices, Grams, M); the loop names only modes,
 * from 0 on. Implemented in backend_open.c (from a tensor to an open backend),
 * backend_model.c (models on their way in and out) and backend.c (all else).
 *
 * Besides the errors that a function names, a GPU can cause STATUS_MEMORY and STATUS_INTERNAL in
 * every function that returns a status. */
#pragma once

#include "backend/backend_kind.h"
#include "backend/operation_times.h"
#include "ranks/rank_tensor.h"

/* The last operation: after OP_MTTKRP the backend has M of `mode`, after OP_UPDATE the new factor
 * matrix of `mode`, otherwise neither. */
struct last_operation {
    enum operation op;
    int mode;
    bool rotated; /* since the last load: the Grams are those of other columns */
};

/* In which modes entries may be at the floor of an update (numerics/nonneg.h), and the precision of
 * that update. */
struct floors {
    bool may[MAX_ORDER];
    enum precision precision[MAX_ORDER];
};

/* An open backend; callers only read it. It stays where it is: the kind reads `problem`. */
struct backend {
    const struct backend_kind *kind;
    struct plan plan; /* made before opening; backend_built gives the one that was followed */
    int order;
    struct backend_options options; /* it was opened with                                  */
    const struct rank_rows *ranks;  /* of the tensor that it was opened from: the rows that are
                                     * here                                                */
    struct rank_tensor *own;        /* that tensor, where backend_open made it; owned, or NULL */
    struct comm *self;              /* of `own`; owned, or NULL                             */
    enum precision precision;       /* of the factor matrices as they stand                 */

    /* Only backend*.c uses the rest. */
    void *state; /* made by `open` of the kind; owned */
    struct backend_problem problem;
    struct operation_clock clock;
    struct last_operation last;
    struct floors floors;
};

/* The times booked so far. A GPU's operations are booked by the next fit, load, residual or store
 * at the latest. */
const struct operation_times *backend_times(const struct backend *b);

/* Sets all times to zero. */
void backend_clear_times(struct backend *b);

/* *plan = the plan that opening this tensor would follow; nothing is built. Where the nonzeros of a
 * file would have to be unpacked and host memory has no room for that, *plan streams them. A plan
 * that does not fit is no error: plan->fits says so. STATUS_INPUT where the kind cannot do what
 * `options` ask for. */
enum status backend_plan(struct plan *plan, const struct backend_kind *kind,
                         const struct plan_tensor *tensor, const struct backend_options *options,
                         struct error *error);

/* From a tensor to an open backend, in two steps; every rank of the tensor takes them alike.
 * backend_prepare plans, refuses what fits nowhere before the long read, and reads the nonzeros
 * unless the backend builds from the bytes of the .blco file. backend_build builds from them;
 * afterwards the nonzeros may be freed (rank_tensor_free_nonzeros), but *t must outlive *b. Models
 * have the rows of t->rows.part (ktensor_create_part). `progress` may be NULL. The caller closes *b
 * with backend_close; on failure *b is closed. If backend_prepare fails on one rank, it fails on
 * all, and one of them has the message (comm_end_phase). After a failure of backend_build or of any
 * operation of *b, the caller calls comm_abort before backend_close. STATUS_MEMORY where nothing
 * fits, with the rank that would fit in the message; STATUS_INPUT as backend_plan, and where the
 * file is damaged; STATUS_INPUT and STATUS_NUMERICAL as backend_check_norm. */
enum status backend_prepare(struct backend *b, const struct backend_kind *kind,
                            struct rank_tensor *t, const struct backend_options *options,
                            struct progress *progress, struct error *error);
enum status backend_build(struct backend *b, struct rank_tensor *t, struct progress *progress,
                          struct error *error);

/* Fails as backend_prepare where that would refuse this tensor: STATUS_MEMORY, STATUS_INPUT. Reads
 * nothing. */
enum status backend_check_fits(const struct backend_kind *kind, const struct rank_tensor *t,
                               const struct backend_options *options, struct error *error);

/* Both steps for a rank alone and nonzeros in memory, which are only read and may be freed
 * afterwards. Errors as backend_prepare and backend_build. */
enum status backend_open(struct backend *b, const struct backend_kind *kind, const struct coo *x,
                         const struct backend_options *options, struct progress *progress,
                         struct error *error);

/* Copies lambda and the factors of k, which must have the backend's shape and rank, into the
 * backend. Its model then is [lambda; A_1, ..., A_N] as given: backend_store returns the same. */
enum status backend_load(struct backend *b, const struct ktensor *k, struct error *error);

/* The same at the beginning of a run of ALS: the factor matrices have the precision in which the
 * run begins, until backend_widen. A power of two, the same for all weights, makes the largest
 * about
 * ||X||, unless all modes are fixed. */
enum status backend_begin(struct backend *b, const struct ktensor *k, struct error *error);

/* backend_begin with the random model of ktensor_randomise, which the backend makes itself, bit for
 * bit; in nonnegative modes, with the absolute values of its entries. */
enum status backend_randomise(struct backend *b, enum ktensor_init init, uint64_t seed,
                              struct error *error);

/* Converts factor matrices of single precision to double; does nothing where they are double. To
 * be called between iterations. Booked as a load. */
enum status backend_widen(struct backend *b, struct error *error);

/* Loads what backend_save has saved, perhaps from another backend or with another number of ranks:
 * k has the factor matrices as they stand (struct carried), and no scale is zero. The next
 * operations give the results that they would have given after that backend_save; on the host, with
 * the same ranks and grid, to the bit. */
enum status backend_resume(struct backend *b, const struct ktensor *k,
                           const struct carried *carried, struct error *error);

/* M (I_n x R) = X_(n) (A_N kr ... A_n+1 kr A_n-1 ... kr A_1) for n = mode. M stays in the backend.
 * STATUS_INPUT where a streamed file turns out to be damaged. */
enum status backend_mttkrp(struct backend *b, int mode, struct error *error);

/* From the M of this mode, which the last backend_mttkrp made: A_n = M V^+, where V is the Hadamard
 * product of the other modes' Grams, plus the mode's ridge on its diagonal; lambda_r =
 * ||A_n(:,r)||; A_n's columns to unit norm; G_n = A_n' A_n. If the mode is nonnegative,
 * A_n diag(lambda) instead comes nearer to the nonnegative matrix that fits best (HALS,
 * numerics/nonneg.h). One operation, since every backend does these together, in the order that
 * suits it. STATUS_NUMERICAL if a number is not finite (a GPU may find that only in the next
 * backend_fit), STATUS_INTERNAL if the last MTTKRP was that of another mode, an update has used its
 * M, columns were rotated, or the mode is fixed. */
enum status backend_update(struct backend *b, int mode, struct error *error);

/* Sets the weight of unlisted entries in the next sweep, where the problem weighs them (problem.h);
 * after opening it is that after all fading (problem_count). Between sweeps. */
void backend_weigh(struct backend *b, const struct unlisted_count *count);

/* *fit = 1 - ||X - model|| / ||X||, from the M of `mode`, the mode updated last, without a pass
 * over the nonzeros; near 1 rounding takes half of the digits (fit->noise). With *m, what the sweep
 * before has left, *fit also has the decision on the next sweep, and a GPU already prepares that
 * step; m is NULL without momentum. STATUS_NUMERICAL where a number is not finite, STATUS_INTERNAL
 * where another mode was updated last, or with *m where the plan has no momentum. */
enum status backend_fit(struct backend *b, int mode, const struct momentum *m,
                        struct backend_fit *fit, struct error *error);

/* The mean of the values, each entry by its weight (struct count_null). */
double backend_mean_count(const struct backend *b);

/* *deviance, *log_likelihood = those of a model of counts with this fit; 0 where the loss is
 * another one. The deviance is twice the sum of the misfits (numerics/poisson_term.h). */
void backend_likelihood(const struct backend *b, double fit, double *deviance,
                        double *log_likelihood);

/* *fit becomes that of the model as it stands, from a pass over the nonzeros, to all digits
 * (struct backend_residual, backend_fit_exact). On a GPU in single precision, it is that of the
 * tensor rounded to floats. STATUS_MEMORY; STATUS_NUMERICAL where the residual is not finite. */
enum status backend_residual(struct backend *b, struct backend_fit *fit, struct error *error);

/* What each component has to do with the tensor X, in the backend's order, as shares of what the
 * fit compares with: of ||X||^2, each entry by its weight. explained (R) = by how much the
 * component alone, as it stands in the model, makes ||X||^2 smaller, below 0 where it makes that
 * larger; lost (R) = by how much ||X - model||^2 becomes larger without the component, the others
 * unchanged. Of a model of counts, explained = the share of the known events that come from the
 * component, and lost is NaN (component_term of numerics/row_term.h). A pass over the nonzeros, in
 * doubles. To be called as backend_values; the state does not change. STATUS_MEMORY. */
enum status backend_components(struct backend *b, double *explained, double *lost,
                               struct error *error);

/* value[i] = the model's value at the coordinates of entry i of `at` (value has at->nnz entries),
 * whose indices are rows that are here; its values are not read. To be called between an update and
 * the next step; the state does not change. Values above the largest double are infinite. The time
 * is booked as the fit's. */
enum status backend_values(struct backend *b, const struct coo *at, double *value,
                           struct error *error);

/* Until backend_drop_terms, backend_mttkrp of `mode`, and of no other mode, multiplies the term
 * c = v x - (v - h) m of each listed entry (numerics/row_term.h) in place of its value x, where m
 * is the value of the model as it stands and h the present weight of unlisted entries: the misfit x
 * - m where they are unknown. This is an MTTKRP where rows have systems, too, and only there is it
 * to be asked for; M of each rank is that of the nonzeros which it has of this mode. *held = false
 * where the memory that may be used has no room on some rank; then nothing changes. To be called as
 * backend_values, by every rank; loads and rotations may follow. The time is booked as the fit's.
 * STATUS_MEMORY. */
enum status backend_hold_terms(struct backend *b, int mode, bool *held, struct error *error);

/* The tensor has its own values again. Does nothing where no terms are held. STATUS_MEMORY. */
enum status backend_drop_terms(struct backend *b, struct error *error);

/* By the weights of the entries, the part of the tensor that is unknown; 0 where all count alike.
 */
double backend_unknown(const struct backend *b);

/* Sets the ridge of every mode. To be called between runs. */
void backend_take_ridge(struct backend *b, double ridge);

/* Makes the factor matrices with which the next sweep begins (numerics/momentum_step.h), where the
 * plan has momentum. For each mode that the next sweep depends on (mode_rules_begins), A_n is the
 * factor matrix with unit columns, and S_n the previous one. A_n becomes Y_n = now A_n + before
 * S_n, with 0 for negative entries if the mode is nonnegative, and S_n becomes A_n. The step (0, 1)
 * swaps A_n and S_n, and lambda with that of S_n. After a fit with momentum that is not blind,
 * *step is that of the fit. No MTTKRP may come between the fit and this. The time is booked as the
 * fit's. STATUS_INTERNAL without a sweep before. */
enum status backend_extrapolate(struct backend *b, const struct momentum_step *step,
                                struct error *error);

/* Between sweeps, where the plan has momentum: swaps the factor matrices and the previous ones,
 * with scales, Grams and lambda, to make the model the factor matrices again, or to save or load
 * the previous ones. No time is booked. */
void backend_swap(struct backend *b);

/* gram (R x R) = the inner products of the columns of factor matrix `mode`. The columns have unit
 * length after an update, before that the length that was loaded. No time is booked. */
enum status backend_gram(struct backend *b, int mode, double *gram, struct error *error);

/* lambda (R) = the weights of the components, in the backend's order. No time is booked. */
enum status backend_weights(struct backend *b, double *lambda, struct error *error);

/* Copies lambda and the factors of the model into k, which has the backend's shape and rank and
 * gets the rules of the modes. Zeros of nonnegative factors are written as such
 * (numerics/nonneg.h). STATUS_MEMORY. */
enum status backend_store(struct backend *b, struct ktensor *k, struct error *error);

/* backend_store in the standard form (ktensor_arrange) of the whole model of all ranks; k gets the
 * rows of ranks->part or, where `whole`, has all rows, of which it gets those that this rank
 * solves: so ranks that are threads of one process fill one model. The backend keeps its model, but
 * the next operation must be a load or an MTTKRP. Every rank calls it. STATUS_MEMORY. */
enum status backend_store_arranged(struct backend *b, struct ktensor *k, bool whole,
                                   struct error *error);

/* Copies the state between two iterations into k and carried, which have the backend's shape and
 * rank: lambda, the factor matrices as they stand, scales and Grams. The state does not change. */
enum status backend_save(struct backend *b, struct ktensor *k, struct carried *carried,
                         struct error *error);

/* Copies M of `mode`, the mode of the last MTTKRP, into m (I_n x R), before an update uses M. No
 * time is booked. STATUS_INTERNAL where that M is not there. */
enum status backend_fetch(struct backend *b, int mode, double *m, struct error *error);

/* Moves column r of factor matrix `mode` to r + 1, and the last column to the first; lambda, Grams
 * and the other factor matrices stay. Until the next load only MTTKRPs may follow, each of which
 * then multiplies other columns with each other. No time is booked. */
enum status backend_rotate(struct backend *b, int mode, struct error *error);

/* *built = what has been built, and which kernels compute MTTKRP; more orderings of a streamed
 * tensor may follow. */
void backend_built(struct backend *b, struct backend_built *built);

/* Runs MTTKRP of `mode` `count` times (fewer than OPERATION_EVENTS); seconds[i] (count) = the time
 * of call i. A backend with a queue gets all calls before this waits for the first. Errors as
 * backend_mttkrp. */
enum status backend_time_mttkrp(struct backend *b, int mode, uint64_t count, double *seconds,
                                struct error *error);

/* Frees all that the backend owns. Accepts a closed or zeroed *b. */
void backend_close(struct backend *b);
