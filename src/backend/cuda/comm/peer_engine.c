#include "backend/cuda/comm/device_engine.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"
#include "backend/cuda/runtime/device_memory.h"
#include "backend/cuda/runtime/device_queue.h"
#include "base/least.h"
#include "base/memory.h"
#include "base/shared_library.h"
#include "kernels/peers/peers.h"

#define LOOKS  64                   /* of a rank that waits, between two looks for an abort */
#define WINDOW ((uint64_t)32 << 20) /* bytes of an array that a rank sends to all at a time */

static const char doing[] = "what GPUs read from each other", connecting[] = "connecting the GPUs";

/* An event of a rank, as the others find it: threads use the same one, processes open another. */
union shown_event {
    cudaEvent_t event;
    cudaIpcEventHandle_t handle;
};

/* Device memory of a rank, from `base` in its own addresses. */
struct shown_memory {
    const char *base;
    uint64_t bytes;
    cudaIpcMemHandle_t handle;
};

/* What a rank shows the others. */
struct shown {
    int device; /* as this rank numbers them */
    union shown_event ready, done;
    struct error failure[2];    /* of each step of connecting           */
    const char *from;           /* what others read in an operation     */
    struct shown_memory memory; /* of processes: the one that `from` is in */
};

/* In memory that the ranks share (comm_allocate_shared). */
struct peer_team {
    _Atomic uint64_t stopped;  /* ranks whose GPU reads no more */
    _Atomic uint64_t arrivals; /* of all ranks at all meetings  */
    struct shown rank[PEERS_MOST];
};

/* Memory of a rank as this one sees it: `here`. */
struct seen_memory {
    int rank;
    struct shown_memory shown;
    char *here;
};

/* Two events of a rank: what it shows has been written; it has read what the others show. */
struct rank_events {
    cudaEvent_t ready, done;
};

/* A rank's end. */
struct peer_end {
    struct comm *host; /* borrowed */
    int device;
    struct peer_team *team;
    uint64_t meetings;
    struct rank_events event[PEERS_MOST]; /* this rank's and those of other processes are owned   */
    struct seen_memory *seen;             /* (seen_count) of processes, this one's too; owned     */
    size_t seen_count;
    char *window; /* (WINDOW) device: a piece of an array that the rank sends; owned       */
    double *room; /* (room_count) device: a result in place of what others read; owned     */
    uint64_t room_count;
    bool has_stopped;
};

bool peer_engine_serves(const struct device_places *places)
{
    const char *off = getenv("NCCL_P2P_DISABLE");
    const struct comm *host = places->host;
    const int own = places->device[host->rank];
    if (host->local_size < host->size || host->size > PEERS_MOST || (off && !strcmp(off, "1")))
        return false;
    if (!host->shares_memory) /* another process may number the GPUs otherwise: `connect` tries */
        return true;
    for (int k = 0; k < host->size; k++) {
        int sees = places->device[k] == own;
        if (!sees && cudaDeviceCanAccessPeer(&sees, own, places->device[k]) != cudaSuccess)
            (void)cudaGetLastError();
        if (!sees)
            return false;
    }
    return true;
}

/* Waits until *arrivals is `all`. */
static enum status wait_for(struct comm *host, const _Atomic uint64_t *arrivals, uint64_t all,
                            bool heeds_abort, struct error *error)
{
    for (int looks = 1; atomic_load(arrivals) < all; looks++) {
        if (heeds_abort && looks % LOOKS == 0)
            TRY(comm_check(host, error));
        sched_yield();
    }
    return STATUS_OK;
}

/* Waits until all ranks have called it as often as this one. */
static enum status meet(struct peer_end *e, bool heeds_abort, struct error *error)
{
    const uint64_t all = ++e->meetings * (uint64_t)e->host->size;
    atomic_fetch_add(&e->team->arrivals, 1);
    return wait_for(e->host, &e->team->arrivals, all, heeds_abort, error);
}

/* --- Memory of other processes (CUDA Runtime API, "Interprocess Communication"). A process may
 * free what it has shown when the others have closed it. --- */

static int (*find_memory)(uintptr_t *base, size_t *bytes, uintptr_t address); /* of the driver */
static struct error no_driver;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load_driver(void)
{
    const struct library_function function = {&find_memory, "cuMemGetAddressRange_v2"};
    const struct shared_library driver = {.file = "libcuda.so.1",
                                          .need = "GPUs need NVIDIA's driver",
                                          .remedy = "install the driver"};
    void *handle = shared_library_open(&driver, &no_driver);
    if (handle && shared_library_bind(handle, &function, 1))
        error_set(&no_driver, STATUS_INTERNAL, "NVIDIA's driver is too old");
}

/* The memory of rank k that has this address of it; NULL where this rank has not seen it. */
static struct seen_memory *find_seen(const struct peer_end *e, int k, const char *address)
{
    for (size_t i = 0; i < e->seen_count; i++) {
        const struct shown_memory *m = &e->seen[i].shown;
        if (e->seen[i].rank == k && address >= m->base && address < m->base + m->bytes)
            return &e->seen[i];
    }
    return NULL;
}

/* Adds memory of rank k to what this rank has seen. */
static enum status add_seen(struct peer_end *e, int k, const struct shown_memory *m,
                            struct error *error)
{
    TRY(memory_resize(&e->seen, e->seen_count + 1, sizeof *e->seen, error));
    struct seen_memory *seen = &e->seen[e->seen_count];
    void *here = NULL;
    if (k != e->host->rank)
        TRY(cuda_status(cudaIpcOpenMemHandle(&here, m->handle, cudaIpcMemLazyEnablePeerAccess),
                        connecting, error));
    *seen = (struct seen_memory){.rank = k, .shown = *m, .here = here};
    e->seen_count++;
    return STATUS_OK;
}

/* Shows `from` to the others; NULL: they read nothing of this rank. */
static enum status show(struct peer_end *e, const void *from, struct error *error)
{
    struct shown *own = &e->team->rank[e->host->rank];
    const struct seen_memory *seen = find_seen(e, e->host->rank, from);
    own->from = from;
    if (e->host->shares_memory || !from)
        return STATUS_OK;
    if (seen) {
        own->memory = seen->shown;
        return STATUS_OK;
    }
    uintptr_t base;
    size_t bytes;
    if (find_memory(&base, &bytes, (uintptr_t)from) != 0)
        return error_set(error, STATUS_INTERNAL, "%s: no array has the address", doing);
    own->memory = (struct shown_memory){.base = (const char *)base, .bytes = bytes};
    TRY(cuda_status(cudaIpcGetMemHandle(&own->memory.handle, (void *)base), connecting, error));
    return add_seen(e, e->host->rank, &own->memory, error);
}

/* *from = what rank k shows, in this rank's addresses. */
static enum status see(struct peer_end *e, int k, const void **from, struct error *error)
{
    const struct shown *shown = &e->team->rank[k];
    *from = shown->from;
    if (k == e->host->rank || e->host->shares_memory || !shown->from)
        return STATUS_OK;
    if (!find_seen(e, k, shown->from))
        TRY(add_seen(e, k, &shown->memory, error));
    const struct seen_memory *seen = find_seen(e, k, shown->from);
    *from = seen->here + (shown->from - seen->shown.base);
    return STATUS_OK;
}

/* Waits for this rank's GPU, and closes the memory of other processes. */
static void forget(struct peer_end *e)
{
    (void)cudaSetDevice(e->device);
    (void)cudaDeviceSynchronize();
    for (size_t i = 0; i < e->seen_count; i++)
        if (e->seen[i].here)
            (void)cudaIpcCloseMemHandle(e->seen[i].here);
    e->seen_count = 0;
}

/* --- Opening, connecting and closing. --- */

/* Every rank calls it, before its end's arrays are freed: no other GPU reads them afterwards. */
static void stop(struct peer_end *e)
{
    forget(e);
    if (!e->has_stopped)
        atomic_fetch_add(&e->team->stopped, 1);
    e->has_stopped = true;
}

static void wait_for_stop(struct peer_end *e)
{
    wait_for(e->host, &e->team->stopped, (uint64_t)e->host->size, false, NULL);
}

/* A process whose others may have failed does not wait for them: all end soon. */
static void close_end(void *state, bool together, bool leaving)
{
    struct peer_end *e = state;
    const int own = e->host->rank;
    (void)leaving;
    stop(e);
    if (together || e->host->shares_memory)
        wait_for_stop(e);
    device_free(e->room, e->window);
    memory_free(e->seen);
    for (int k = 0; k < e->host->size; k++) {
        if (k != own && e->host->shares_memory)
            continue;
        device_event_destroy(e->event[k].ready);
        device_event_destroy(e->event[k].done);
    }
}

static enum status open_end(void *state, const struct device_places *places, struct error *error)
{
    struct peer_end *e = state;
    void *team;
    *e = (struct peer_end){.host = places->host, .device = places->device[places->host->rank]};
    if (!e->host->shares_memory) {
        pthread_once(&once, load_driver);
        *error = no_driver;
        TRY(comm_allreduce_error(e->host, error));
    }
    TRY(comm_allocate_shared(e->host, sizeof *e->team, &team, error));
    e->team = team;
    return STATUS_OK;
}

static cudaError_t create_event(const struct peer_end *e, cudaEvent_t *event,
                                union shown_event *shown)
{
    if (e->host->shares_memory) {
        CUDA_TRY(device_event_create(event));
        shown->event = *event;
        return cudaSuccess;
    }
    CUDA_TRY(cudaEventCreateWithFlags(event, cudaEventDisableTiming | cudaEventInterprocess));
    return cudaIpcGetEventHandle(&shown->handle, *event);
}

static cudaError_t see_event(const struct peer_end *e, cudaEvent_t *event,
                             const union shown_event *shown)
{
    if (!e->host->shares_memory)
        return cudaIpcOpenEventHandle(event, shown->handle);
    *event = shown->event;
    return cudaSuccess;
}

/* Makes this rank's events and its window. Processes open the others' windows when they connect:
 * where they may not read each other's memory, that fails before an iteration does. */
static enum status show_own(struct peer_end *e, struct error *error)
{
    const int own = e->host->rank;
    struct shown *shown = &e->team->rank[own];
    TRY(cuda_status(cudaSetDevice(e->device), connecting, error));
    TRY(cuda_status(create_event(e, &e->event[own].ready, &shown->ready), connecting, error));
    TRY(cuda_status(create_event(e, &e->event[own].done, &shown->done), connecting, error));
    shown->device = e->device;
    TRY(device_array_into(&e->window, WINDOW, 1, error));
    return show(e, e->window, error);
}

static enum status see_other(struct peer_end *e, int k, struct error *error)
{
    const struct shown *shown = &e->team->rank[k];
    const void *window;
    if (e->host->shares_memory && shown->device != e->device) {
        const cudaError_t code = cudaDeviceEnablePeerAccess(shown->device, 0);
        (void)cudaGetLastError();
        if (code != cudaErrorPeerAccessAlreadyEnabled)
            TRY(cuda_status(code, connecting, error));
    }
    TRY(cuda_status(see_event(e, &e->event[k].ready, &shown->ready), connecting, error));
    TRY(cuda_status(see_event(e, &e->event[k].done, &shown->done), connecting, error));
    return see(e, k, &window, error);
}

static enum status see_others(struct peer_end *e, struct error *error)
{
    for (int k = 0; k < e->host->size; k++)
        if (k != e->host->rank)
            TRY(see_other(e, k, error));
    return STATUS_OK;
}

/* All ranks return the same failure. */
static enum status connect_end(void *state, struct error *error)
{
    struct peer_end *e = state;
    static enum status (*const steps[])(struct peer_end *, struct error *) = {show_own, see_others};
    for (int s = 0; s < 2; s++) {
        steps[s](e, &e->team->rank[e->host->rank].failure[s]);
        meet(e, false, error);
        for (int k = 0; k < e->host->size && error->status == STATUS_OK; k++)
            *error = e->team->rank[k].failure[s];
        TRY(error->status);
    }
    return STATUS_OK;
}

/* A rank that has aborted frees its arrays afterwards. */
static void abort_end(void *state)
{
    struct peer_end *e = state;
    stop(e);
    if (e->host->shares_memory)
        wait_for_stop(e);
}

static void release(void *state)
{
    struct peer_end *e = state;
    struct error aborted = {0};
    if (e->host->shares_memory)
        return;
    forget(e);
    meet(e, true, &aborted);
}

/* --- The operations. --- */

/* Later work in the stream waits for an event of each other rank, all of which have recorded
 * theirs. */
static cudaError_t wait_for_others(const struct peer_end *e, bool done, cudaStream_t stream)
{
    for (int k = 0; k < e->host->size; k++)
        if (k != e->host->rank)
            CUDA_TRY(cudaStreamWaitEvent(stream, done ? e->event[k].done : e->event[k].ready, 0));
    return cudaSuccess;
}

/* Shows `from` to the others, and gives their arrays. The stream may read these up to `end`. */
static enum status begin(struct peer_end *e, const void *from, struct peer_arrays *arrays,
                         cudaStream_t stream, struct error *error)
{
    TRY(show(e, from, error));
    TRY(cuda_status(cudaEventRecord(e->event[e->host->rank].ready, stream), doing, error));
    TRY(meet(e, true, error));
    arrays->peers = e->host->size;
    for (int k = 0; k < arrays->peers; k++)
        TRY(see(e, k, &arrays->from[k], error));
    return cuda_status(wait_for_others(e, false, stream), doing, error);
}

/* After it, the stream may write what it has shown. code: of what has read. */
static enum status end(struct peer_end *e, cudaError_t code, cudaStream_t stream,
                       struct error *error)
{
    if (code == cudaSuccess)
        code = cudaEventRecord(e->event[e->host->rank].done, stream);
    TRY(cuda_status(code, doing, error));
    TRY(meet(e, true, error));
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

/* By a window of the root's, since `array` may be of a pool, which another process cannot open. */
static enum status bcast(void *state, void *array, uint64_t bytes, int root, cudaStream_t stream,
                         struct error *error)
{
    struct peer_end *e = state;
    const bool is_root = e->host->rank == root;
    for (uint64_t at = 0; at < bytes; at += WINDOW) {
        const uint64_t length = least_of(bytes - at, WINDOW);
        char *piece = (char *)array + at;
        struct peer_arrays arrays = {0};
        cudaError_t code = cudaSuccess;
        if (is_root)
            TRY(device_copy(e->window, piece, length, stream, doing, error));
        TRY(begin(e, is_root ? e->window : NULL, &arrays, stream, error));
        if (!is_root)
            code = cudaMemcpyAsync(piece, arrays.from[root], length, cudaMemcpyDefault, stream);
        TRY(end(e, code, stream, error));
    }
    return STATUS_OK;
}

/* A failure shows when the stream is waited for. */
static enum status check(void *state, struct error *error)
{
    (void)state;
    return error->status;
}

const struct device_engine peer_engine = {.state_bytes = sizeof(struct peer_end),
                                          .open = open_end,
                                          .connect = connect_end,
                                          .reduce_scatter = reduce_scatter,
                                          .allgather = allgather,
                                          .allreduce = allreduce,
                                          .bcast = bcast,
                                          .check = check,
                                          .release = release,
                                          .abort = abort_end,
                                          .close = close_end};
