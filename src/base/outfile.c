#include "base/outfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <omp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/infile.h"
#include "base/memory.h"

#define PREFIX     ".blco-" /* of temporary names */
#define KEY_DIGITS 16

enum status outfile_refuse(const char *path, const char *reason, struct error *error)
{
    return error_set(error, STATUS_OUTPUT, "%s: cannot be written: %s", path, reason);
}

/* Bytes of the path up to and including its last slash. */
static int folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash - path) + 1 : 0;
}

/* Refuses early what would otherwise fail only when the file is renamed, perhaps after hours. */
static enum status check_path(const char *path, struct error *error)
{
    struct stat s;
    char folder[PATH_MAX], real[PATH_MAX];
    size_t length = strlen(path);
    if (length == 0 || path[length - 1] == '/')
        return outfile_refuse(path, "not a file name", error);
    if (stat(path, &s) != 0)
        return errno == ENOENT ? STATUS_OK : outfile_refuse(path, strerror(errno), error);
    if (S_ISDIR(s.st_mode))
        return outfile_refuse(path, "it is a directory", error);
    /* A rename would take /dev/stdout from the system. */
    const bool found =
        snprintf(folder, sizeof folder, "%.*s.", folder_length(path), path) < PATH_MAX &&
        realpath(folder, real);
    if (!S_ISREG(s.st_mode) ||
        (found && (strcmp(real, "/dev") == 0 || strncmp(real, "/proc/", strlen("/proc/")) == 0)))
        return outfile_refuse(path, "it is not a regular file", error);
    if (access(path, W_OK) != 0)
        return outfile_refuse(path, strerror(errno), error);
    return STATUS_OK;
}

/* A number of this host, in the upper half of a key. */
static uint64_t host_mark(void)
{
    char host[256] = "";
    uint32_t mark = 2166136261u; /* FNV-1a: http://www.isthe.com/chongo/tech/comp/fnv/ */
    gethostname(host, sizeof host - 1);
    for (const char *c = host; *c; c++)
        mark = (mark ^ (unsigned char)*c) * 16777619u;
    return (uint64_t)mark << 32;
}

uint64_t outfile_new_key(void)
{
    uint32_t key;
    if (getrandom(&key, sizeof key, 0) != sizeof key)
        key = (uint32_t)getpid();
    return host_mark() | key;
}

enum status outfile_name(struct outfile *f, const char *path, uint64_t key, struct error *error)
{
    *f = (struct outfile){.fd = -1, .key = key};
    const int folder = folder_length(path);
    f->path = memory_text(error, "%s", path);
    f->folder = memory_text(error, "%.*s.", folder, path);
    f->temporary = memory_text(error, "%.*s" PREFIX "%016" PRIx64, folder, path, key);
    f->saved = memory_text(error, "%.*s" PREFIX "%016" PRIx64 "-old", folder, path, key);
    if (error->status != STATUS_OK)
        outfile_discard(f);
    return error->status;
}

/* Gives an unnamed file its first name. */
static int link_unnamed(int fd, const char *name)
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, link, AT_FDCWD, name, AT_SYMLINK_FOLLOW);
}

/* Opens an unnamed file in the folder; -1 where that or naming the file later is not possible. Some
 * file systems have unnamed files but cannot name them, and /proc may be missing. So a second file
 * is named as a trial: at the end it would be too late. */
static int open_unnamed(const char *folder, const char *trial_name)
{
    int flags = O_TMPFILE | O_WRONLY | O_CLOEXEC;
    int trial = open(folder, flags, 0666);
    if (trial < 0)
        return -1;
    int linked = link_unnamed(trial, trial_name);
    close(trial);
    if (linked != 0)
        return -1;
    unlink(trial_name);
    return open(folder, flags, 0666);
}

/* Reports that no file was opened, for the reason in errno, and empties *f. */
static enum status check_open(struct outfile *f, const char *path, struct error *error)
{
    if (f->fd >= 0)
        return STATUS_OK;
    outfile_refuse(path, errno == ENOENT ? "there is no such folder" : strerror(errno), error);
    outfile_discard(f);
    return error->status;
}

enum status outfile_open(struct outfile *f, const char *path, struct error *error)
{
    *f = (struct outfile){.fd = -1};
    TRY(check_path(path, error));
    TRY(outfile_name(f, path, outfile_new_key(), error));
    f->fd = open_unnamed(f->folder, f->temporary);
    if (f->fd >= 0) {
        flock(f->fd, LOCK_EX | LOCK_NB); /* before the file has a name */
        return STATUS_OK;
    }
    /* outfile_clean() may come before the lock, and take the name away. */
    struct stat s = {.st_nlink = 0};
    while (s.st_nlink == 0 &&
           (f->fd = open(f->temporary, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666)) >= 0) {
        flock(f->fd, LOCK_EX | LOCK_NB);
        if (fstat(f->fd, &s) != 0)
            break;
        if (s.st_nlink == 0)
            close(f->fd);
    }
    f->named = f->fd >= 0;
    return check_open(f, path, error);
}

enum status outfile_check(const char *path, struct error *error)
{
    struct outfile trial;
    TRY(outfile_open(&trial, path, error));
    outfile_discard(&trial);
    return outfile_clean(path, error);
}

enum status outfile_open_scratch(struct outfile *f, const char *path, struct error *error)
{
    TRY(outfile_name(f, path, outfile_new_key(), error));
    f->fd = open(f->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (f->fd < 0) {
        f->fd = open(f->temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
        if (f->fd >= 0)
            unlink(f->temporary);
    }
    return check_open(f, path, error);
}

/* Writes at `offset`, or at the end of what is written where it is negative. */
static enum status write_bytes(struct outfile *f, const char *bytes, size_t size, off_t offset,
                               struct error *error)
{
    while (size > 0) {
        const ssize_t written =
            offset < 0 ? write(f->fd, bytes, size) : pwrite(f->fd, bytes, size, offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0 && errno == EPIPE && f->fd == STDOUT_FILENO)
            return error_set(error, STATUS_UNREAD, "standard output: nobody reads it any more");
        if (written < 0)
            return outfile_refuse(f->path, strerror(errno), error);
        bytes += written;
        size -= (size_t)written;
        offset += offset < 0 ? 0 : written;
    }
    return STATUS_OK;
}

enum status outfile_write(struct outfile *f, const void *bytes, size_t size, struct error *error)
{
    return write_bytes(f, bytes, size, -1, error);
}

enum status outfile_write_at(struct outfile *f, const void *bytes, size_t size, size_t offset,
                             struct error *error)
{
    return write_bytes(f, bytes, size, (off_t)offset, error);
}

enum status outfile_read_at(const struct outfile *f, void *bytes, size_t size, size_t offset,
                            struct error *error)
{
    const int failure = infile_read_bytes(f->fd, bytes, size, offset);
    if (!failure)
        return STATUS_OK;
    return error_set(error, STATUS_OUTPUT, "%s: a temporary file cannot be read back: %s", f->path,
                     failure > 0 ? strerror(failure) : "it is too short");
}

enum status outfile_resize(struct outfile *f, size_t size, struct error *error)
{
    int result;
    while ((result = ftruncate(f->fd, (off_t)size)) != 0 && errno == EINTR)
        ;
    return result == 0 ? STATUS_OK : outfile_refuse(f->path, strerror(errno), error);
}

void outfile_begin_sync(struct outfile *f, size_t size, size_t offset)
{
    (void)sync_file_range(f->fd, (off_t)offset, (off_t)size, SYNC_FILE_RANGE_WRITE);
}

enum status outfile_complete(struct outfile *f, struct error *error)
{
    int result;
    while ((result = fsync(f->fd)) != 0 && errno == EINTR)
        ;
    if (result != 0)
        return outfile_refuse(f->path, strerror(errno), error);
    if (!f->named && link_unnamed(f->fd, f->temporary) != 0)
        return outfile_refuse(f->path, strerror(errno), error);
    f->named = 1;
    return STATUS_OK;
}

enum status outfile_sync_folder(const struct outfile *f, struct error *error)
{
    int fd = open(f->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return STATUS_OK;
    int result = fsync(fd);
    int reason = errno;
    close(fd);
    if (result != 0 && reason == EIO)
        return outfile_refuse(f->path, strerror(reason), error);
    return STATUS_OK;
}

enum status outfile_rename(struct outfile *f, const char *from, const char *to, struct error *error)
{
    return rename(from, to) == 0 ? STATUS_OK : outfile_refuse(f->path, strerror(errno), error);
}

enum status outfile_commit(struct outfile *f, struct error *error)
{
    TRY_OR(done, outfile_complete(f, error));
    TRY_OR(done, outfile_rename(f, f->temporary, f->path, error));
    f->named = 0;
    outfile_sync_folder(f, error);
done:
    outfile_discard(f);
    return error->status;
}

void outfile_discard(struct outfile *f)
{
    if (f->path && f->fd >= 0) /* no path: never opened, or already ended */
        close(f->fd);
    if (f->temporary && f->named)
        unlink(f->temporary);
    memory_free(f->path, f->folder, f->temporary, f->saved);
    *f = (struct outfile){.fd = -1};
}

/* Whether the name is a temporary one of this host. */
static bool is_temporary_here(const char *name)
{
    if (strncmp(name, PREFIX, strlen(PREFIX)) != 0)
        return false;
    const char *key = name + strlen(PREFIX);
    return strlen(key) == KEY_DIGITS && strspn(key, "0123456789abcdef") == KEY_DIGITS &&
           strtoull(key, NULL, 16) >> 32 == host_mark() >> 32;
}

enum status outfile_clean(const char *path, struct error *error)
{
    char *name = memory_text(error, "%.*s.", folder_length(path), path);
    DIR *folder = name ? opendir(name) : NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        const int flags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
        const int fd =
            is_temporary_here(entry->d_name) ? openat(dirfd(folder), entry->d_name, flags) : -1;
        struct stat s;
        if (fd < 0)
            continue;
        if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode) && flock(fd, LOCK_EX | LOCK_NB) == 0)
            unlinkat(dirfd(folder), entry->d_name, 0); /* no process has it locked */
        close(fd);
    }
    if (folder)
        closedir(folder);
    memory_free(name);
    return error->status;
}

#define WRITERS 4                 /* more are no faster on one disk                              */
#define PIECE   ((size_t)8 << 20) /* bytes: large for the disk, small beside what is written     */

/* The writers begin with different extents: a file system may let one thread alone write to a
 * file. */
enum status outfile_write_extents(const struct outfile_extent *extents, int count,
                                  struct error *error)
{
    size_t taken[OUTFILE_MOST_EXTENTS] = {0}, pieces = 0; /* bytes that a writer has taken */
    bool failed = false;                                  /* *error has the reason         */
    for (int i = 0; i < count; i++)
        pieces += (extents[i].size + PIECE - 1) / PIECE;
    const int writers = pieces < 1 ? 1 : pieces < WRITERS ? (int)pieces : WRITERS;
#pragma omp parallel num_threads(writers)
    for (int i = 0; i < count; i++) {
        const int k = (omp_get_thread_num() * count / writers + i) % count;
        const struct outfile_extent *x = &extents[k];
        while (!__atomic_load_n(&failed, __ATOMIC_ACQUIRE)) {
            const size_t at = __atomic_fetch_add(&taken[k], PIECE, __ATOMIC_RELAXED);
            struct error failure = {0};
            if (at >= x->size)
                break;
            const size_t size = x->size - at < PIECE ? x->size - at : PIECE;
            outfile_write_at(x->file, (const char *)x->bytes + at, size, x->offset + at, &failure);
            if (failure.status == STATUS_OK && x->size > PIECE)
                outfile_begin_sync(x->file, size, x->offset + at);
            if (failure.status != STATUS_OK &&
                !__atomic_exchange_n(&failed, true, __ATOMIC_ACQ_REL))
                *error = failure;
        }
    }
    return error->status;
}
