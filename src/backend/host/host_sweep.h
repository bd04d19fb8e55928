/* The MTTKRPs of a sweep over all modes on the host. sweep_steps.h decides which ordering serves a
 * mode: that of its mode group, whose modes share partial products, its own, or alto.
 *
 * Without mode groups, every mode is a group of its own and the reduced tensor is the tensor. */
#pragma once

#include "backend/backend_kind.h"
#include "backend/host/host_mttkrp.h"
#include "plan/sweep_steps.h"
#include "tensor/blco.h"

struct host_sweep {
    struct shape shape; /* of the tensor                          */
    uint64_t row_bytes; /* room for a row of a factor, at its most */
    bool narrow;        /* whether orderings may be (host_slices.h) */
    struct sweep sweep;

    /* The reduced tensor; [g] belongs to group g. An ordering that was not built is empty; the
     * tables of a group of one mode are NULL. */
    struct blco alto;
    struct host_slices ordered[MAX_ORDER];
    struct host_mttkrp reduced[MAX_ORDER];
    uint64_t tuples[MAX_ORDER]; /* number of tuples, or the length of the group's one mode */
    void *product[MAX_ORDER];   /* (tuples x R): products of the group's factors' rows; owned */
    void *partial[MAX_ORDER];   /* (tuples x R): the group's partial products; owned */

    /* The tuples of groups of several modes; [n] belongs to mode n. */
    struct host_slices tuple_tensor[MAX_ORDER];
    struct host_mttkrp within[MAX_ORDER];
    uint32_t *coordinate[MAX_ORDER]; /* (tuples): the tuples' coordinates in mode n; owned */

    void *scratch;                  /* (the most scratch rows that an MTTKRP needs x R); owned */
    struct backend_seconds seconds; /* of the stages of building */
};

/* Builds the orderings of the plan, or those of mode groups where the plan allows these and they
 * pay; nothing where there are no nonzeros. `progress` may be NULL. The caller closes *s, which is
 * empty on failure. STATUS_MEMORY; where rows are dealt, failures of other ranks. */
enum status host_sweep_open(struct host_sweep *s, const struct tensor_source *source,
                            const struct plan *plan, struct progress *progress,
                            struct error *error);

/* Accepts an empty *s. */
void host_sweep_close(struct host_sweep *s);

/* m (I_mode x R) of `mode`, from factors->of[n] (I_n x R) for the other modes n; their precision is
 * the plan's or lower. The tensor has nonzeros. */
void host_sweep_mttkrp(struct host_sweep *s, int mode, const struct host_rows *factors, void *m);
