/* The seam between the ALS loop and the machine. The backend owns every array (tensor orderings,
 * factors, Grams, M); the loop speaks of modes only. Time per operation is taken in backend.c and
 * nowhere else. */
#ifndef BLCO_BACKEND_H
#define BLCO_BACKEND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/progress.h"
#include "model/ktensor.h"
#include "plan/plan.h"
#include "tensor/coo.h"

enum precision { PRECISION_DOUBLE, PRECISION_SINGLE };

struct backend_options {
    uint64_t rank;
    enum conflict conflict;
    enum precision precision;
    bool no_sharing;       /* every mode's MTTKRP by itself (mode_groups.h)        */
    double ridge;          /* added to the diagonal of V                        */
    uint64_t memory;       /* device bytes that may be used; 0: what is free    */
    uint64_t host_memory;  /* host bytes that may be used; 0: what is available */
    bool no_replicas;      /* CONFLICT_AUTO: one copy of the tensor, in alto order */
    bool replicas_at_once; /* of a streamed tensor, without asking whether they pay */
    uint64_t
        iterations;   /* at most; what takes time to build is built where that pays; 0: not known */
    bool must_stream; /* the host has no room for the tensor's coordinates */
    uint64_t batch_nnz;  /* of a streamed tensor, that flow at a time; 0: as many as pay */
    uint64_t alto_bytes; /* of a .blco file that could be streamed; 0: not known         */
};

/* How fast the machine moves rows of R entries, measured. */
struct backend_limits {
    double copy_bytes_per_second;   /* within its memory, read and written bytes both counted  */
    double upload_bytes_per_second; /* from the host's pinned memory; 0: there is nothing to move */
    double
        gather_bytes_per_second[MAX_ORDER];   /* reading random rows of a table as long as mode n */
    double atomic_rows_per_second[MAX_ORDER]; /* adding to random rows of such a table atomically */
};

/* Seconds that the stages of open took; 0 where there was none. */
struct backend_build {
    double upload, presort, alto;
    double replica[MAX_ORDER]; /* per mode, or per group of modes that share partial products */
    double mode_groups;        /* finding these groups, and building what lies within them    */
};

struct backend_device {
    char name[256];
    char driver[64];  /* its version                                  */
    char runtime[64]; /* version of the runtime library               */
};

struct blco_file;
struct tensor_input;

/* A tensor to be opened: its nonzeros are in the arrays of x, or, where a .blco file is given, in
 * the file; x then has order, lengths and number of nonzeros only. */
struct tensor_source {
    const struct coo *x;
    const struct blco_file *file;
    double norm_sq; /* ||X||^2; of a file not known before it is opened */
};

/* One implementation. Every function but close returns a status and fills *error. Modes are
 * zero-based. V below is the Hadamard product of the other modes' Grams, plus ridge on its
 * diagonal. */
struct backend_ops {
    const char *name;

    /* STATUS_OK where this backend can run on this machine; otherwise why not. */
    enum status (*available)(struct error *error);

    /* The plan that `open` would follow for a tensor of this shape, without building anything. */
    enum status (*plan)(int order, const uint64_t *dims, uint64_t nnz,
                        const struct backend_options *options, struct plan *plan,
                        struct error *error);

    /* Builds the orderings that the plan asks for. The source is only read and may be freed
     * afterwards; it is a file only where plan_takes_packed. *state is the caller's to
     * close; NULL on failure. */
    enum status (*open)(void **state, const struct tensor_source *source, struct plan *plan,
                        const struct backend_options *options, struct progress *progress,
                        struct error *error);

    enum status (*load)(void *state, const struct ktensor *k,
                        struct error *error); /* factors in; all Grams    */
    enum status (*mttkrp)(void *state, int mode,
                          struct error *error);                       /* M (I_n x R) = X_(n) (kr) */
    enum status (*solve)(void *state, int mode, struct error *error); /* A_n = M V^+              */
    enum status (*normalise)(
        void *state, int mode,
        struct error *error); /* lambda_r = ||A_n(:,r)||, A_n's columns to unit norm */
    enum status (*gram)(void *state, int mode, struct error *error); /* G_n = A_n' A_n           */
    enum status (*fit)(void *state, int mode, double *fit,
                       struct error *error); /* 1 - ||X - model|| / ||X||, from the M of `mode`, the
                                                last one updated */
    enum status (*store)(void *state, struct ktensor *k,
                         struct error *error); /* lambda and factors out   */
    enum status (*fetch)(void *state, int mode, double *m,
                         struct error *error); /* the last M (I_n x R), for tests and benchmarks */
    void (*close)(void *state);

    /* Only where operations go on after their calls have returned, otherwise NULL: marks the
     * present end of the queue under a number in [0, BACKEND_STAMPS), and tells the seconds between
     * the moments at which the queue passed two marks (it waits for the later one). */
    enum status (*stamp)(void *state, int number, struct error *error);
    enum status (*elapsed)(void *state, int from, int to, double *seconds, struct error *error);

    /* How the stages of open went. */
    void (*build)(void *state, struct backend_build *build);

    /* Optional, as all below. Names the way in which mttkrp computes this mode ("fiber, chunks of
     * 2048"), into text[0..size); false while ways are still being tried. */
    bool (*describe)(void *state, int mode, char *text, size_t size);

    /* Bytes of the tensor that one mttkrp of this mode takes from the host; 0 where it is on the
     * device. */
    uint64_t (*bus_bytes)(void *state, int mode);

    /* Measures the machine for factors of these lengths. Needs no state, and memory of its own. */
    enum status (*limits)(int order, const uint64_t *dims, const struct backend_options *options,
                          struct backend_limits *limits, struct error *error);

    /* Where it runs, if not on the host's processors. */
    enum status (*device)(struct backend_device *device, struct error *error);
};

#define BACKEND_STAMPS 128

extern const struct backend_ops backend_host;
extern const struct backend_ops backend_cuda;

enum operation {
    OP_OPEN,
    OP_LOAD,
    OP_MTTKRP,
    OP_SOLVE,
    OP_NORMALISE,
    OP_GRAM,
    OP_FIT,
    OP_STORE,
    OP_COUNT
};

struct backend {
    const struct backend_ops *ops;
    void *state;
    struct plan plan;
    int order;
    double seconds[OP_COUNT][MAX_ORDER]; /* operations that know no mode use [0] */
    uint64_t calls[OP_COUNT][MAX_ORDER];
    int stamps; /* taken since they were last read, beside number 0 */
    struct {
        enum operation op;
        int mode;
    } stamped[BACKEND_STAMPS]; /* what lies between stamp i - 1 and stamp i */
};

/* Seconds of all stages. */
double backend_build_seconds(const struct backend_build *build);

const char *operation_name(enum operation op);

/* The backend of this name: "host", "cuda", or "auto" for the GPU where one answers, else the host.
 * For "auto" without a GPU `why_not` (may be NULL) receives the reason. */
enum status backend_choose(const struct backend_ops **ops, const char *name, struct error *why_not,
                           struct error *error);

/* Plans and builds from the nonzeros of x. On failure *b is closed. STATUS_MEMORY where nothing
 * fits; which rank would is said then. */
enum status backend_open(struct backend *b, const struct backend_ops *ops, const struct coo *x,
                         const struct backend_options *options, struct progress *progress,
                         struct error *error);

/* The same in two steps. The first plans and reads the input's nonzeros, unless they are in a file
 * from which the second builds as it is; it is refused what fits nowhere before the long read. The
 * second builds. On failure of either *b is closed. */
enum status backend_prepare(struct backend *b, const struct backend_ops *ops,
                            struct tensor_input *input, const struct backend_options *options,
                            struct progress *progress, struct error *error);
enum status backend_open_prepared(struct backend *b, const struct tensor_input *input,
                                  const struct backend_options *options, struct progress *progress,
                                  struct error *error);

/* A fit is relative to the norm of the tensor, which therefore must be a positive number. For
 * `open` from a file; that of nonzeros in memory is checked before. */
enum status backend_check_norm(double norm_sq, struct error *error);

enum status backend_load(struct backend *b, const struct ktensor *k, struct error *error);
enum status backend_mttkrp(struct backend *b, int mode, struct error *error);
enum status backend_solve(struct backend *b, int mode, struct error *error);
enum status backend_normalise(struct backend *b, int mode, struct error *error);
enum status backend_gram(struct backend *b, int mode, struct error *error);
enum status backend_fit(struct backend *b, int mode, double *fit, struct error *error);
enum status backend_store(struct backend *b, struct ktensor *k, struct error *error);

/* Accepts a closed or zeroed one. */
void backend_close(struct backend *b);

#endif
