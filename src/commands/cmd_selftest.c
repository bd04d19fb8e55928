/* blco selftest: known answers on every backend, device and number of ranks of this machine. */
#include "commands/cmd.h"

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/threads.h"
#include "base/version.h"
#include "comm/comm_world.h"
#include "commands/machine_choice.h"
#include "commands/options/cmd_common.h"
#include "commands/ranks_join.h"
#include "selftest/selftest.h"

/* --- a folder for the files of a self-test, in the temporary folder (TMPDIR, else /tmp) --- */

#define SCRATCH_ROOM 4096 /* of a path, the terminating zero included */

/* The folder that the end of the process removes, should it come before scratch_folder_remove:
 * within OpenMP, say, which starts no thread. */
static char made[SCRATCH_ROOM];

/* Removes the folder and the files in it; accepts an empty path. */
static void scratch_folder_remove(const char *path)
{
    DIR *folder = *path ? opendir(path) : NULL;
    if (!folder)
        return;
    for (struct dirent *entry; (entry = readdir(folder));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
    rmdir(path);
    made[0] = '\0';
}

static void remove_made(void)
{
    scratch_folder_remove(made);
}

static const int fatal[] = {SIGINT, SIGTERM, SIGHUP};
static sem_t arrived; /* takes no open file, as a pipe would: a limit may leave none */
static volatile sig_atomic_t number;

static void on_signal(int n)
{
    number = n;
    sem_post(&arrived);
}

/* Removes the folder when a signal comes, and ends the process as if it had no handler. Other
 * threads may still write to the folder. */
static void *wait_for_signal(void *unused)
{
    char path[SCRATCH_ROOM];
    (void)unused;
    while (sem_wait(&arrived) != 0)
        ;
    memcpy(path, made, sizeof path);
    for (int tries = 0; tries < 1000 && access(path, F_OK) == 0; tries++)
        scratch_folder_remove(path);
    signal(number, SIG_DFL);
    raise(number);
    return NULL;
}

/* Makes the folder, one at a time; path (SCRATCH_ROOM) receives its name. An exit(), SIGINT,
 * SIGTERM or SIGHUP removes the folder, too. STATUS_OUTPUT, and path is empty. */
static enum status scratch_folder_make(char *path, struct error *error)
{
    pthread_t thread;
    struct sigaction now, action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    const char *temporary = getenv("TMPDIR");
    const char *parent = temporary && *temporary ? temporary : "/tmp";
    int length = snprintf(path, SCRATCH_ROOM, "%s/blco-selftest-XXXXXX", parent);
    if (length >= SCRATCH_ROOM)
        error_set(error, STATUS_OUTPUT, "%s: the name is too long", parent);
    else if (!mkdtemp(path))
        error_set(error, STATUS_OUTPUT, "%s: no folder can be made there: %s", parent,
                  strerror(errno));
    if (error->status != STATUS_OK)
        path[0] = '\0';
    else if (atexit(remove_made) == 0)
        memcpy(made, path, SCRATCH_ROOM);
    /* Where no thread can be started, a signal leaves the folder. One that is ignored stays so. */
    if (!made[0] || sem_init(&arrived, 0, 0) != 0 ||
        pthread_create(&thread, NULL, wait_for_signal, NULL) != 0)
        return error->status;
    pthread_detach(thread);
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        if (sigaction(fatal[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaction(fatal[i], &action, NULL);
    return error->status;
}

/* --- the command --- */

#define MOST_HOST_RANKS 3

struct settings {
    struct cmd_common common;
    bool verbose, json;
    bool host, cuda;      /* which backends are tested             */
    struct error why_not; /* cuda is wanted, but not there         */
};

static const struct cli_option selftest_options[] = {
    {"--backend", 0, "NAME", "{words} ({default}: host, and cuda where a\nGPU answers)",
     CMD_BACKEND},
    {"--gpus", 0, "N|all|LIST",
     "test N GPUs of this machine, all, or those with these\nnumbers, as 0,2 (all)", CMD_GPUS},
    CMD_THREADS,
    {"--verbose", 'v', NULL, "show each answer, and what was expected",
     CLI_FLAG(struct settings, verbose), .excludes = "--json --quiet", .may_differ = true},
    {"--json", 0, NULL, "print JSON in place of text", CLI_FLAG(struct settings, json)},
    {.name = NULL}};

static const struct cli_section sections[] = {
    {"Self-test", selftest_options}, {"General", cmd_plain_options}, {NULL, NULL}};

/* Says what is tested, and does what needs no backend. */
static void run_files(struct selftest *t, const struct settings *s, const char *folder)
{
    if (!t->quiet && !t->json)
        printf("blco %s\n", version_text);
    if (!t->quiet && !t->json && s->why_not.status != STATUS_OK)
        printf("no GPU: CUDA not tested (%s)\n", s->why_not.message);
    t->folder = folder;
    selftest_run_files(t);
}

/* In one process. */
static enum status run_process(const struct settings *s, struct selftest *t, struct error *error)
{
    const struct cmd_gpus *gpus = &s->common.gpus;
    char folder[SCRATCH_ROOM], where[32];
    cmd_set_threads(s->common.threads, 1);
    TRY(threads_start(error));
    TRY(scratch_folder_make(folder, error));
    run_files(t, s, folder);
    if (s->host) {
        selftest_run_alone(t, &backend_host, 0, "host");
        for (int ranks = 2; ranks <= MOST_HOST_RANKS; ranks++) {
            snprintf(where, sizeof where, "host, %d ranks", ranks);
            selftest_run_team(t, &backend_host, ranks, NULL, where);
        }
    }
    for (int i = 0; i < gpus->count && s->cuda; i++) {
        snprintf(where, sizeof where, "GPU %d", gpus->device[i]);
        selftest_run_alone(t, &backend_cuda, gpus->device[i], where);
    }
    if (s->cuda && gpus->count > 1) {
        snprintf(where, sizeof where, "%d GPUs together", gpus->count);
        selftest_run_team(t, &backend_cuda, gpus->count, gpus->device, where);
    }
    scratch_folder_remove(folder);
    return STATUS_OK;
}

/* On the processes together, where they work on the host, or each on a GPU. */
static enum status run_together(const struct settings *s, struct selftest *t,
                                const struct backend_kind *kind, struct comm *c,
                                struct error *error)
{
    char where[48];
    struct backend_wake wake;
    struct device_comm *devices = NULL;
    struct rank_place *place = memory_zeros((size_t)c->size, sizeof *place, error);
    snprintf(where, sizeof where, "%s, %d processes", kind->devices ? "GPUs" : "host", c->size);
    TRY_OR(done, comm_end_phase(c, error));
    TRY_OR(done, rank_places(place, c, &s->common, kind, error));
    backend_wake_begin(&wake, kind, place[c->rank].device);
    TRY_OR(done, rank_meet(&devices, &wake, c, error));
    const struct selftest_place here = {.kind = kind,
                                        .device = place[c->rank].device,
                                        .host_memory =
                                            machine_memory_budget(0) / (uint64_t)c->local_size,
                                        .comm = c,
                                        .devices = devices,
                                        .folder = t->folder};
    selftest_run_rank(t, &here, where, error);
done:
    if (devices)
        kind->leave(devices);
    memory_free(place);
    return error->status;
}

/* In several processes, all of which test CUDA where all can. */
static enum status run_processes(const struct settings *s, struct selftest *t, struct comm *c,
                                 struct error *error)
{
    char folder[SCRATCH_ROOM] = "";
    int without = !s->cuda;
    TRY(comm_allreduce_max(c, &without, error));
    if (c->rank == 0)
        scratch_folder_make(folder, error);
    TRY_OR(done, comm_end_phase(c, error));
    TRY_OR(done, comm_bcast(c, 0, folder, SCRATCH_ROOM, error));
    int unseen = access(folder, W_OK) != 0; /* on any rank */
    TRY_OR(done, comm_allreduce_max(c, &unseen, error));
    if (c->rank == 0)
        run_files(t, s, folder);
    t->folder = unseen ? NULL : folder;
    if (s->host)
        TRY_OR(done, run_together(s, t, &backend_host, c, error));
    if (!without)
        run_together(s, t, &backend_cuda, c, error);
done:
    if (c->rank == 0)
        scratch_folder_remove(folder);
    return error->status;
}

static enum status run(void *settings, const struct cli_line *line, struct error *error)
{
    struct settings *s = settings;
    const struct backend_kind *kind;
    struct comm *world = NULL;
    struct json j;
    struct selftest t = {.stream = stdout,
                         .json = s->json ? &j : NULL,
                         .quiet = s->common.quiet,
                         .verbose = s->verbose};
    const double start = clock_now();
    json_begin(&j, error);
    if (error->status == STATUS_OK)
        cli_no_operand(line, error);
    if (comm_world_expected())
        ranks_join(&world, line, sections, error);
    TRY_OR(done, error->status);
    s->common.gpus.all_unless_given = true;
    machine_choose_now(&s->common, &kind, &s->why_not, error);
    if (world)
        comm_end_phase(world, error);
    TRY_OR(done, error->status);
    s->host = strcmp(s->common.backend, "cuda") != 0;
    s->cuda = kind == &backend_cuda;
    json_put_object(&j, NULL);
    json_put_string(&j, "version", version_text);
    json_put_array(&j, "checks");
    world ? run_processes(s, &t, world, error) : run_process(s, &t, error);
    TRY_OR(done, error->status);
    if (comm_world_rank() == 0) { /* what it has found out is the verdict of all */
        const double seconds = clock_now() - start;
        json_end(&j);
        json_put_unsigned(&j, "passed", (uint64_t)t.passed);
        json_put_unsigned(&j, "failed", (uint64_t)t.failed);
        json_put_number(&j, "seconds", seconds);
        json_end(&j);
        if (t.json)
            cmd_print_json(&j);
        else if (!t.quiet)
            printf("%d checks passed, %d failed, in %.1f s\n", t.passed, t.failed, seconds);
        selftest_verdict(&t, error);
    }
    if (world)
        comm_end_phase(world, error);
done:
    json_free(&j);
    comm_finalize(world);
    return error->status;
}

const struct command cmd_selftest = {
    .name = "selftest",
    .summary = "check known answers on every backend and GPU of this machine",
    .usage = "Usage: blco selftest [OPTION]...\n\nChecks known answers on the host, on each GPU of "
             "this machine, on all GPUs\ntogether, and on several ranks; if mpirun or srun starts "
             "several processes, on\nall of them together. Prints one line for each check: PASS or "
             "FAIL, what, where,\nhow long, and for a failed check the answer and the expected "
             "one. With -q, only\nfailed checks are shown. Takes less than a minute. Its files are "
             "in the\ntemporary folder (TMPDIR) and are removed.\n",
    .ending = "\nExit status: 0 all checks passed, 1 a check failed, 2 usage, 3 memory, 5 "
              "the\ntemporary folder cannot be used. More in blco-selftest(1).\n",
    .sections = sections,
    .settings = sizeof(struct settings),
    .run = run,
    .together = true,
};
