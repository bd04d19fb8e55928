#include "base/filemap.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/map_guard.h"

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
