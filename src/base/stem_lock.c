#include "base/stem_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

#define HEAD       "blco, process " /* begins the first line of a lock's file */
#define MOST_BYTES 8192 /* of a lock's file: a line for each file of a model, and some more */

static enum status cannot_lock(const char *path, const char *reason, struct error *error)
{
    return error_set(error, STATUS_OUTPUT, "%s: cannot be written: %s", path, reason);
}

/* Reads the file into text[0..MOST_BYTES), terminated. False where it cannot be read. */
static bool read_all(int fd, char *text)
{
    ssize_t got, used = 0;
    while ((got = pread(fd, text + used, (size_t)(MOST_BYTES - 1 - used), used)) > 0)
        used += got;
    text[used] = '\0';
    return got == 0;
}

/* The head of the file is its first line. */
static size_t head_length(const char *text)
{
    size_t line = strcspn(text, "\n");
    return line + (text[line] == '\n');
}

/* Writes all of the bytes at `offset`, down to the disk, or none of them. */
static enum status write_all(struct stem_lock *l, const char *text, size_t offset,
                             struct error *error)
{
    size_t size = strlen(text), done = 0;
    while (done < size) {
        ssize_t written = pwrite(l->fd, text + done, size - done, (off_t)(offset + done));
        if (written < 0 && errno != EINTR)
            break;
        done += written > 0 ? (size_t)written : 0;
    }
    if (done < size || fsync(l->fd) != 0) {
        int reason = errno;
        if (ftruncate(l->fd, (off_t)offset) != 0)
            reason = errno;
        return cannot_lock(l->path, strerror(reason), error);
    }
    l->used = offset + size;
    return STATUS_OK;
}

/* Says who holds the lock. */
static enum status refuse(const struct stem_lock *l, const char *advice, struct error *error)
{
    char text[MOST_BYTES];
    if (!read_all(l->fd, text) || head_length(text) < 2)
        snprintf(text, sizeof text, "another process");
    return error_set(error, STATUS_OUTPUT,
                     "%s: cannot be written: %.*s writes files of this stem%s", l->path,
                     (int)strcspn(text, "\n"), text, advice);
}

/* Whether the file that is open still has its name: its last holder may have removed it. */
static bool has_name(const struct stem_lock *l)
{
    struct stat open_file, named;
    return fstat(l->fd, &open_file) == 0 && stat(l->path, &named) == 0 &&
           open_file.st_dev == named.st_dev && open_file.st_ino == named.st_ino;
}

/* Opens the file, which may be there already. */
static enum status open_file(struct stem_lock *l, bool *created, struct error *error)
{
    const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC;
    struct stat s;
    l->fd = open(l->path, flags | O_EXCL, 0666);
    *created = l->fd >= 0;
    if (l->fd < 0 && errno == EEXIST)
        l->fd = open(l->path, flags | O_NONBLOCK, 0666);
    if (l->fd < 0)
        return cannot_lock(l->path, errno == ENOENT ? "there is no such folder" : strerror(errno),
                           error);
    if (fstat(l->fd, &s) != 0 || !S_ISREG(s.st_mode))
        return cannot_lock(l->path, "it is not a regular file", error);
    return STATUS_OK;
}

/* Opens and locks the file. */
static enum status lock_file(struct stem_lock *l, struct error *error)
{
    for (bool created = false;; close(l->fd)) {
        TRY(open_file(l, &created, error));
        if (flock(l->fd, LOCK_EX | LOCK_NB) == 0) {
            if (has_name(l))
                return STATUS_OK;
        } else if (errno == EWOULDBLOCK) {
            return refuse(l, "", error);
        } else if (errno != EINTR && !created) {
            return refuse(l, " (no locks here: remove the file if that process has ended)", error);
        } else if (errno != EINTR) {
            return STATUS_OK;
        }
    }
}

/* Makes the file a head only. */
static enum status write_head(struct stem_lock *l, struct error *error)
{
    char host[256] = "", head[320];
    gethostname(host, sizeof host - 1);
    snprintf(head, sizeof head, HEAD "%ld on host %s\n", (long)getpid(), host);
    if (ftruncate(l->fd, 0) != 0)
        return cannot_lock(l->path, strerror(errno), error);
    l->head = l->used = strlen(head);
    return write_all(l, head, 0, error);
}

/* Takes the log that is there, or writes the head. A file that is no lock of blco is left alone. */
static enum status begin(struct stem_lock *l, char **log, struct error *error)
{
    char text[MOST_BYTES];
    if (!read_all(l->fd, text))
        return cannot_lock(l->path, "it cannot be read back", error);
    if (text[0] && strncmp(text, HEAD, strlen(HEAD)) != 0)
        return cannot_lock(l->path, "it exists, and is no lock of blco", error);
    l->head = head_length(text);
    l->used = strlen(text);
    if (!(*log = memory_text(error, "%s", text + l->head)) || **log)
        return error->status;
    return write_head(l, error);
}

enum status stem_lock_take(struct stem_lock *l, const char *stem, char **log, struct error *error)
{
    *l = (struct stem_lock){.fd = -1, .used = 1}; /* more than the head: the file is not ours yet */
    *log = NULL;
    l->stem = memory_text(error, "%s", stem);
    l->path = memory_text(error, "%s.lock", stem);
    if (!l->stem || !l->path)
        goto failed;
    TRY_OR(failed, lock_file(l, error));
    if (begin(l, log, error) == STATUS_OK)
        return STATUS_OK;
failed:
    memory_free(*log);
    *log = NULL;
    stem_lock_release(l);
    return error->status;
}

enum status stem_lock_append(struct stem_lock *l, const char *text, struct error *error)
{
    return write_all(l, text, l->used, error);
}

enum status stem_lock_clear(struct stem_lock *l, struct error *error)
{
    return write_head(l, error);
}

void stem_lock_release(struct stem_lock *l)
{
    if (l->path && l->used == l->head) /* a log waits for the next holder */
        unlink(l->path);
    if (l->path && l->fd >= 0)
        close(l->fd);
    memory_free(l->stem);
    memory_free(l->path);
    *l = (struct stem_lock){.fd = -1};
}

enum status stem_lock_read(const char *stem, char **log, struct error *error)
{
    char text[MOST_BYTES] = "";
    char *path = memory_text(error, "%s.lock", stem);
    int fd = path ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    *log = NULL;
    if (fd >= 0 && (!read_all(fd, text) || strncmp(text, HEAD, strlen(HEAD)) != 0))
        text[0] = '\0'; /* no lock of blco */
    if (path)
        *log = memory_text(error, "%s", text + head_length(text));
    if (fd >= 0)
        close(fd);
    memory_free(path);
    return error->status;
}
