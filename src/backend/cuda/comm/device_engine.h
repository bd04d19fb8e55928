/* What connects the GPUs of the ranks: peer memory or NCCL. Implemented in peer_engine.c and
 * nccl_engine.c. */
#pragma once

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "comm/comm.h"
#include "numerics/precision.h"

/* An array in device memory of `size` stripes, one for each rank, of `stripe` numbers each, and
 * where this rank's stripe comes from or goes to: its place in that array, or an array of its own.
 */
struct device_stripes {
    void *numbers;
    void *own;
    uint64_t stripe;
    enum precision precision;
};

/* Numbers in device memory, and where the result goes, which may be there. */
struct device_numbers {
    const double *from;
    double *to;
    uint64_t count;
    bool largest; /* the largest of all ranks' numbers, or their sum */
};

/* The ranks and their GPUs. */
struct device_places {
    struct comm *host;
    const int *device; /* (ranks of host) */
};

struct device_engine {
    size_t state_bytes;
    /* Fills a state of zeros, which the caller owns. Every rank calls it; a failure is that of all
     * ranks, and leaves nothing to close. */
    enum status (*open)(void *state, const struct device_places *places, struct error *error);
    /* Connects this rank's GPU with the others, in any thread; every rank calls it. A communicator
     * that a rank does not connect must not be used. */
    enum status (*connect)(void *state, struct error *error);

    /* The operations of device_comm.h, on connected GPUs. m->own becomes the sum of all ranks'
     * numbers in this rank's stripe; where that is its place in m->numbers, the other stripes are
     * undefined afterwards. */
    enum status (*reduce_scatter)(void *state, const struct device_stripes *m, cudaStream_t stream,
                                  struct error *error);
    /* Every stripe of a->numbers is copied from the `own` of the rank that the stripe belongs to.
     */
    enum status (*allgather)(void *state, const struct device_stripes *a, cudaStream_t stream,
                             struct error *error);
    /* x->to[0..count) = the sum, or the largest, of all ranks' x->from[0..count): the same bits on
     * every rank. */
    enum status (*allreduce)(void *state, const struct device_numbers *x, cudaStream_t stream,
                             struct error *error);
    /* array[0..bytes) of all ranks becomes that of rank `root`. */
    enum status (*bcast)(void *state, void *array, uint64_t bytes, int root, cudaStream_t stream,
                         struct error *error);
    /* Whether an error was found in what was queued: STATUS_INTERNAL. Does not wait. */
    enum status (*check)(void *state, struct error *error);

    /* For device_comm.c. After it, arrays that operations have read may be freed, once no work on
     * the device uses them. NULL: they may be anyway. */
    void (*release)(void *state);
    /* Every rank calls it, once. */
    void (*abort)(void *state);
    /* Ends what `open` has made, also after a failure of what follows. together: every rank calls
     * it after it has connected, and none has aborted. leaving: the process ends soon. */
    void (*close)(void *state, bool together, bool leaving);
};

/* GPUs of one host that see each other's memory, of threads or of processes: each GPU reads what it
 * needs from the others' arrays, and adds in the order of the ranks. Streams wait for each other by
 * events; the ranks meet on the host only to know that these are recorded. What processes show must
 * be arrays of device_array. Connecting takes milliseconds; where processes cannot, all ranks
 * return the same failure. */
extern const struct device_engine peer_engine;

/* Whether this rank's GPU sees the memory of all others; of processes, whether it may, which
 * `connect` tells. False for too many ranks, and where the variable NCCL_P2P_DISABLE is 1, which
 * administrators set where GPUs wrongly report peer access. */
bool peer_engine_serves(const struct device_places *places);

/* GPUs of one host or of several, by NCCL. Connecting takes half a second. */
extern const struct device_engine nccl_engine;
