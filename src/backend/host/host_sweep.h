/* The MTTKRPs of a sweep over all modes on the host, as sweep_steps.h decides them: from one
 * ordering per group of modes, with partial products shared within a group, or from one ordering
 * per mode, or from alto. */
#ifndef BLCO_HOST_SWEEP_H
#define BLCO_HOST_SWEEP_H

#include "backend/backend_kind.h"
#include "backend/host/host_mttkrp.h"
#include "plan/sweep_steps.h"
#include "tensor/blco.h"

struct host_sweep {
    struct shape shape; /* of the tensor that is here */
    uint64_t rank;
    struct sweep sweep;

    /* The reduced tensor, per group; an ordering that was not built is empty. */
    struct blco alto, ordered[MAX_ORDER];
    struct host_mttkrp reduced[MAX_ORDER];
    uint64_t tuples[MAX_ORDER]; /* the group's, or the length of its one mode           */
    double *product[MAX_ORDER]; /* (tuples x R): products of the group's factors; owned */
    double *partial[MAX_ORDER]; /* (tuples x R): partial products for the group; owned  */

    /* The tuples of groups of several modes, per mode. */
    struct blco tuple_tensor[MAX_ORDER];
    struct host_mttkrp within[MAX_ORDER];
    uint32_t *coordinate[MAX_ORDER]; /* (tuples); owned */

    double *scratch; /* (scratch rows of the MTTKRP that needs most x R); owned */
    struct backend_seconds seconds;
};

/* Builds what the plan asks for; x is only read. On failure *s is empty. STATUS_MEMORY. */
enum status host_sweep_open(struct host_sweep *s, const struct coo *x, const struct plan *plan,
                            struct progress *progress, struct error *error);

/* Accepts an empty one. */
void host_sweep_close(struct host_sweep *s);

/* m (I_mode x R) of `mode`, from factor[n] (I_n x R) for the other modes n. */
void host_sweep_mttkrp(struct host_sweep *s, int mode, double *const *factor, double *m);

/* The factor of `mode` has changed. */
void host_sweep_changed(struct host_sweep *s, int mode);

#endif
