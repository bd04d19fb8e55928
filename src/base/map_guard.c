#include "base/map_guard.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/last_words.h"

#define NAME_BYTES 1024

/* The handler reads the table while threads may change it: `end` is set last and cleared first. */
static struct {
    atomic_flag taken;
    atomic_uintptr_t begin, end;
    char name[NAME_BYTES];
} map[MAP_GUARD_MAPS] = {{.taken = ATOMIC_FLAG_INIT}};

static int exit_status;
static struct sigaction before;

static void on_bus_error(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    uintptr_t at = (uintptr_t)info->si_addr;
    for (int i = 0; i < MAP_GUARD_MAPS; i++)
        if (at < atomic_load(&map[i].end) && at >= atomic_load(&map[i].begin)) {
            last_words(map[i].name, "became shorter while it was read, or its disk failed");
            _exit(exit_status);
        }
    sigaction(SIGBUS, &before, NULL); /* the access is made again, with the handler before */
}

void map_guard_install(const char *program, int status)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    last_words_begin(program);
    exit_status = status;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, &before);
}

void map_guard_add(const void *begin, size_t bytes, const char *name)
{
    for (int i = 0; i < MAP_GUARD_MAPS; i++) {
        if (atomic_flag_test_and_set(&map[i].taken))
            continue;
        strncpy(map[i].name, name, NAME_BYTES - 1);
        atomic_store(&map[i].begin, (uintptr_t)begin);
        atomic_store(&map[i].end, (uintptr_t)begin + bytes);
        return;
    }
}

void map_guard_remove(const void *begin)
{
    for (int i = 0; i < MAP_GUARD_MAPS; i++)
        if (atomic_load(&map[i].end) && atomic_load(&map[i].begin) == (uintptr_t)begin) {
            atomic_store(&map[i].end, 0);
            atomic_flag_clear(&map[i].taken);
            return;
        }
}
