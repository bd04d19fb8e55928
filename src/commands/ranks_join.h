/* How the processes that a launcher has started begin to work together: they meet, and compare what
 * each of them was asked for. */
#pragma once

#include "comm/comm.h"
#include "commands/options/cli.h"
#include "commands/options/cmd_common.h"
#include "ranks/rank_tensor.h"

/* *world = the communicator of all processes, which the caller closes; NULL where they do not meet.
 * Every process calls it first, also one whose options are wrong, which *error then says.
 * Afterwards all processes go on or all fail: with the wrong options of one, or with STATUS_INPUT
 * where one differs from rank 0 in the command, the version of blco, an option of `sections`, or
 * the name of a file without its folder. In some options processes may differ: cli_option has the
 * rule, blco-cluster(7) a list. Errors of comm_world. */
enum status ranks_join(struct comm **world, const struct cli_line *line,
                       const struct cli_section *sections, struct error *error);

/* Where the ranks of a run work: hosts, GPUs, threads. */

struct rank_place {
    char host[64];
    int device; /* the number of the rank's GPU on its host                                       */
    char device_bus[32]; /* the GPU's place in its host; empty where the backend has no GPUs     */
    int threads;         /* of OpenMP                                                        */
    uint64_t cores;      /* the same number for ranks that may run on the same cores         */
};

/* place (ranks of c) = the places of all ranks. Every rank calls it; afterwards OpenMP uses the
 * threads of this rank's place. Rank i of a host has GPU i of common->gpus. If the user does not
 * give the number of threads, ranks that may run on the same cores divide these cores. STATUS_INPUT
 * where a host has fewer GPUs than ranks. */
enum status rank_places(struct rank_place *place, struct comm *c, const struct cmd_common *common,
                        const struct backend_kind *kind, struct error *error);

/* How the tensor at `path` is to be read, and split among the ranks of c, which have these places;
 * place NULL: one rank works alone. Borrows from *common. */
struct rank_request rank_split(const struct cmd_common *common, const struct backend_kind *kind,
                               const struct rank_place *place, const struct comm *c,
                               const char *path);

/* Each rank's GPU has begun to wake; one that does not answer is an error of all ranks, before any
 * rank waits for the others' GPUs. Then the GPUs begin to connect in the background. *devices is
 * NULL on the host backend, or on failure. The caller leaves *devices (struct backend_kind). Errors
 * of `wake` and of device_comm_init. */
enum status rank_meet(struct device_comm **devices, struct backend_wake *wake, struct comm *c,
                      struct error *error);
