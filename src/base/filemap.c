#include "base/filemap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/last_words.h"

static enum status cannot_read(const char *path, const char *reason, struct error *error)
{
    return error_set(error, STATUS_INPUT, "%s: cannot be read: %s", path, reason);
}

enum status filemap_open(struct filemap *map, const char *path, struct error *error)
{
    *map = (struct filemap){.bytes = ""};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* opening a pipe must not wait */
    if (fd < 0)
        return cannot_read(path, strerror(errno), error);
    struct stat s;
    void *bytes;
    if (fstat(fd, &s) != 0) {
        cannot_read(path, strerror(errno), error);
    } else if (!S_ISREG(s.st_mode)) {
        cannot_read(path, S_ISDIR(s.st_mode) ? "it is a directory" : "it is not a regular file",
                    error);
    } else if (s.st_size > 0) {
        bytes = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes == MAP_FAILED) {
            cannot_read(path, strerror(errno), error);
        } else {
            *map = (struct filemap){.bytes = bytes, .size = (size_t)s.st_size};
            map_guard_add(map->bytes, map->size, path);
        }
    }
    close(fd);
    return error->status;
}

void filemap_let_go(const struct filemap *map, size_t begin, size_t end)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    begin = begin / page * page; /* the last page is kept: the reader goes on in it */
    end = end / page * page;
    if (begin < end && end <= map->size)
        madvise((void *)(uintptr_t)(map->bytes + begin), end - begin, MADV_DONTNEED); /* a hint */
}

void filemap_close(struct filemap *map)
{
    map_guard_remove(map->bytes);
    if (map->size > 0)
        munmap((void *)(uintptr_t)map->bytes, map->size);
    *map = (struct filemap){.bytes = ""};
}

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
