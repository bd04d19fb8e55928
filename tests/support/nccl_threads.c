/* A stand-in for NCCL for tests on a machine with one GPU, which NCCL does not let several ranks
 * share: its ranks are threads of one process, on any device. Built as a library of NCCL's name and
 * with the functions of NCCL that blco loads (comm/nccl/nccl_library.h). A collective waits for its
 * stream, then for the other ranks; numbers meet in host memory and are added in the order of the
 * ranks. Where a rank has ended, nothing is done and nobody waits: whoever uses this library asks
 * for failures of other ranks before results are read. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "comm/nccl/nccl_library.h"

enum { NO_MEMORY = 2, NO_DEVICE = 1 };

#define SHOWN __attribute__((visibility("default")))

SHOWN ncclResult_t ncclGetUniqueId(ncclUniqueId *id);
SHOWN ncclResult_t ncclCommInitRank(ncclComm_t *comm, int size, ncclUniqueId id, int rank);
SHOWN ncclResult_t ncclCommDestroy(ncclComm_t c);
SHOWN ncclResult_t ncclCommAbort(ncclComm_t c);
SHOWN ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t *result);
SHOWN const char *ncclGetErrorString(ncclResult_t result);
SHOWN const char *ncclGetLastError(ncclComm_t c);
SHOWN ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count, int type, int op,
                                     ncclComm_t c, cudaStream_t stream);
SHOWN ncclResult_t ncclAllGather(const void *from, void *to, size_t count, int type, ncclComm_t c,
                                 cudaStream_t stream);
SHOWN ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, int type, int op,
                                 ncclComm_t c, cudaStream_t stream);

/* The ranks of a communicator, which meet for every operation. */
struct group {
    struct group *next;
    ncclUniqueId id;
    int size, members, arrived; /* members: that have not destroyed theirs; all at the beginning */
    int joined;
    uint64_t meetings; /* that are over                               */
    bool ended;        /* a rank has destroyed its end                */
    void **room;       /* (size): the numbers of each rank; host      */
};

/* A rank's end. */
struct ncclComm {
    struct group *group;
    int rank;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct group *groups;
static int ids;

ncclResult_t ncclGetUniqueId(ncclUniqueId *id)
{
    memset(id, 0, sizeof *id);
    pthread_mutex_lock(&lock);
    ids++;
    memcpy(id->internal, &ids, sizeof ids);
    pthread_mutex_unlock(&lock);
    return 0;
}

/* Finds or makes the group of an id; the caller holds the lock. */
static struct group *group_of(const ncclUniqueId *id, int size)
{
    for (struct group *g = groups; g; g = g->next)
        if (memcmp(&g->id, id, sizeof *id) == 0)
            return g;
    struct group *g = calloc(1, sizeof *g);
    void **room = calloc((size_t)size, sizeof *room);
    if (!g || !room) {
        free(room);
        free(g);
        return NULL;
    }
    *g = (struct group){.next = groups, .id = *id, .size = size, .members = size, .room = room};
    groups = g;
    return g;
}

ncclResult_t ncclCommInitRank(ncclComm_t *comm, int size, ncclUniqueId id, int rank)
{
    struct ncclComm *c = calloc(1, sizeof *c);
    *comm = c;
    if (!c)
        return NO_MEMORY;
    pthread_mutex_lock(&lock);
    struct group *g = group_of(&id, size);
    if (g) {
        *c = (struct ncclComm){.group = g, .rank = rank};
        g->joined++;
        pthread_cond_broadcast(&changed);
    }
    while (g && g->joined < g->size)
        pthread_cond_wait(&changed, &lock);
    pthread_mutex_unlock(&lock);
    return g ? 0 : NO_MEMORY;
}

ncclResult_t ncclCommDestroy(ncclComm_t c)
{
    struct group *g = c->group, **from = &groups;
    pthread_mutex_lock(&lock);
    g->ended = true;
    pthread_cond_broadcast(&changed);
    if (--g->members == 0) {
        while (*from != g)
            from = &(*from)->next;
        *from = g->next;
        free(g->room);
        free(g);
    }
    pthread_mutex_unlock(&lock);
    free(c);
    return 0;
}

ncclResult_t ncclCommAbort(ncclComm_t c)
{
    return ncclCommDestroy(c);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t *result)
{
    (void)c;
    *result = 0;
    return 0;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    return result == NO_MEMORY ? "no memory" : result == NO_DEVICE ? "a call of CUDA failed" : "";
}

const char *ncclGetLastError(ncclComm_t c)
{
    (void)c;
    return NULL;
}

/* Waits for all ranks of the group, or, with heed_end, for one that ends. Returns true if all ranks
 * have arrived. */
static bool meet(struct group *g, bool heed_end)
{
    pthread_mutex_lock(&lock);
    const uint64_t meeting = g->meetings;
    if (!(heed_end && g->ended) && ++g->arrived == g->size) {
        g->arrived = 0;
        g->meetings++;
        pthread_cond_broadcast(&changed);
    }
    while (g->meetings == meeting && !(heed_end && g->ended))
        pthread_cond_wait(&changed, &lock);
    const bool all = g->meetings != meeting;
    pthread_mutex_unlock(&lock);
    return all;
}

/* What a rank asks for: `sent` numbers go in, and of each rank those from `first` on come out:
 * reduced, or one rank's after the other. */
struct call {
    const void *send;
    void *receive;
    uint64_t sent, first, count;
    int type;
    bool adds, largest;
};

static size_t bytes_of(const struct call *call)
{
    return call->type == NCCL_FLOAT ? sizeof(float) : sizeof(double);
}

static double number_at(const void *room, uint64_t i, int type)
{
    return type == NCCL_FLOAT ? (double)((const float *)room)[i] : ((const double *)room)[i];
}

/* In the precision of the numbers. */
static void add_up(void *sum, void *const *room, int size, const struct call *call)
{
    for (uint64_t i = 0; i < call->count; i++) {
        double x = number_at(room[0], call->first + i, call->type);
        for (int k = 1; k < size; k++) {
            const double y = number_at(room[k], call->first + i, call->type);
            x = !call->largest ? x + y : x > y ? x : y;
            x = call->type == NCCL_FLOAT ? (float)x : x;
        }
        if (call->type == NCCL_FLOAT)
            ((float *)sum)[i] = (float)x;
        else
            ((double *)sum)[i] = x;
    }
}

/* The rooms of all ranks are there. */
static cudaError_t receive(const struct ncclComm *c, const struct call *call, void *sum,
                           cudaStream_t stream)
{
    const struct group *g = c->group;
    const size_t bytes = call->count * bytes_of(call);
    cudaError_t code = cudaSuccess;
    if (call->adds) {
        add_up(sum, g->room, g->size, call);
        code = cudaMemcpyAsync(call->receive, sum, bytes, cudaMemcpyHostToDevice, stream);
    }
    for (int k = 0; !call->adds && code == cudaSuccess && k < g->size; k++)
        code = cudaMemcpyAsync((char *)call->receive + (size_t)k * bytes, g->room[k], bytes,
                               cudaMemcpyHostToDevice, stream);
    return code == cudaSuccess ? cudaStreamSynchronize(stream) : code;
}

static cudaError_t send(const struct call *call, void *room, cudaStream_t stream)
{
    cudaError_t code = cudaMemcpyAsync(room, call->send, call->sent * bytes_of(call),
                                       cudaMemcpyDeviceToHost, stream);
    return code == cudaSuccess ? cudaStreamSynchronize(stream) : code;
}

static bool has_ended(const struct group *g)
{
    pthread_mutex_lock(&lock);
    const bool is = g->ended;
    pthread_mutex_unlock(&lock);
    return is;
}

/* The call, unless a rank ends meanwhile. */
static ncclResult_t run(struct ncclComm *c, const struct call *call, void *room, void *sum,
                        cudaStream_t stream)
{
    struct group *g = c->group;
    cudaError_t code = send(call, room, stream);
    g->room[c->rank] = room;
    if (!meet(g, true))
        return 0;
    if (code == cudaSuccess)
        code = receive(c, call, sum, stream);
    meet(g, false); /* nobody reads this rank's room any more */
    return code == cudaSuccess ? 0 : NO_DEVICE;
}

static ncclResult_t collective(struct ncclComm *c, const struct call *call, cudaStream_t stream)
{
    if (has_ended(c->group))
        return 0;
    void *room = malloc(call->sent * sizeof(double)), *sum = malloc(call->count * sizeof(double));
    ncclResult_t result = room && sum ? run(c, call, room, sum, stream) : NO_MEMORY;
    free(room);
    free(sum);
    return result;
}

ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count, int type, int op,
                               ncclComm_t c, cudaStream_t stream)
{
    const struct call call = {.send = from,
                              .receive = to,
                              .sent = count * (uint64_t)c->group->size,
                              .first = count * (uint64_t)c->rank,
                              .count = count,
                              .type = type,
                              .adds = true,
                              .largest = op != NCCL_SUM};
    return collective(c, &call, stream);
}

ncclResult_t ncclAllGather(const void *from, void *to, size_t count, int type, ncclComm_t c,
                           cudaStream_t stream)
{
    const struct call call = {
        .send = from, .receive = to, .sent = count, .count = count, .type = type};
    return collective(c, &call, stream);
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, int type, int op, ncclComm_t c,
                           cudaStream_t stream)
{
    const struct call call = {.send = from,
                              .receive = to,
                              .sent = count,
                              .count = count,
                              .type = type,
                              .adds = true,
                              .largest = op != NCCL_SUM};
    return collective(c, &call, stream);
}
