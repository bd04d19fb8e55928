/* A kind of backend: what it does without a tensor, how it is opened, and the operations that an
 * open one implements. Callers use backend.h; backend.c alone calls the operations. */
#ifndef BLCO_BACKEND_KIND_H
#define BLCO_BACKEND_KIND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "kernels/shared/precision.h"
#include "base/progress.h"
#include "model/ktensor.h"
#include "plan/plan.h"
#include "tensor/coo.h"

#define BACKEND_STAMPS 128

struct blco_file;

/* The user's choices. Zero is the default everywhere but for the rank. */
struct backend_options {
    uint64_t rank;
    enum conflict conflict;
    enum precision precision;
    bool no_sharing;      /* every mode's MTTKRP by itself (mode_groups.h)                     */
    double ridge;         /* added to the diagonal of V                                        */
    uint64_t iterations;  /* at most: what takes long to build is built where they pay for it;
                           * 0: not known                                                      */
    int device;           /* the number of the device to work on, where the kind has several   */
    uint64_t memory;      /* bytes of device memory that may be used; 0: what is free          */
    uint64_t host_memory; /* bytes of host memory that may be used; 0: what is available       */
};

/* How fast the machine moves rows of R entries, measured. */
struct backend_rates {
    double copy_bytes_per_second;   /* within its memory, read and written bytes both counted  */
    double upload_bytes_per_second; /* from the host's pinned memory; 0: there is nothing to move */
    double
        gather_bytes_per_second[MAX_ORDER];   /* reading random rows of a table as long as mode n */
    double atomic_rows_per_second[MAX_ORDER]; /* adding to random rows of such a table atomically */
};

/* What was built, and how. */
struct backend_built {
    struct plan plan;          /* that was followed: the one that open was given, or a smaller one
                                * where the device turned out to have less room                    */
    struct mode_groups groups; /* of modes that share partial products */
    struct backend_seconds { /* of the stages; 0 where there was none                            */
        double upload, presort, alto;
        double replica[MAX_ORDER]; /* per mode, or per group of modes that share partial products */
        double grouping;           /* finding these groups, and building what lies within them    */
    } seconds;
};

struct backend_device {
    char name[256];
    char driver[64];  /* its version                                  */
    char runtime[64]; /* version of the runtime library               */
};

/* What a backend is opened from: the nonzeros are in the arrays of x, or, where a .blco file is
 * given, in the file; x then has shape and number of nonzeros only. */
struct tensor_source {
    const struct coo *x;
    const struct blco_file *file;
    double norm_sq; /* ||X||^2; of a file not known before it is opened */
};

/* The operations on what `open` has made. Every function but built, close, describe and bus_bytes
 * returns a status and fills *error; backend.h says at its caller what each does. */
struct backend_ops {
    enum status (*load)(void *state, const struct ktensor *k, struct error *error);
    enum status (*mttkrp)(void *state, int mode, struct error *error);
    enum status (*update)(void *state, int mode, struct error *error);
    enum status (*fit)(void *state, int mode, double *fit, struct error *error);
    enum status (*store)(void *state, struct ktensor *k, struct error *error);
    enum status (*fetch)(void *state, int mode, double *m, struct error *error);
    void (*built)(void *state, struct backend_built *built);
    void (*close)(void *state);

    /* Only where operations go on after their calls have returned, otherwise NULL: marks the
     * present end of the queue under a number in [0, BACKEND_STAMPS), and tells the seconds between
     * the moments at which the queue passed two marks (it waits for the later one). */
    enum status (*stamp)(void *state, int number, struct error *error);
    enum status (*elapsed)(void *state, int from, int to, double *seconds, struct error *error);

    /* NULL where there is one way to compute a mode, and where nothing ever comes over a bus. */
    bool (*describe)(void *state, int mode, char *text, size_t size);
    uint64_t (*bus_bytes)(void *state, int mode);
};

/* A kind of backend. Functions that return a status fill *error. */
struct backend_kind {
    const char *name;

    /* STATUS_OK where this kind can run on this machine; otherwise why not. */
    enum status (*available)(struct error *error);

    /* Fills *request for this tensor: what the user wants and what the machine has; nothing is
     * forced. STATUS_INPUT where the kind cannot do what the user wants. */
    enum status (*request)(struct plan_request *request, const struct plan_tensor *tensor,
                           const struct backend_options *options, struct error *error);

    /* Builds the orderings that the plan asks for. The source is only read and may be freed
     * afterwards; it is a file only where plan_takes_packed. *state is the caller's to close; NULL
     * on failure. */
    enum status (*open)(void **state, const struct tensor_source *source, const struct plan *plan,
                        const struct backend_options *options, struct progress *progress,
                        struct error *error);

    /* The operations on what `open` has made. */
    const struct backend_ops *ops;

    /* Measures the machine for factors of this shape. Takes memory of its own. */
    enum status (*rates)(const struct shape *shape, const struct backend_options *options,
                         struct backend_rates *rates, struct error *error);

    /* Names a device by its number. NULL where the host's processors are the machine. */
    enum status (*device)(int number, struct backend_device *device, struct error *error);
};

extern const struct backend_kind backend_host;
extern const struct backend_kind backend_cuda;

/* The kind of this name: "host", "cuda", or "auto" for the GPU where one answers, else the host.
 * For "auto" without a GPU `why_not` (may be NULL) receives the reason. STATUS_INPUT. */
enum status backend_choose(const struct backend_kind **kind, const char *name,
                           struct error *why_not, struct error *error);

/* Seconds of all stages of building. */
double backend_build_seconds(const struct backend_seconds *seconds);

/* A fit is relative to the norm of the tensor, which therefore must be a positive number. For
 * `open` from a file; that of nonzeros in memory is checked before. STATUS_NUMERICAL, STATUS_INPUT.
 */
enum status backend_check_norm(double norm_sq, struct error *error);

#endif
