/* A program that comm_mpi.bats starts as several processes, and which ends as blco does.
 * Usage: mpi_comm WORK. The work "maps" prints how many parts of MPI's library are loaded. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "comm/comm_world.h"
#include "support/comm_work.h"

/* Every work; says which one has failed. */
static enum status work_all(struct comm *c, struct error *error)
{
    static const struct {
        const char *name;
        comm_check_work *work;
    } works[] = {
#define ENTRY(name) {#name, name},
        COMM_WORKS(ENTRY)};
    bool known = c->rank == comm_world_rank() && c->size == comm_world_size() &&
                 c->local_rank == c->rank && c->local_size == c->size &&
                 c->shares_memory == (c->size == 1);
    if (!known)
        error_set(error, STATUS_INTERNAL, "a wrong rank or size");
    for (size_t i = 0; i < sizeof works / sizeof *works; i++)
        if (!works[i].work(c))
            error_set(error, STATUS_INTERNAL, "%s went wrong", works[i].name);
    return comm_end_phase(c, error);
}

/* Works on until another process fails. */
static enum status work_on(struct comm *c, struct error *error)
{
    double x[100] = {0};
    while (comm_allreduce_sum(c, x, 100, error) == STATUS_OK)
        ;
    return error->status;
}

/* An operation of the last rank finds no memory while the others work on. */
static enum status work_without_memory(struct comm *c, bool splits, struct error *error)
{
    double x[100] = {0};
    struct comm *part = NULL;
    if (c->rank < c->size - 1)
        return splits ? comm_split(c, 0, &part, error) : work_on(c, error);
    memory_hook_set(0);
    return splits ? comm_split(c, 0, &part, error) : comm_allreduce_sum(c, x, 100, error);
}

/* The last rank fails in the way that `word` says while the others work on. */
static enum status work_and_fail(struct comm *c, const char *word, struct error *error)
{
    if (c->rank < c->size - 1)
        return work_on(c, error);
    usleep(300000);
    error_set(error, STATUS_MEMORY, "no memory left");
    if (strcmp(word, "abort") == 0) {
        struct error second = {0};
        double x = 1;
        comm_abort(c, error);
        if (comm_allreduce_sum(c, &x, 1, &second) != STATUS_MEMORY ||
            comm_check(c, &second) != STATUS_MEMORY)
            error->message[0] = '\0';
    }
    return error->status;
}

static enum status work(struct comm *c, const char *word, struct error *error)
{
    if (strcmp(word, "all") == 0)
        return work_all(c, error);
    if (strcmp(word, "end_phase") == 0) {
        if (c->rank == c->size - 1)
            error_set(error, STATUS_OUTPUT, "no room left");
        return comm_end_phase(c, error);
    }
    if (strcmp(word, "sum") == 0 || strcmp(word, "split") == 0)
        return work_without_memory(c, strcmp(word, "split") == 0, error);
    if (strcmp(word, "forever") == 0) {
        printf("process %d\n", getpid());
        fflush(stdout);
        return work_on(c, error);
    }
    if (strcmp(word, "maps") == 0) {
        char command[64];
        snprintf(command, sizeof command, "grep -c libmpi /proc/%d/maps", getpid());
        return system(command) == -1 ? STATUS_INTERNAL : STATUS_OK;
    }
    return work_and_fail(c, word, error);
}

int main(int argc, char **argv)
{
    struct error error = {0};
    struct comm *c = NULL;
    const char *word = argc == 2 ? argv[1] : "";
    if (*word == '\0')
        error_set(&error, STATUS_INPUT, "a work is expected");
    else if (strcmp(word, "absent") == 0 && comm_world_rank() == comm_world_size() - 1)
        return 0; /* before the others have begun to meet, as a rule */
    else if (comm_world(&c, strcmp(word, "absent") == 0 ? 3 : 60, &error) == STATUS_OK)
        work(c, word, &error);
    if (strcmp(word, "leave") != 0) /* without a word to anybody */
        comm_finalize(c);
    if (error.status != STATUS_OK && comm_world_tells(&error))
        fprintf(stderr, "mpi_comm: %s\n", error.message);
    return (int)error.status;
}
