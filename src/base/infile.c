#include "base/infile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

#define PIECE ((size_t)1 << 18) /* bytes that a thread reads at a time */

static enum status cannot_read(const char *name, const char *reason, struct error *error)
{
    return error_set(error, STATUS_INPUT, "%s: cannot be read: %s", name, reason);
}

enum status infile_open(struct infile *f, const char *path, struct error *error)
{
    struct stat s;
    *f = (struct infile){.name = path};
    f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* opening a pipe must not wait */
    if (f->fd < 0 || fstat(f->fd, &s) != 0)
        cannot_read(path, strerror(errno), error);
    else if (!S_ISREG(s.st_mode))
        cannot_read(path, S_ISDIR(s.st_mode) ? "it is a directory" : "it is not a regular file",
                    error);
    else
        f->size = (uint64_t)s.st_size;
    if (error->status != STATUS_OK)
        infile_close(f);
    return error->status;
}

void infile_close(struct infile *f)
{
    if (f->name && f->fd >= 0)
        close(f->fd);
    *f = (struct infile){.fd = -1};
}

int infile_read_bytes(int fd, void *bytes, size_t size, uint64_t offset)
{
    for (char *to = bytes; size > 0;) {
        ssize_t got = pread(fd, to, size, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? errno : -1;
        to += got;
        size -= (size_t)got;
        offset += (uint64_t)got;
    }
    return 0;
}

enum status infile_read(const struct infile *f, void *bytes, size_t size, uint64_t offset,
                        struct error *error)
{
    const size_t pieces = (size + PIECE - 1) / PIECE;
    int failure = 0;
#pragma omp parallel for schedule(dynamic) if (pieces > 1)
    for (size_t p = 0; p < pieces; p++) {
        size_t first = p * PIECE, length = size - first < PIECE ? size - first : PIECE;
        int code = infile_read_bytes(f->fd, (char *)bytes + first, length, offset + first);
        if (code) {
#pragma omp atomic write
            failure = code;
        }
    }
    if (failure < 0)
        return error_set(error, STATUS_INPUT, "%s: became shorter while it was read", f->name);
    if (failure)
        return cannot_read(f->name, strerror(failure), error);
    return STATUS_OK;
}

char *infile_whole(const char *path, size_t *size, struct error *error)
{
    struct infile f;
    char *bytes = NULL;
    *size = 0;
    if (infile_open(&f, path, error) != STATUS_OK)
        return NULL;
    bytes = memory_array(f.size, 1, error);
    if (bytes && infile_read(&f, bytes, f.size, 0, error) == STATUS_OK)
        *size = f.size;
    infile_close(&f);
    if (error->status == STATUS_OK)
        return bytes;
    memory_free(bytes);
    return NULL;
}
