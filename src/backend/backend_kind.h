/* A kind of backend: what it does without a tensor, how it is opened, and the operations of an open
 * one. Callers use backend.h; backend.c alone calls the operations. */
#ifndef BLCO_BACKEND_KIND_H
#define BLCO_BACKEND_KIND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "backend/backend_fit.h"
#include "ranks/rank_rows.h"
#include "backend/backend_residual.h"
#include "base/error.h"
#include "numerics/momentum_step.h"
#include "numerics/precision.h"
#include "base/progress.h"
#include "model/arrangement.h"
#include "model/carried.h"
#include "model/ktensor.h"
#include "problem/problem.h"
#include "plan/plan.h"
#include "tensor/coo.h"

#define BACKEND_STAMPS 128 /* numbers of stamps, see struct backend_ops */

struct blco_file;

/* What a backend is opened with: what the user asks for, and what the machine may spend on that.
 * Zero is the default of every field but the rank. */
struct backend_options {
    struct problem problem;
    enum conflict conflict;
    bool no_sharing;      /* no partial products shared between modes (mode_groups.h)          */
    uint64_t iterations;  /* of ALS, at most; 0: not known. More of them pay for orderings that
                           * take longer to build                                              */
    int device;           /* the number of the device to work on, where the kind has several   */
    uint64_t memory;      /* bytes of device memory that may be used; 0: 15/16 of what is free */
    uint64_t host_memory; /* bytes of host memory that may be used; 0: MACHINE_MEMORY_SHARE of
                           * what is available                                                 */
    bool spends;     /* the nonzeros that the backend is opened from are not needed afterwards */
    uint64_t models; /* models that the caller keeps in host memory beside the backend         */
};

/* How fast the machine moves rows of R entries, measured. */
struct backend_rates {
    double copy_bytes_per_second;   /* within its memory; bytes read and bytes written both count */
    double upload_bytes_per_second; /* from pinned host memory; 0: the host is the machine        */
    double
        gather_bytes_per_second[MAX_ORDER];   /* reading random rows of a table as long as mode n */
    double atomic_rows_per_second[MAX_ORDER]; /* adding atomically to random rows of that table   */
};

/* What was built, and in what time. */
struct backend_built {
    struct plan plan;          /* the plan that was followed: the one given to open, or a smaller
                                * one where the device turned out to have less room            */
    struct mode_groups groups; /* whose modes share partial products */
    uint64_t nnz;              /* the nonzeros that are here         */
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
 * otherwise they are in the file, and x has only their number and the shape. Both are borrowed. Of
 * several ranks, x is this rank's part. */
struct tensor_source {
    const struct coo *x;
    struct coo *spent; /* NULL, or x, whose arrays opening may take or free (blco.h)             */
    const struct blco_file *file;
    const char *file_name; /* of the file, for messages; not owned                              */
    bool parts; /* the file has the nonzeros of all ranks; x has about the number of this rank's
                 * nonzeros and the shape of its ranges; opening divides the rows
                 * (rank_rows_divide_mode)                                                 */
    struct rank_rows *ranks; /* outlives the backend                                       */
    double norm_sq;          /* ||X||^2; 0 with a file, whose norm only opening it tells */
};

/* Entries that count as zeros: an entry x of unit column r of mode n where bound[n] is not NULL and
 * x lambda[r] <= bound[n][r] (nonneg_zeros.h). In the backend's order. */
struct backend_zeros {
    const double *lambda;           /* (R) */
    const double *bound[MAX_ORDER]; /* (R) */
};

/* The operations on the `state` that open has made. The functions that return a status fill *error;
 * backend.h says what each operation does, at the function that calls it. */
struct backend_ops {
    enum status (*load)(void *state, const struct ktensor *k, const struct carried *carried,
                        struct error *error); /* carried: NULL, or as backend_resume has it */
    enum status (*randomise)(void *state, enum ktensor_init init, uint64_t seed, double weight,
                             struct error *error); /* every component gets this weight */
    bool makes_normal; /* `randomise` makes KTENSOR_NORMAL, too, with the host's bits */
    enum status (*mttkrp)(void *state, int mode, struct error *error);
    enum status (*update)(void *state, int mode, struct error *error);
    enum status (*fit)(void *state, int mode, struct backend_fit *fit, struct error *error);
    enum status (*residual)(void *state, struct backend_residual *r, struct error *error);
    enum status (*extrapolate)(void *state, const struct momentum_step *step, struct error *error);
    void (*trade)(void *state);
    enum status (*gram)(void *state, int mode, double *gram, struct error *error);
    enum status (*weights)(void *state, double *lambda, struct error *error);
    enum status (*store)(void *state, struct ktensor *k, struct carried *carried,
                         struct error *error); /* carried: NULL, or as backend_save has it  */
    enum status (*fetch)(void *state, int mode, double *m, struct error *error);
    enum status (*rotate)(void *state, int mode, struct error *error);
    void (*built)(void *state, struct backend_built *built);
    void (*close)(void *state);

    /* Entries of factor matrices have this precision from now on; of a backend of `single_first`
     * only. Where `keep`, the factor matrices that are there are widened; otherwise others are
     * about to be loaded. No M is there any more. */
    enum status (*set_precision)(void *state, enum precision precision, bool keep,
                                 struct error *error);

    /* NULL where an operation is done when its call returns. Otherwise operations are queued: stamp
     * puts stamp `number`, from 0 to BACKEND_STAMPS - 1, at the end of the queue; elapsed waits
     * until the queue has passed stamp `to` and gives the seconds since it passed stamp `from`. */
    enum status (*stamp)(void *state, int number, struct error *error);
    enum status (*elapsed)(void *state, int from, int to, double *seconds, struct error *error);

    /* The two steps of backend_store_arranged, both NULL where the host arranges what `store` has
     * given. columns: column (R) = what the rows of `mode` that this rank solves tell of the unit
     * columns, in the backend's order. store_arranged: the factor matrices into k in the form that
     * *a says. What is M may be lost. */
    enum status (*columns)(void *state, int mode, const struct backend_zeros *zeros,
                           struct column *column, struct error *error);
    enum status (*store_arranged)(void *state, struct ktensor *k, const struct backend_zeros *zeros,
                                  const struct arrangement *a, struct error *error);

    /* NULL where `extrapolate` does all. Otherwise `fit` decides on the next sweep as momentum_next
     * does, on the device, and prepares it; `extrapolate` only takes that. */
    enum status (*accelerate)(void *state, const struct momentum *m, struct error *error);

    /* describe is NULL where a mode is computed in one way only, bus_bytes where there is no bus.
     */
    bool (*describe)(void *state, int mode, char *text, size_t size);
    uint64_t (*bus_bytes)(void *state, int mode);
};

/* A kind of backend. Functions that return a status fill *error. Of an absent kind `available`
 * alone is there; it refuses. */
struct backend_kind {
    const char *name;

    /* STATUS_OK where this kind can run on this machine, as far as is known before a device is
     * used; otherwise STATUS_INPUT and the reason. */
    enum status (*available)(struct error *error);

    /* Does what the first use of the device would wait for. Any thread may call it, also while
     * other threads do; the device is the calling thread's own afterwards. Where *unwanted becomes
     * true, it returns before its next step. NULL where the host is the machine. STATUS_INPUT and
     * the reason where the device does not answer. */
    enum status (*wake)(int device, const atomic_bool *unwanted, struct error *error);

    bool takes_parts; /* `open` takes a rank's part of the tensor from a .blco file             */

    /* *request = what the user wants of this tensor and what the machine has; nothing is forced.
     * STATUS_INPUT where the kind cannot do what the user wants. */
    enum status (*request)(struct plan_request *request, const struct plan_tensor *tensor,
                           const struct backend_options *options, struct error *error);

    /* Builds the orderings of the plan. The source is only read and may be freed afterwards; it is
     * a file only where plan_takes_packed. The caller closes *state, which is NULL on failure.
     * STATUS_MEMORY; STATUS_INPUT where the file is damaged; with a file, as backend_check_norm. */
    enum status (*open)(void **state, const struct tensor_source *source, const struct plan *plan,
                        const struct backend_options *options, struct progress *progress,
                        struct error *error);

    /* The devices of the ranks of `all` begin to meet, while the ranks do other things: *devices,
     * for struct rank_rows. Every rank calls it, with the number of its device. The caller
     * calls leave with *devices, which is NULL on failure, behind the backend, and shortly before
     * the process ends: what the devices met by stays until then. Errors of device_comm_init. Both
     * are NULL where the host is the machine. */
    enum status (*meet)(struct device_comm **devices, struct comm *all, int device,
                        struct error *error);
    void (*leave)(struct device_comm *devices);

    /* The operations on what `open` has made. */
    const struct backend_ops *ops;

    /* Measures the machine with tables of its own, as long as the modes of this shape.
     * STATUS_MEMORY. */
    enum status (*rates)(const struct shape *shape, const struct backend_options *options,
                         struct backend_rates *rates, struct error *error);

    /* *count = how many devices there are. NULL where the host is the machine. */
    enum status (*devices)(int *count, struct error *error);

    /* *device = the names of the device of this number. NULL where the host is the machine. */
    enum status (*device)(int number, struct backend_device *device, struct error *error);
};

/* Implemented in backend_host.c, and in backend_cuda.c or, in a build without CUDA, in
 * backend_cuda_absent.c. */
extern const struct backend_kind backend_host;
extern const struct backend_kind backend_cuda;

/* *kind = the kind of this name: "host", "cuda", or "auto", which is cuda where it is available,
 * else host. Where "auto" gives the host, *why_not says why; why_not may be NULL. STATUS_INPUT
 * where the name is unknown or the kind cannot run here; *kind is NULL then. */
enum status backend_choose(const struct backend_kind **kind, const char *name,
                           struct error *why_not, struct error *error);

/* Seconds of all stages of building. */
double backend_build_seconds(const struct backend_seconds *seconds);

/* Refuses a tensor whose norm a fit cannot be relative to. norm_sq is ||X||^2. STATUS_NUMERICAL
 * where it is not finite, STATUS_INPUT where it is 0 or denormal. backend.c calls this before
 * `open` where the nonzeros are in memory, with NULL for `file`, and has scaled them before
 * (value_scale.h); `open` calls this where the nonzeros are in the .blco file `file`. */
enum status backend_check_norm(double norm_sq, const char *file, struct error *error);

#endif
