#include "commands/rank_place.h"

#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend_kind.h"
#include "base/threads.h"
#include "comm/comm_world.h"

/* FNV-1a of the cores that this thread may run on. */
static uint64_t cores(void)
{
    cpu_set_t set;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 0;
    for (size_t i = 0; i < sizeof set; i++)
        hash = (hash ^ ((const unsigned char *)&set)[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* A process that sees one GPU has been given that GPU by the launcher. */
static enum status find_device(struct rank_place *p, const struct comm *c,
                               const struct cmd_gpus *gpus, const struct backend_kind *kind,
                               struct error *error)
{
    struct backend_device device;
    int place = gpus->count == 1 ? 0 : c->local_rank;
    if (!kind->device)
        return STATUS_OK;
    if (place >= gpus->count)
        return error_set(error, STATUS_INPUT,
                         "host %s has %d ranks, but %d GPUs for them: each rank needs its own GPU",
                         p->host, c->local_size, gpus->count);
    p->device = gpus->device[place];
    TRY(kind->device(p->device, &device, error));
    snprintf(p->device_bus, sizeof p->device_bus, "%s", device.bus);
    return STATUS_OK;
}

/* Every rank has a GPU, or none has. */
static enum status check_kinds(const struct rank_place *place, int ranks, struct error *error)
{
    for (int i = 1; i < ranks; i++)
        if (!place[i].device_bus[0] != !place[0].device_bus[0])
            return error_set(error, STATUS_INPUT,
                             "rank %d, on host %s, works on %s, but rank 0, on host %s, on %s: use "
                             "--backend host, or give each rank a GPU",
                             i, place[i].host, place[i].device_bus[0] ? "a GPU" : "cores",
                             place[0].host, place[0].device_bus[0] ? "a GPU" : "cores");
    return STATUS_OK;
}

static enum status check_devices(const struct rank_place *place, int ranks, struct error *error)
{
    for (int i = 0; i < ranks; i++)
        for (int j = 0; j < i && place[i].device_bus[0]; j++)
            if (strcmp(place[i].host, place[j].host) == 0 &&
                strcmp(place[i].device_bus, place[j].device_bus) == 0)
                return error_set(error, STATUS_INPUT,
                                 "ranks %d and %d would share the GPU %s of host %s: each rank "
                                 "needs its own GPU",
                                 j, i, place[i].device_bus, place[i].host);
    return STATUS_OK;
}

/* How many of the ranks may run on the cores of rank r. */
static int count_sharers(const struct rank_place *place, int ranks, int r)
{
    int sharers = 0;
    for (int i = 0; i < ranks; i++)
        sharers += place[i].cores == place[r].cores && strcmp(place[i].host, place[r].host) == 0;
    return sharers;
}

/* Sets place[] of all ranks to where they are. */
static enum status exchange_places(struct rank_place *place, const struct rank_place *mine,
                                   struct comm *c, struct error *error)
{
    TRY(comm_allgather(c, mine, sizeof *mine, place, error));
    TRY(check_kinds(place, c->size, error));
    return check_devices(place, c->size, error);
}

enum status rank_places(struct rank_place *place, struct comm *c, const struct cmd_common *common,
                        const struct backend_kind *kind, struct error *error)
{
    struct rank_place mine = {.cores = cores()};
    gethostname(mine.host, sizeof mine.host - 1);
    find_device(&mine, c, &common->gpus, kind, error);
    TRY(comm_end_phase(c, error));
    exchange_places(place, &mine, c, error);
    TRY(comm_end_phase(c, error));
    mine.threads = omp_get_max_threads(); /* of threads of one process, already divided */
    if (comm_world_expected()) {
        mine.threads = cmd_set_threads(common->threads, count_sharers(place, c->size, c->rank));
        threads_start(error);
        TRY(comm_end_phase(c, error));
    }
    return comm_allgather(c, &mine, sizeof mine, place, error);
}

static bool are_on_one_host(const struct rank_place *place, int ranks)
{
    for (int i = 1; i < ranks; i++)
        if (strcmp(place[i].host, place[0].host) != 0)
            return false;
    return true;
}

struct rank_request rank_split(const struct cmd_common *common, const struct backend_kind *kind,
                               const struct rank_place *place, const struct comm *c)
{
    const enum precision precision = precision_last(common->options.problem.precision);
    struct rank_request request = {.modes = common->ranks.modes,
                                   .row_bytes =
                                       common->options.problem.rank * precision_bytes(precision),
                                   .packed = kind->takes_parts,
                                   .machine = {.device = kind->device != NULL,
                                               .one_host = are_on_one_host(place, c->size),
                                               .threads = place[c->rank].threads}};
    memcpy(request.parts, common->ranks.parts, sizeof request.parts);
    return request;
}

enum status rank_meet(struct device_comm **devices, const struct backend_kind *kind,
                      const struct rank_place *place, struct comm *c, struct error *error)
{
    int device = place[c->rank].device;
    *devices = NULL;
    if (kind->wake && backend_wake_now(kind, device, error) != STATUS_OK)
        error_prefix(error, "backend %s: GPU %d: ", kind->name, device);
    if (kind->wake)
        TRY(comm_allreduce_error(c, error));
    return kind->meet ? kind->meet(devices, c, device, error) : STATUS_OK;
}
