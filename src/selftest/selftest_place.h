/* Where a check runs: on a backend alone, or on ranks that work together. */
#ifndef BLCO_SELFTEST_PLACE_H
#define BLCO_SELFTEST_PLACE_H

#include "als/cpals.h"
#include "backend/backend.h"
#include "comm/comm.h"

struct selftest_place {
    const struct backend_kind *kind; /* NULL: the check needs no backend                        */
    int device;                      /* this rank's                                             */
    uint64_t host_memory;            /* as of struct backend_options, of this rank              */
    struct comm *comm;               /* of the ranks that work together; NULL: alone; borrowed  */
    struct device_comm *devices;     /* by which their devices meet, as of struct cpals_setting */
    struct ktensor *shared; /* of ranks that share memory: where their model comes together; empty
                             * between two runs; borrowed                                   */
    const char *folder;     /* for files, the same of all ranks                             */
};

/* Whether this rank has the results, and compares them: alone, or rank 0. */
bool place_compares(const struct selftest_place *p);

/* Decomposes x, from `start`, on all ranks of the place, each of which passes the same x and start.
 * *model, empty at first, is the result on the rank that compares, and stays empty on the others;
 * *result is the same on all. The caller frees *model, after a failure too. Errors of cpals_run and
 * cpals_run_rank. */
enum status place_decompose(const struct selftest_place *p, const struct coo *x,
                            const struct ktensor *start, const struct backend_options *options,
                            const struct cpals_options *als, struct ktensor *model,
                            struct cpals_result *result, struct error *error);

#endif
