/* Where a check runs: on a backend alone, or on ranks that work together. */
#ifndef BLCO_SELFTEST_PLACE_H
#define BLCO_SELFTEST_PLACE_H

#include "als/decompose.h"

struct selftest_place {
    const struct backend_kind *kind; /* NULL: the check needs no backend                        */
    int device;                      /* this rank's                                             */
    uint64_t host_memory;            /* as of struct backend_options, of this rank              */
    struct comm *comm;               /* of the ranks; NULL without a backend; borrowed          */
    struct device_comm *devices;     /* by which their devices meet, as of struct rank_rows     */
    struct ktensor *shared; /* where the model of ranks that are threads comes together; empty
                             * between two runs; borrowed; else NULL                        */
    const char *folder;     /* for files, the same of all ranks                             */
};

/* Whether this rank has the results, and compares them: alone, or rank 0. */
bool place_compares(const struct selftest_place *p);

/* Decomposes x on all ranks of the place, each of which passes the same x and the same *d, which
 * begins with a model. *model, empty at first, is the result on the rank that compares, and stays
 * empty on the others; *result is the same on all. The caller frees *model, after a failure too.
 * Errors of backend_prepare and decompose. */
enum status place_decompose(const struct selftest_place *p, const struct coo *x,
                            const struct decomposition *d, struct ktensor *model,
                            struct cpals_result *result, struct error *error);

#endif
