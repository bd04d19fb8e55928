/* The MTTKRPs of a sweep over all modes on the host: from one ordering per group of modes, with
 * partial products shared within a group (mode_groups.h), or from one ordering per mode, or from
 * alto.
 */
#ifndef BLCO_HOST_SWEEP_H
#define BLCO_HOST_SWEEP_H

#include "backend/backend.h"
#include "backend/host/host_mttkrp.h"
#include "plan/partial_cache.h"
#include "tensor/blco.h"

struct host_sweep {
    struct shape shape;
    uint64_t rank;
    struct mode_groups mode_groups;

    /* The reduced tensor, per group; `ordered` is empty where not built. */
    struct blco alto, ordered[MAX_ORDER];
    struct host_mttkrp outer[MAX_ORDER];
    uint64_t tuples[MAX_ORDER];  /* the group's, or the length of its one mode                  */
    double *product[MAX_ORDER];  /* (tuples x R): products of the group's factors; owned        */
    double *partial[MAX_ORDER];  /* (tuples x R): partial products for the group; owned         */
    struct partial_cache tables; /* which of them are current                                */

    /* The tuples of groups of several modes, per mode. */
    struct blco tuple_tensor[MAX_ORDER];
    struct host_mttkrp inner[MAX_ORDER];
    uint32_t *coordinate[MAX_ORDER]; /* (tuples); owned */

    double *scratch;            /* (scratch rows of the MTTKRP that needs most x R); owned */
    struct backend_build build; /* seconds of its stages */
};

/* Builds what the plan asks for; *plan says then which modes are grouped. x is only read. On
 * failure *s is empty. */
enum status host_sweep_open(struct host_sweep *s, const struct coo *x, struct plan *plan,
                            struct progress *progress, struct error *error);

/* Accepts an empty one. */
void host_sweep_close(struct host_sweep *s);

/* m (I_mode x R) of `mode`, from factor[n] (I_n x R) for the other modes n. */
void host_sweep_mttkrp(struct host_sweep *s, int mode, double *const *factor, double *m);

/* To be said whenever the factor of `mode` has changed. */
void host_sweep_changed(struct host_sweep *s, int mode);

#endif
