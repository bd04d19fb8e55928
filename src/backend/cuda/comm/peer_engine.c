#include "backend/cuda/comm/device_engine.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/device_queue.h"
#include "base/memory.h"
#include "kernels/peers/peers.h"

#define LOOKS 64 /* of a rank that waits, between two looks for an abort */

static const char doing[] = "what GPUs read from each other";

/* What a rank shows the others in an operation. */
struct shown {
    const void *from;
    cudaEvent_t ready; /* `from` has been written */
    cudaEvent_t done;  /* this rank has read the others' */
};

/* What the ranks share; freed by the last one. */
struct peer_team {
    atomic_int users;          /* ranks that have not ended theirs                         */
    atomic_int stopped;        /* ranks whose GPU reads no more                            */
    _Atomic uint64_t arrivals; /* of all ranks at all meetings                             */
    struct shown rank[PEERS_MOST];
};

/* A rank's end. */
struct peer_end {
    struct comm *host; /* borrowed */
    int device[PEERS_MOST];
    struct peer_team *team;
    uint64_t meetings;
    double *room; /* (room_count) device: a result that takes the place of what others read */
    uint64_t room_count;
    bool has_stopped;
};

bool peer_engine_serves(const struct device_places *places)
{
    const char *off = getenv("NCCL_P2P_DISABLE");
    const int own = places->device[places->host->rank];
    if (!places->host->shares_memory || places->host->size > PEERS_MOST ||
        (off && !strcmp(off, "1")))
        return false;
    for (int k = 0; k < places->host->size; k++) {
        int sees = places->device[k] == own;
        if (!sees && cudaDeviceCanAccessPeer(&sees, own, places->device[k]) != cudaSuccess)
            (void)cudaGetLastError();
        if (!sees)
            return false;
    }
    return true;
}

/* Every rank calls it, before its end's arrays are freed: no other GPU reads them afterwards. */
static void stop(struct peer_end *e)
{
    (void)cudaSetDevice(e->device[e->host->rank]);
    (void)cudaDeviceSynchronize();
    if (!e->has_stopped)
        atomic_fetch_add(&e->team->stopped, 1);
    e->has_stopped = true;
}

static void close_end(void *state, bool connected, bool leaving)
{
    struct peer_end *e = state;
    (void)connected;
    (void)leaving;
    stop(e);
    device_free(e->room);
    if (atomic_fetch_sub(&e->team->users, 1) > 1)
        return;
    for (int k = 0; k < PEERS_MOST; k++) {
        device_event_destroy(e->team->rank[k].ready);
        device_event_destroy(e->team->rank[k].done);
    }
    memory_free(e->team);
}

static enum status open_end(void *state, const struct device_places *places, struct error *error)
{
    struct peer_end *e = state;
    struct comm *host = e->host = places->host;
    memcpy(e->device, places->device, (size_t)e->host->size * sizeof *e->device);
    /* Rank 0 makes what all share. Either all ranks have it afterwards, or none. */
    if (host->rank == 0)
        e->team = memory_zeros(1, sizeof *e->team, error);
    TRY_OR(done, comm_allreduce_error(host, error));
    if (host->rank == 0)
        atomic_store(&e->team->users, host->size);
    comm_bcast(host, 0, &e->team, sizeof e->team, error);
done:
    if (error->status != STATUS_OK && host->rank == 0)
        memory_free(e->team);
    return error->status;
}

static enum status connect_end(void *state, struct error *error)
{
    const struct peer_end *e = state;
    const int own = e->device[e->host->rank];
    struct shown *shown = &e->team->rank[e->host->rank];
    cudaError_t code = cudaSetDevice(own);
    if (code == cudaSuccess)
        code = device_event_create(&shown->ready);
    if (code == cudaSuccess)
        code = device_event_create(&shown->done);
    for (int k = 0; code == cudaSuccess && k < e->host->size; k++) {
        if (e->device[k] != own)
            code = cudaDeviceEnablePeerAccess(e->device[k], 0);
        if (code == cudaErrorPeerAccessAlreadyEnabled) {
            (void)cudaGetLastError();
            code = cudaSuccess;
        }
    }
    return cuda_status(code, "connecting the GPUs", error);
}

/* Waits until all ranks have called it as often as this one. */
static enum status meet(struct peer_end *e, struct error *error)
{
    const uint64_t all = ++e->meetings * (uint64_t)e->host->size;
    atomic_fetch_add(&e->team->arrivals, 1);
    for (int looks = 1; atomic_load(&e->team->arrivals) < all; looks++) {
        if (looks % LOOKS == 0)
            TRY(comm_check(e->host, error));
        sched_yield();
    }
    return STATUS_OK;
}

/* Later work in the stream waits for an event of each other rank, all of which have recorded
 * theirs. */
static cudaError_t wait_for_others(const struct peer_end *e, bool done, cudaStream_t stream)
{
    for (int k = 0; k < e->host->size; k++) {
        const struct shown *other = &e->team->rank[k];
        if (k != e->host->rank)
            CUDA_TRY(cudaStreamWaitEvent(stream, done ? other->done : other->ready, 0));
    }
    return cudaSuccess;
}

/* Shows `from` to the others, and gives their arrays. The stream may read these up to `end`. */
static enum status begin(struct peer_end *e, const void *from, struct peer_arrays *arrays,
                         cudaStream_t stream, struct error *error)
{
    struct shown *own = &e->team->rank[e->host->rank];
    own->from = from;
    TRY(cuda_status(cudaEventRecord(own->ready, stream), doing, error));
    TRY(meet(e, error));
    arrays->peers = e->host->size;
    for (int k = 0; k < arrays->peers; k++)
        arrays->from[k] = e->team->rank[k].from;
    return cuda_status(wait_for_others(e, false, stream), doing, error);
}

/* After it, the stream may write what it has shown. code: of what has read. */
static enum status end(struct peer_end *e, cudaError_t code, cudaStream_t stream,
                       struct error *error)
{
    if (code == cudaSuccess)
        code = cudaEventRecord(e->team->rank[e->host->rank].done, stream);
    TRY(cuda_status(code, doing, error));
    TRY(meet(e, error));
    return cuda_status(wait_for_others(e, true, stream), doing, error);
}

static enum status reduce_scatter(void *state, const struct device_stripes *m, cudaStream_t stream,
                                  struct error *error)
{
    struct peer_end *e = state;
    const uint64_t bytes = m->stripe * precision_bytes(m->precision);
    struct peer_arrays arrays = {.count = m->stripe, .precision = m->precision};
    TRY(begin(e, m->numbers, &arrays, stream, error));
    for (int k = 0; k < arrays.peers; k++)
        arrays.from[k] = (const char *)arrays.from[k] + (uint64_t)e->host->rank * bytes;
    return end(e, peers_sum(&arrays, m->own, false, stream), stream, error);
}

static enum status allgather(void *state, const struct device_stripes *a, cudaStream_t stream,
                             struct error *error)
{
    struct peer_end *e = state;
    struct peer_arrays arrays = {.count = a->stripe, .precision = a->precision};
    TRY(begin(e, a->own, &arrays, stream, error));
    return end(e, peers_gather(&arrays, a->numbers, stream), stream, error);
}

/* The others read `from` until the end. */
static enum status allreduce(void *state, const struct device_numbers *x, cudaStream_t stream,
                             struct error *error)
{
    struct peer_end *e = state;
    const bool in_place = x->to == x->from;
    struct peer_arrays arrays = {.count = x->count, .precision = PRECISION_DOUBLE};
    if (in_place && x->count > e->room_count) {
        device_free(e->room);
        e->room_count = 0;
        TRY(device_array_into(&e->room, x->count, sizeof *e->room, error));
        e->room_count = x->count;
    }
    double *to = in_place ? e->room : x->to;
    TRY(begin(e, x->from, &arrays, stream, error));
    TRY(end(e, peers_sum(&arrays, to, x->largest, stream), stream, error));
    if (!in_place)
        return STATUS_OK;
    return device_copy(x->to, to, x->count * sizeof *to, stream, doing, error);
}

/* A failure shows when the stream is waited for. */
static enum status check(void *state, struct error *error)
{
    (void)state;
    return error->status;
}

/* A rank that has aborted frees its arrays afterwards. */
static void abort_end(void *state)
{
    struct peer_end *e = state;
    stop(e);
    while (atomic_load(&e->team->stopped) < e->host->size)
        sched_yield();
}

const struct device_engine peer_engine = {.state_bytes = sizeof(struct peer_end),
                                          .open = open_end,
                                          .connect = connect_end,
                                          .reduce_scatter = reduce_scatter,
                                          .allgather = allgather,
                                          .allreduce = allreduce,
                                          .check = check,
                                          .abort = abort_end,
                                          .close = close_end};
