/* The seam between the ALS loop and the machine: an open backend and its operations. The backend
 * owns every array (orderings of the tensor, factor matrices, Grams, M); the loop speaks of modes
 * only, which count from zero. Every operation goes through backend.c, where time is taken, and
 * nowhere else. */
#ifndef BLCO_BACKEND_H
#define BLCO_BACKEND_H

#include "backend/backend_kind.h"

struct tensor_input;

enum operation { OP_OPEN, OP_LOAD, OP_MTTKRP, OP_UPDATE, OP_FIT, OP_STORE, OP_COUNT };

/* An open backend. */
struct backend {
    const struct backend_kind *kind;
    void *state;
    struct plan plan; /* that was made; backend_built tells which one was followed */
    int order;
    double seconds[OP_COUNT][MAX_ORDER]; /* operations that know no mode use [0] */
    uint64_t calls[OP_COUNT][MAX_ORDER];
    int stamps; /* taken since they were last read, beside number 0 */
    struct {
        enum operation op;
        int mode;
    } stamped[BACKEND_STAMPS]; /* what lies between stamp i - 1 and stamp i */
};

const char *operation_name(enum operation op);

/* Whether the operation is done for a mode. */
bool operation_has_modes(enum operation op);

/* A tensor as a plan sees it: of an open .blco file, of an input whose nonzeros are read or not. */
struct plan_tensor backend_tensor_of_file(const struct blco_file *file);
struct plan_tensor backend_tensor_of_input(const struct tensor_input *input);

/* The plan that opening this tensor would follow, without building anything. Where the nonzeros of
 * a file would have to be unpacked and the host has no room for that, the plan that streams them.
 * `forced` may be NULL. A plan that does not fit is no error. */
enum status backend_plan(struct plan *plan, const struct backend_kind *kind,
                         const struct plan_tensor *tensor, const struct backend_options *options,
                         const struct plan_forced *forced, struct error *error);

/* Plans and builds from the nonzeros of x. On failure *b is closed. STATUS_MEMORY where nothing
 * fits; which rank would is said then. `forced` may be NULL. */
enum status backend_open(struct backend *b, const struct backend_kind *kind, const struct coo *x,
                         const struct backend_options *options, const struct plan_forced *forced,
                         struct progress *progress, struct error *error);

/* The same in two steps. The first plans and reads the input's nonzeros, unless they are in a file
 * from which the second builds as it is; what fits nowhere is refused before the long read. The
 * second builds. On failure of either *b is closed. */
enum status backend_prepare(struct backend *b, const struct backend_kind *kind,
                            struct tensor_input *input, const struct backend_options *options,
                            const struct plan_forced *forced, struct progress *progress,
                            struct error *error);
enum status backend_open_prepared(struct backend *b, const struct tensor_input *input,
                                  const struct backend_options *options, struct progress *progress,
                                  struct error *error);

/* Takes the model in: its factors, which must have the backend's shape and rank, and lambda. The
 * model is [lambda; A_1, ..., A_N] then, and backend_store gives it back as it is. */
enum status backend_load(struct backend *b, const struct ktensor *k, struct error *error);

/* M (I_n x R) = X_(n) (A_N kr ... A_n+1 kr A_n-1 ... kr A_1). */
enum status backend_mttkrp(struct backend *b, int mode, struct error *error);

/* From the M of this mode: A_n = M V^+, where V is the Hadamard product of the other modes' Grams,
 * plus ridge on its diagonal; lambda_r = ||A_n(:,r)||; A_n's columns to unit norm; G_n = A_n' A_n.
 * One operation, since every backend does these together, in the order that suits it best.
 * STATUS_NUMERICAL where an entry is not finite, STATUS_INTERNAL where the last MTTKRP was that of
 * another mode. */
enum status backend_update(struct backend *b, int mode, struct error *error);

/* *fit = 1 - ||X - model|| / ||X||, from the M of `mode`, the last one updated. */
enum status backend_fit(struct backend *b, int mode, double *fit, struct error *error);

/* Gives the model out: lambda and the factors, into k, which has the backend's shape and rank. */
enum status backend_store(struct backend *b, struct ktensor *k, struct error *error);

/* The last M, that of `mode`, into m (I_n x R), for tests and benchmarks. Not timed. */
enum status backend_fetch(struct backend *b, int mode, double *m, struct error *error);

/* Names the way in which MTTKRP computes this mode ("fiber, chunks of 2048") into text[0..size);
 * empty where there is only one. False while ways are still being tried. */
bool backend_describe(struct backend *b, int mode, char *text, size_t size);

/* Bytes of the tensor that one MTTKRP of this mode takes from the host; 0 where it is on the
 * device. */
uint64_t backend_bus_bytes(struct backend *b, int mode);

/* What was built so far; orderings of a streamed tensor may be built later. */
void backend_built(struct backend *b, struct backend_built *built);

/* Seconds of each of `count` (below BACKEND_STAMPS) MTTKRPs of `mode` that follow each other, into
 * seconds[0..count). Where the backend works on after its calls have returned, the next one is
 * queued before the present one is done. They are not booked as operations. */
enum status backend_time_mttkrp(struct backend *b, int mode, uint64_t count, double *seconds,
                                struct error *error);

/* Sets the booked seconds and calls of all operations to zero. */
void backend_restart_clock(struct backend *b);

/* Accepts a closed or zeroed one. */
void backend_close(struct backend *b);

#endif
