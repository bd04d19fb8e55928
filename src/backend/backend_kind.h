/* A kind of backend: what it does without a tensor, how it is opened, and the operations of an open
 * one. Callers use backend.h; only backend.c and backend_model.c call the operations. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "backend/backend_fit.h"
#include "backend/backend_problem.h"
#include "model/ktensor_arrange.h"
#include "ranks/rank_rows.h"
#include "backend/column_form.h"
#include "backend/operation_times.h"
#include "base/error.h"
#include "numerics/precision.h"
#include "base/progress.h"
#include "base/words.h"
#include "model/ktensor.h"
#include "problem/problem.h"
#include "plan/plan.h"
#include "tensor/coo.h"

struct blco_file;

/* What the user asks of a backend, and what it may use of the machine. Zero is the default of every
 * field but the rank. */
struct backend_options {
    struct problem problem;
    enum conflict conflict;
    bool no_sharing;      /* no mode groups (mode_groups.h)                                    */
    uint64_t iterations;  /* of ALS, at most; 0: not known. Orderings that take long to build pay
                           * only with many                                                    */
    int device;           /* the number of the device to work on, where the kind has several   */
    uint64_t memory;      /* bytes of device memory that may be used; 0: 15/16 of what is free */
    uint64_t host_memory; /* bytes of host memory that may be used; 0: MACHINE_MEMORY_FRACTION of
                           * what is available                                                 */
    bool spends;     /* the nonzeros that the backend is opened from are not needed afterwards */
    uint64_t models; /* models that the caller keeps in host memory beside the backend         */
    struct plan_forced forced; /* what tests and measurements decide instead of the plan       */
};

/* A table that the caches nearest to a core, or of a multiprocessor, hold. */
#define BACKEND_CACHED_BYTES 16384

/* How fast the machine moves rows of R entries, measured. */
struct backend_rates {
    double copy_bytes_per_second;   /* within its memory; bytes read and bytes written both count */
    double cache_bytes_per_second;  /* reading BACKEND_CACHED_BYTES again and again               */
    double upload_bytes_per_second; /* from pinned host memory; 0: the host is the machine        */
    double
        gather_bytes_per_second[MAX_ORDER];   /* reading random rows of a table as long as mode n */
    double atomic_rows_per_second[MAX_ORDER]; /* adding atomically to random rows of that table   */
};

/* How MTTKRP of a mode is computed. */
struct backend_mttkrp_kernel {
    char name[96];      /* of the kernel variant ("plain x2048", in chunks of 2048 nonzeros); empty
                         * where there is only one */
    bool chosen;        /* all variants have been tried                                          */
    uint64_t bus_bytes; /* of the tensor, that one MTTKRP copies from host memory to the device */
};

/* What was built, and how long that took. */
struct backend_built {
    struct plan plan;          /* the plan that was followed: the one given to open, or a smaller
                                * one where the device turned out to have less room            */
    struct mode_groups groups; /* modes that share partial products  */
    uint64_t nnz;              /* the nonzeros that are here         */
    double norm_sq;            /* ||X||^2, of all ranks; the tensor may have been scaled (struct
                                * tensor_source)                     */
    struct backend_mttkrp_kernel kernel[MAX_ORDER]; /* of each mode */
    struct backend_seconds { /* of the stages; 0 where there was none                            */
        double upload, presort, alto;
        double replica[MAX_ORDER]; /* [n]: the ordering of mode n; with mode groups, of group n  */
        double grouping; /* choosing mode groups, and building the tensors of their tuples       */
    } seconds;
};

/* Texts that name a device in records. */
struct backend_device {
    char name[256];
    char driver[64];  /* the driver's version                         */
    char runtime[64]; /* the version of the CUDA runtime              */
    char bus[32];     /* the device's place in its host, as 0000:1b:00.0 */
};

/* What a backend is opened from. Where `file` is NULL, the nonzeros are in the arrays of x;
 * otherwise they are in the file, and x has only their number and the shape. Both are borrowed.
 * With several ranks, x is this rank's part. */
struct tensor_source {
    const struct coo *x;
    struct coo *spent; /* NULL, or x, whose arrays opening may take or free (blco.h)             */
    const struct blco_file *file;
    const char *file_name; /* of the file, for messages; not owned                              */
    bool parts; /* the file has the nonzeros of all ranks; x->nnz estimates those of this rank,
                 * x->shape is that of its ranges; opening divides the rows
                 * (rank_rows_divide_mode)                                                 */
    struct rank_rows *ranks; /* outlives the backend                                       */
    double norm_sq;          /* ||X||^2; 0 with a file, whose norm `open` computes       */
    const struct backend_problem *problem; /* outlives the backend                         */
};

/* What a model is loaded from: *k, or random numbers (ktensor_randomise), without signs where a
 * mode is to be nonnegative. */
struct model_source {
    const struct ktensor *k;       /* NULL: random numbers                        */
    const struct carried *carried; /* NULL, or with k what backend_resume has     */
    enum ktensor_init init;        /* of the random numbers                       */
    uint64_t seed;                 /* likewise                                    */
    const double *lambda;          /* (R) in place of k->lambda                   */
    enum precision precision;      /* of the factor matrices from now on          */
};

/* The operations on the `state` that `open` has made, as X(result, name, parameters). Those that
 * return a status fill *error; backend.h says what each does, at the function that calls it. In
 * addition:
 *   store       copies the factor matrices' rows that are here into k in this form, but not lambda
 *   columns     column (R) = the statistics of the columns in this form, over the rows of `mode`
 *               that this rank solves; may overwrite M
 *   components  sum (2 x R), which is zero: of each component_term of the entries that are here
 *   drop        does nothing where no terms are held
 *   widen       is only called in a run with POLICY_AUTO, in single precision; overwrites M */
#define BACKEND_OPERATIONS(X)                                                                      \
    X(enum status, load, (void *state, const struct model_source *from, struct error *error))      \
    X(enum status, save,                                                                           \
      (void *state, struct ktensor *k, struct carried *carried, struct error *error))              \
    X(enum status, store,                                                                          \
      (void *state, const struct model_form *form, struct ktensor *k, struct error *error))        \
    X(enum status, columns,                                                                        \
      (void *state, int mode, const struct model_form *form, struct column *column,                \
       struct error *error))                                                                       \
    X(enum status, mttkrp, (void *state, int mode, struct error *error))                           \
    X(enum status, update, (void *state, int mode, struct error *error))                           \
    X(enum status, fit,                                                                            \
      (void *state, int mode, const struct momentum *m, struct backend_fit *fit,                   \
       struct error *error))                                                                       \
    X(enum status, residual, (void *state, struct backend_residual *r, struct error *error))       \
    X(enum status, values,                                                                         \
      (void *state, const struct coo *at, double *value, struct error *error))                     \
    X(enum status, components, (void *state, double *sum, struct error *error))                    \
    X(enum status, hold, (void *state, int mode, bool *held, struct error *error))                 \
    X(enum status, drop, (void *state, struct error *error))                                       \
    X(enum status, extrapolate,                                                                    \
      (void *state, const struct momentum_step *step, struct error *error))                        \
    X(void, swap, (void *state))                                                                   \
    X(enum status, gram, (void *state, int mode, double *gram, struct error *error))               \
    X(enum status, weights, (void *state, double *lambda, struct error *error))                    \
    X(enum status, fetch, (void *state, int mode, double *m, struct error *error))                 \
    X(enum status, rotate, (void *state, int mode, struct error *error))                           \
    X(enum status, widen, (void *state, struct error *error))                                      \
    X(void, built, (void *state, struct backend_built *built))                                     \
    X(void, close, (void *state))

#define BACKEND_OPERATION(result, name, parameters) result(*name) parameters;
struct backend_ops {
    BACKEND_OPERATIONS(BACKEND_OPERATION)
    const struct event_ops *events; /* on the state; NULL: operations are done when calls return */
};

/* A kind of backend. Functions that return a status fill *error. A kind that the
 * build left out has only `available`, which fails. */
struct backend_kind {
    const char *name;

    /* STATUS_OK if this kind can run on this machine, as far as is known before a device is used;
     * otherwise STATUS_INPUT and the reason. */
    enum status (*available)(struct error *error);

    /* Whether the machine seems to have a device: a quick look, before `available`, which takes as
     * long as the driver. NULL for the host. */
    bool (*likely)(void);

    /* Initialises the device ahead of its first use. Threads may call it at the same time; the
     * device is then the calling thread's own. Returns before its next step when *unwanted becomes
     * true. NULL for the host. STATUS_INPUT and the reason if the device does not answer; errors of
     * `available`. */
    enum status (*wake)(int device, const atomic_bool *unwanted, struct error *error);

    bool takes_parts; /* `open` takes a rank's part of the tensor from a .blco file             */

    /* Adds to *request, which has the tensor and what the user wants, what the machine has.
     * STATUS_INPUT if the kind cannot do what the user wants. */
    enum status (*request)(struct plan_request *request, const struct backend_options *options,
                           struct error *error);

    /* Builds the orderings of the plan. The source is only read and may be freed afterwards, except
     * members whose comments say that they outlive the backend; it is a file only where
     * plan_takes_packed. The caller closes *state, which is NULL on failure. STATUS_MEMORY;
     * STATUS_INPUT where the file is damaged; with a file, as backend_check_norm. */
    enum status (*open)(void **state, const struct tensor_source *source, const struct plan *plan,
                        const struct backend_options *options, struct progress *progress,
                        struct error *error);

    /* Starts connecting the ranks' GPUs in the background; *devices goes into struct rank_rows.
     * Every rank of `all` calls it with the number of its device. The caller passes *devices, which
     * is NULL on failure, to leave after it has closed the backend, shortly before the process
     * ends: the connection stays until then. Errors of device_comm_init. Both are NULL for the
     * host. */
    enum status (*meet)(struct device_comm **devices, struct comm *all, int device,
                        struct error *error);
    void (*leave)(struct device_comm *devices);

    /* The operations on what `open` has made. */
    const struct backend_ops *ops;

    /* Measures the machine with tables of its own, as long as the modes of this shape.
     * STATUS_MEMORY. */
    enum status (*rates)(const struct shape *shape, const struct backend_options *options,
                         struct backend_rates *rates, struct error *error);

    /* *count = how many devices there are. NULL for the host. */
    enum status (*devices)(int *count, struct error *error);

    /* *device = the names of the device of this number. NULL for the host. */
    enum status (*device)(int number, struct backend_device *device, struct error *error);
};

/* Implemented in backend_host.c, and in backend_cuda.c or, in a build without CUDA, in
 * backend_cuda_absent.c. */
extern const struct backend_kind backend_host;
extern const struct backend_kind backend_cuda;

/* The names that backend_choose takes. */
extern const struct word backend_words[];

/* *kind = the kind of this name: "host", "cuda", or "auto", which is cuda where it is available,
 * else host. If "auto" gives the host, *why_not says why; why_not may be NULL. STATUS_INPUT if the
 * name is unknown or the kind cannot run here; *kind is then NULL. */
enum status backend_choose(const struct backend_kind **kind, const char *name,
                           struct error *why_not, struct error *error);

/* Seconds of all stages of building. */
double backend_build_seconds(const struct backend_seconds *seconds);

/* Refuses a tensor whose norm cannot measure a fit. norm_sq is ||X||^2. STATUS_NUMERICAL if it is
 * not finite, STATUS_INPUT if it is 0 or denormal. backend_open.c calls this before `open` for
 * nonzeros in memory, which it has scaled (value_scale.h), with NULL for `file`; `open` calls it
 * for nonzeros in the .blco file `file`. */
enum status backend_check_norm(double norm_sq, const char *file, struct error *error);

/* A device that a thread makes ready while the caller reads a tensor. Zeroed where nothing has
 * begun. The struct must not move between begin and end. */
struct backend_wake {
    const struct backend_kind *kind;
    int device;
    bool running;         /* the thread has not been joined       */
    atomic_bool unwanted; /* the device is not needed any more    */
    struct error error;   /* the thread's, until it is joined     */
    pthread_t thread;
};

/* Starts a thread that makes the device ready; for the host backend, does nothing. The caller calls
 * backend_wake_end. */
void backend_wake_begin(struct backend_wake *w, const struct backend_kind *kind, int device);

/* Waits until the device is ready; a second call returns the same. STATUS_OK for a zeroed *w.
 * Errors of `wake` in struct backend_kind. */
enum status backend_wake_wait(struct backend_wake *w, struct error *error);

/* Ends the thread after the step in which it is. Accepts a zeroed *w, and one that has been waited
 * for. */
void backend_wake_end(struct backend_wake *w);

/* Makes the device ready and waits for it; for the host backend, does nothing. Errors of `wake` in
 * struct backend_kind. */
enum status backend_wake_now(const struct backend_kind *kind, int device, struct error *error);
