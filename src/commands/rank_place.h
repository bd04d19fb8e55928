/* Where the ranks of a run work: hosts, GPUs, threads. */
#ifndef BLCO_RANK_PLACE_H
#define BLCO_RANK_PLACE_H

#include "commands/options/cmd_common.h"
#include "comm/comm.h"
#include "ranks/rank_tensor.h"

struct rank_place {
    char host[64];
    int device; /* the number of the rank's GPU on its host                                       */
    char device_bus[32]; /* the GPU's place in its host; empty where the backend has no GPUs     */
    int threads;         /* of OpenMP                                                          */
    uint64_t processors; /* the same number for ranks that may run on the same processors      */
};

/* place (ranks of c) = the places of all ranks; every rank calls it, and afterwards OpenMP uses the
 * threads of this rank's place. A rank has the GPU of its number among the ranks of its host, of
 * those in common->gpus. Threads, where the user does not say how many, are the processors of the
 * host shared among the ranks that may run on them. STATUS_INPUT where a host has fewer GPUs than
 * ranks. */
enum status rank_places(struct rank_place *place, struct comm *c, const struct cmd_common *common,
                        const struct backend_kind *kind, struct error *error);

/* How the tensor is to be split among the ranks of c, which have these places. */
struct rank_request rank_split(const struct cmd_common *common, const struct backend_kind *kind,
                               const struct rank_place *place, const struct comm *c);

/* The GPUs of the ranks, which have these places, wake, each by its rank; one that does not answer
 * is an error of all ranks, before any rank waits for the others' GPUs. Then the GPUs begin to
 * meet; *devices is NULL where the ranks work on processors, or on failure. The caller leaves
 * *devices (struct backend_kind). Errors of `wake` and of device_comm_init. */
enum status rank_meet(struct device_comm **devices, const struct backend_kind *kind,
                      const struct rank_place *place, struct comm *c, struct error *error);

#endif
