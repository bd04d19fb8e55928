#include "comm/comm_world.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/version.h"
#include "comm/comm_plugin.h"

#define PLUGIN "blco-mpi.so"

/* The variables in which a launcher gives a process the number of processes, its place among all,
 * and its place on its host. */
struct launcher {
    const char *size, *rank, *local_rank;
};

/* The first launcher that has set its variables counts: mpirun runs within a batch job or a step of
 * Slurm, never the other way round. SLURM_NTASKS would also be set in a batch job that is no step.
 * MPICH, Intel MPI, Flux and `srun --mpi=pmi2` set PMI_*; some of them set no local rank. */
static const struct launcher launchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {"PMI_SIZE", "PMI_RANK", "MPI_LOCALRANKID"},
    {"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_LOCALID"},
};

/* The place of this process according to the launcher. */
struct place {
    int size, rank, local_rank;
};

static const struct comm_plugin *plugin; /* once it is loaded                */
static bool called;                      /* comm_world has been called       */
static bool joined;                      /* with success, of several processes */
static bool several_hosts;               /* on which they run */

/* The number in a variable, or -1. */
static int variable(const char *name)
{
    const char *text = getenv(name), *end = text ? text + strlen(text) : NULL;
    uint64_t value;
    if (!text || !*text || number_parse_unsigned(text, end, &value) != end || value > INT_MAX)
        return -1;
    return (int)value;
}

static struct place place(void)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        const struct launcher *l = &launchers[i];
        struct place p = {variable(l->size), variable(l->rank), variable(l->local_rank)};
        if (p.rank >= 0 && p.rank < p.size) {
            p.local_rank = p.local_rank >= 0 ? p.local_rank : p.rank;
            return p;
        }
    }
    return (struct place){1, 0, 0};
}

int comm_world_size(void)
{
    return place().size;
}

int comm_world_rank(void)
{
    return place().rank;
}

bool comm_world_expected(void)
{
    return place().size > 1;
}

/* The path of the plugin: beside the program or, of an installed program, in ../lib/blco. The
 * caller frees the path. */
static char *find_plugin(struct error *error)
{
    static const char *const folders[] = {"", "../lib/blco/"};
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    program[length < 0 ? 0 : length] = '\0';
    char *slash = strrchr(program, '/');
    if (slash)
        slash[1] = '\0';
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        char *path = memory_text(error, "%s%s%s", program, folders[i], PLUGIN);
        if (!path || access(path, F_OK) == 0)
            return path;
        memory_free(path);
    }
    error_set(error, STATUS_INPUT,
              "%d processes were started to work together, but this blco was built without MPI: "
              "there is no " PLUGIN " in %s nor in %s../lib/blco",
              comm_world_size(), program, program);
    return NULL;
}

/* Loads the plugin, which stays loaded to the end, for the process ends through it; and initialises
 * MPI. */
static enum status init_world(struct comm **c, double patience, struct error *error)
{
    const int expected = comm_world_size();
    char *path = find_plugin(error);
    if (!path)
        return error->status;
    void *object = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    const struct comm_plugin *found = object ? dlsym(object, "comm_plugin") : NULL;
    if (!found) {
        const char *why = dlerror();
        error_set(error, STATUS_INPUT, "MPI cannot be loaded: %s", why ? why : path);
    } else if (strcmp(found->version, version_text) != 0) {
        error_set(error, STATUS_INPUT, "%s is of blco %s, but this is blco %s", path,
                  found->version, version_text);
    }
    memory_free(path);
    TRY(error->status);
    plugin = found;
    TRY(plugin->init(c, patience, comm_world_rank(), error));
    if ((*c)->size == expected)
        return STATUS_OK;
    return error_set(error, STATUS_INPUT,
                     "MPI sees %d process%s, but the launcher started %d: it is not a launcher of "
                     "the MPI that blco was built with (with Slurm: srun --mpi=pmix)",
                     (*c)->size, (*c)->size == 1 ? "" : "es", expected);
}

/* Where the processes do not find each other, the first process of each host prints why: the plugin
 * may be missing on one host only. */
enum status comm_world(struct comm **c, double patience, struct error *error)
{
    called = true;
    *c = NULL;
    if (!comm_world_expected()) {
        *c = comm_self(error);
        return error->status;
    }
    TRY_OR(failed, init_world(c, patience, error));
    joined = true;
    several_hosts = (*c)->local_size < (*c)->size;
    return STATUS_OK;
failed:
    if ((!plugin || *c) && place().local_rank != 0)
        error->message[0] = '\0';
    else if (!plugin)
        comm_name_rank(comm_world_rank(), true, error);
    comm_finalize(*c);
    *c = NULL;
    return error->status;
}

bool comm_world_tells(struct error *error)
{
    bool tells = error->message[0] != '\0' && (called || comm_world_rank() == 0);
    if (tells && plugin) {
        tells = plugin->tells();
        if (plugin->ends_all())
            comm_name_rank(comm_world_rank(), several_hosts, error);
    } else if (!tells && !joined) {
        nanosleep(&(struct timespec){.tv_nsec = 500000000}, NULL); /* another prints meanwhile */
    }
    return tells;
}
