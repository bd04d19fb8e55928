#include "commands/ranks_join.h"

#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend_kind.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "base/threads.h"
#include "base/version.h"
#include "comm/comm_world.h"

#define PATIENCE 120.0 /* seconds that the processes wait for each other at the start */
#define SHOWN    256   /* bytes of a text line that a message shows */

/* What a process was asked for, a text line for each thing, in the order of the tables. */
struct request {
    const struct cli_option *option; /* the one that note_option looks for  */
    char *value;                     /* of it, as given; NULL: not given; owned */
    char *text;                      /* the text lines; owned */
};

/* A cli_taker. Each value of an option that is given several times counts. */
static enum status note_option(void *request, const struct cli_option *o, const char *text,
                               struct error *error)
{
    struct request *r = request;
    if (r->option != o)
        return STATUS_OK;
    char *before = r->value;
    r->value = memory_text(error, "%s%s%s", before ? before : "", before ? " " : "",
                           text ? text : "given");
    memory_free(before);
    return error->status;
}

/* Adds "name value"; no text line has a control character. */
static enum status add_line(struct request *r, const char *name, const char *value,
                            struct error *error)
{
    size_t room = PRINTABLE_ROOM(strlen(value) + 1);
    char *before = r->text, *shown = memory_array(room, 1, error);
    r->text = NULL;
    if (shown)
        r->text = memory_text(error, "%s%s %s\n", before ? before : "", name,
                              printable(value, shown, room));
    memory_free(shown, before);
    return error->status;
}

static enum status describe(struct request *r, struct cli_line *line,
                            const struct cli_section *sections, struct error *error)
{
    TRY(add_line(r, "blco", line->argv[0], error));
    TRY(add_line(r, "version", version_text, error));
    for (const struct cli_section *s = sections; s->title; s++)
        for (r->option = s->options; r->option->name; r->option++) {
            if (r->option->may_differ)
                continue;
            if (cli_each(line, sections, note_option, r, error) == STATUS_OK)
                add_line(r, r->option->name, r->value ? r->value : "not given", error);
            memory_free(r->value);
            r->value = NULL;
            TRY(error->status);
        }
    if (line->operands == 0)
        return STATUS_OK;
    const char *slash = strrchr(line->operand[0], '/');
    return add_line(r, "file", slash ? slash + 1 : line->operand[0], error);
}

/* The first text line of `mine` that is not the one of `first`. */
static enum status compare(const char *mine, const char *first, struct error *error)
{
    size_t same = 0; /* bytes; then where the text line begins in both */
    while (mine[same] && mine[same] == first[same])
        same++;
    if (mine[same] == first[same])
        return STATUS_OK;
    while (same > 0 && mine[same - 1] != '\n')
        same--;
    const int here = (int)strcspn(mine + same, "\n"), there = (int)strcspn(first + same, "\n");
    return error_set(error, STATUS_INPUT,
                     "%.*s, but on rank 0 %.*s: expected the same on all ranks",
                     here < SHOWN ? here : SHOWN, here ? mine + same : "no more files",
                     there < SHOWN ? there : SHOWN, there ? first + same : "no more files");
}

/* Compares the request with rank 0's; the ranks that differ fail. */
static enum status compare_requests(struct comm *world, struct cli_line line,
                                    const struct cli_section *sections, struct error *error)
{
    struct request mine = {0};
    char *first = NULL;
    describe(&mine, &line, sections, error);
    TRY_OR(done, comm_end_phase(world, error));
    uint64_t size = mine.text ? strlen(mine.text) + 1 : 0;
    TRY_OR(done, comm_bcast(world, 0, &size, sizeof size, error));
    first = memory_zeros(size, 1, error);
    if (!first) {
        comm_abort(world, error);
        goto done;
    }
    if (world->rank == 0)
        memcpy(first, mine.text, size);
    if (comm_bcast(world, 0, first, size, error) == STATUS_OK)
        compare(mine.text, first, error);
    comm_end_phase(world, error);
done:
    memory_free(mine.text, first);
    return error->status;
}

enum status ranks_join(struct comm **world, const struct cli_line *line,
                       const struct cli_section *sections, struct error *error)
{
    const struct error wrong = *error;
    *error = (struct error){0};
    if (comm_world(world, PATIENCE, error) != STATUS_OK) {
        if (wrong.status != STATUS_OK && error->message[0])
            *error = wrong;
        return error->status;
    }
    *error = wrong;
    TRY(comm_end_phase(*world, error));
    return compare_requests(*world, *line, sections, error);
}

/* Every rank has a GPU of its own, or none has one. */
static enum status check_devices(const struct rank_place *place, int ranks, struct error *error)
{
    for (int i = 1; i < ranks; i++)
        if (!place[i].device_bus[0] != !place[0].device_bus[0])
            return error_set(error, STATUS_INPUT,
                             "rank %d, on host %s, works on %s, but rank 0, on host %s, on %s: use "
                             "--backend host, or give each rank a GPU",
                             i, place[i].host, place[i].device_bus[0] ? "a GPU" : "cores",
                             place[0].host, place[0].device_bus[0] ? "a GPU" : "cores");
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

enum status rank_places(struct rank_place *place, struct comm *c, const struct cmd_common *common,
                        const struct backend_kind *kind, struct error *error)
{
    struct rank_place mine = {.cores = UINT64_C(0xcbf29ce484222325)};
    struct backend_device device = {.bus = ""};
    cpu_set_t set; /* the cores that this thread may run on, of which the place has FNV-1a */
    const bool known = sched_getaffinity(0, sizeof set, &set) == 0;
    for (size_t i = 0; known && i < sizeof set; i++)
        mine.cores = (mine.cores ^ ((const unsigned char *)&set)[i]) * UINT64_C(0x100000001b3);
    mine.cores = known ? mine.cores : 0;
    gethostname(mine.host, sizeof mine.host - 1);
    /* a process that sees one GPU has been given that GPU by the launcher */
    const int number = common->gpus.count == 1 ? 0 : c->local_rank;
    if (kind->device && number >= common->gpus.count) {
        error_set(error, STATUS_INPUT,
                  "host %s has %d ranks, but %d GPUs for them: each rank needs its own GPU",
                  mine.host, c->local_size, common->gpus.count);
    } else if (kind->device) {
        mine.device = common->gpus.device[number];
        kind->device(mine.device, &device, error);
        snprintf(mine.device_bus, sizeof mine.device_bus, "%s", device.bus);
    }
    TRY(comm_end_phase(c, error));
    if (comm_allgather(c, &mine, sizeof mine, place, error) == STATUS_OK)
        check_devices(place, c->size, error);
    TRY(comm_end_phase(c, error));
    mine.threads = omp_get_max_threads(); /* of threads of one process, already divided */
    if (comm_world_expected()) {
        int sharers = 0; /* of the cores of this rank */
        for (int i = 0; i < c->size; i++)
            sharers += place[i].cores == mine.cores && strcmp(place[i].host, mine.host) == 0;
        mine.threads = cmd_set_threads(common->threads, sharers);
        threads_start(error);
        TRY(comm_end_phase(c, error));
    }
    return comm_allgather(c, &mine, sizeof mine, place, error);
}

struct rank_request rank_split(const struct cmd_common *common, const struct backend_kind *kind,
                               const struct rank_place *place, const struct comm *c,
                               const char *path)
{
    const enum precision precision = precision_last(common->options.problem.precision);
    struct rank_request request = {
        .path = path, .tns = &common->tns, .csv = &common->csv, .values = common->values};
    if (!place)
        return request;
    request.modes = common->ranks.modes;
    request.row_bytes = common->options.problem.rank * precision_bytes(precision);
    request.by_rows = problem_by_rows(&common->options.problem);
    request.packed = kind->takes_parts;
    request.machine = (struct rank_machine){
        .device = kind->device != NULL, .one_host = true, .threads = place[c->rank].threads};
    for (int i = 1; i < c->size; i++)
        request.machine.one_host &= strcmp(place[i].host, place[0].host) == 0;
    memcpy(request.parts, common->ranks.parts, sizeof request.parts);
    return request;
}

enum status rank_meet(struct device_comm **devices, struct backend_wake *wake, struct comm *c,
                      struct error *error)
{
    const struct backend_kind *kind = wake->kind;
    *devices = NULL;
    if (backend_wake_wait(wake, error) != STATUS_OK)
        error_prefix(error, "backend %s: GPU %d: ", kind->name, wake->device);
    if (kind->wake)
        TRY(comm_allreduce_error(c, error));
    return kind->meet ? kind->meet(devices, c, wake->device, error) : STATUS_OK;
}
