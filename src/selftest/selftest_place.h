/* Where a check runs: on a backend alone, or on ranks that work together. */
#ifndef BLCO_SELFTEST_PLACE_H
#define BLCO_SELFTEST_PLACE_H

#include "als/decompose.h"

struct selftest_place {
    const struct backend_kind *kind; /* NULL: the check needs no backend                        */
    int device;                      /* this rank's                                             */
    uint64_t host_memory;            /* of this rank, as in struct backend_options              */
    struct comm *comm;               /* of the ranks; NULL without a backend; borrowed          */
    struct device_comm *devices;     /* connects their devices, as in struct rank_rows          */
    struct ktensor *shared;          /* the model that ranks that are threads have in common; empty
                                      * between two runs; borrowed; else NULL                        */
    const char *folder; /* for files, the same on all ranks                             */
};

/* Whether this rank has the results, and compares them: alone, or rank 0. */
bool place_compares(const struct selftest_place *p);

/* Whether the backend refuses this problem, for a reason that is the same on all ranks; *why is
 * then the error. */
bool place_refuses(const struct selftest_place *p, const struct coo *x,
                   const struct problem *problem, struct error *why);

/* What a run ends with. */
struct place_outcome {
    struct ktensor model;       /* on the rank that compares, empty on the others; owned */
    struct cpals_result result; /* the same on all ranks */
};

/* Decomposes x on all ranks of the place. All pass the same x, *problem and *d, whose guess is a
 * model. *o is empty at first; the caller frees its model, after a failure too. Errors of
 * backend_prepare and decompose. */
enum status place_decompose(const struct selftest_place *p, const struct coo *x,
                            const struct problem *problem, const struct decomposition *d,
                            struct place_outcome *o, struct error *error);

#endif
