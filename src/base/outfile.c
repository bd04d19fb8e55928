#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

enum old {
    OLD_NONE,  /* no file had the final name               */
    OLD_SAVED, /* the old file has the name `saved`, too   */
    OLD_LOST   /* there was a file, but no second name     */
};

static enum status cannot_write(const char *path, const char *reason, struct error *error)
{
    return error_set(error, STATUS_OUTPUT, "%s: cannot be written: %s", path, reason);
}

/* Refuses early what would otherwise fail only when the file is renamed, perhaps after hours. */
static enum status check_path(const char *path, struct error *error)
{
    struct stat s;
    size_t length = strlen(path);
    if (length == 0 || path[length - 1] == '/')
        return cannot_write(path, "not a file name", error);
    if (stat(path, &s) != 0)
        return errno == ENOENT ? STATUS_OK : cannot_write(path, strerror(errno), error);
    if (S_ISDIR(s.st_mode))
        return cannot_write(path, "it is a directory", error);
    if (!S_ISREG(s.st_mode))
        return cannot_write(path, "it is not a regular file", error);
    if (access(path, W_OK) != 0)
        return cannot_write(path, strerror(errno), error);
    return STATUS_OK;
}

/* Bytes of the path up to and including its last slash. */
static int folder_length(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (int)(slash - path) + 1 : 0;
}

/* The folder of the path, as "FOLDER/." or "."; NULL where memory runs out. */
static char *folder_of(const char *path, struct error *error)
{
    return memory_text(error, "%.*s.", folder_length(path), path);
}

static uint64_t new_key(void)
{
    uint64_t key;
    return getrandom(&key, sizeof key, 0) == sizeof key ? key : (uint64_t)getpid();
}

static enum status make_names(struct outfile *f, const char *path, uint64_t key,
                              struct error *error)
{
    if (!(f->path = memory_text(error, "%s", path)) ||
        !(f->temporary =
              memory_text(error, "%.*s.blco-%016" PRIx64, folder_length(path), path, key)) ||
        !(f->saved = memory_text(error, "%s-old", f->temporary)))
        return error->status;
    return STATUS_OK;
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

/* What opening has come to: f->fd, or errno. Frees the folder's name. */
static enum status finish_open(struct outfile *f, const char *path, char *folder,
                               struct error *error)
{
    if (error->status == STATUS_OK && f->fd < 0)
        cannot_write(path, errno == ENOENT ? "there is no such folder" : strerror(errno), error);
    memory_free(folder);
    if (error->status != STATUS_OK)
        outfile_discard(f);
    return error->status;
}

/* Creates the file under its temporary name; f->fd stays -1, with errno, where that fails. */
static void create_named(struct outfile *f)
{
    f->fd = open(f->temporary, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
    f->named = f->fd >= 0;
}

enum status outfile_open(struct outfile *f, const char *path, struct error *error)
{
    *f = (struct outfile){.fd = -1};
    char *folder = NULL;
    if (check_path(path, error) == STATUS_OK &&
        make_names(f, path, new_key(), error) == STATUS_OK &&
        (folder = folder_of(path, error)) != NULL)
        f->fd = open_unnamed(folder, f->temporary);
    if (folder && f->fd < 0)
        create_named(f);
    return finish_open(f, path, folder, error);
}

enum status outfile_open_shared(struct outfile *f, const char *path, uint64_t *key,
                                struct error *error)
{
    *f = (struct outfile){.fd = -1};
    *key = new_key();
    if (check_path(path, error) == STATUS_OK && make_names(f, path, *key, error) == STATUS_OK)
        create_named(f);
    return finish_open(f, path, NULL, error);
}

/* Another host may tell the user, so the message names this one. */
static enum status not_seen(const char *path, struct error *error)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    return error_set(
        error, STATUS_OUTPUT,
        "%s: cannot be written: host %s does not see the file that another process has "
        "made there; all hosts must share the folder",
        path, host);
}

enum status outfile_join(struct outfile *f, const char *path, uint64_t key, struct error *error)
{
    *f = (struct outfile){.fd = -1};
    if (make_names(f, path, key, error) == STATUS_OK &&
        (f->fd = open(f->temporary, O_WRONLY | O_CLOEXEC)) < 0 && errno == ENOENT)
        not_seen(path, error);
    return finish_open(f, path, NULL, error);
}

enum status outfile_check(const char *path, struct error *error)
{
    struct outfile trial;
    if (outfile_open(&trial, path, error) == STATUS_OK)
        outfile_discard(&trial);
    return error->status;
}

enum status outfile_open_scratch(struct outfile *f, const char *path, struct error *error)
{
    *f = (struct outfile){.fd = -1};
    char *folder = NULL;
    if (make_names(f, path, new_key(), error) == STATUS_OK &&
        (folder = folder_of(path, error)) != NULL)
        f->fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (folder && f->fd < 0) {
        f->fd = open(f->temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
        if (f->fd >= 0)
            unlink(f->temporary);
    }
    return finish_open(f, path, folder, error);
}

enum status outfile_write(struct outfile *f, const void *bytes, size_t size, struct error *error)
{
    const char *at = bytes;
    while (size > 0) {
        ssize_t written = write(f->fd, at, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return cannot_write(f->path, strerror(errno), error);
        at += written;
        size -= (size_t)written;
    }
    return STATUS_OK;
}

enum status outfile_write_at(struct outfile *f, const void *bytes, size_t size, size_t offset,
                             struct error *error)
{
    const char *at = bytes;
    while (size > 0) {
        ssize_t written = pwrite(f->fd, at, size, (off_t)offset);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return cannot_write(f->path, strerror(errno), error);
        at += written;
        offset += (size_t)written;
        size -= (size_t)written;
    }
    return STATUS_OK;
}

enum status outfile_read_at(const struct outfile *f, void *bytes, size_t size, size_t offset,
                            struct error *error)
{
    char *at = bytes;
    while (size > 0) {
        ssize_t got = pread(f->fd, at, size, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return error_set(error, STATUS_OUTPUT, "%s: a temporary file cannot be read back: %s",
                             f->path, got < 0 ? strerror(errno) : "it is too short");
        at += got;
        offset += (size_t)got;
        size -= (size_t)got;
    }
    return STATUS_OK;
}

enum status outfile_resize(struct outfile *f, size_t size, struct error *error)
{
    int result;
    while ((result = ftruncate(f->fd, (off_t)size)) != 0 && errno == EINTR)
        ;
    return result == 0 ? STATUS_OK : cannot_write(f->path, strerror(errno), error);
}

enum status outfile_sync(struct outfile *f, struct error *error)
{
    int result;
    while ((result = fsync(f->fd)) != 0 && errno == EINTR)
        ;
    return result == 0 ? STATUS_OK : cannot_write(f->path, strerror(errno), error);
}

/* Brings the file onto the disk, under the temporary name, and closes it. */
static enum status complete(struct outfile *f, struct error *error)
{
    if (outfile_sync(f, error) != STATUS_OK)
        return error->status;
    if (!f->named && link_unnamed(f->fd, f->temporary) != 0)
        return cannot_write(f->path, strerror(errno), error);
    f->named = 1;
    int result = close(f->fd);
    f->fd = -1;
    return result == 0 ? STATUS_OK : cannot_write(f->path, strerror(errno), error);
}

/* Gives the file its final name; a file that has this name gets a second one first. */
static enum status replace(struct outfile *f, struct error *error)
{
    if (link(f->path, f->saved) == 0)
        f->old = OLD_SAVED;
    else
        f->old = errno == ENOENT ? OLD_NONE : OLD_LOST;
    if (rename(f->temporary, f->path) != 0)
        return cannot_write(f->path, strerror(errno), error);
    f->named = 0;
    f->replaced = 1;
    return STATUS_OK;
}

/* Brings the names in the folder onto the disk. A folder that may be written but not read cannot be
 * synced. */
static enum status sync_folder(const struct outfile *f, struct error *error)
{
    char *folder = folder_of(f->path, error);
    if (!folder)
        return error->status;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    memory_free(folder);
    if (fd < 0)
        return STATUS_OK;
    int result = fsync(fd);
    int reason = errno;
    close(fd);
    if (result != 0 && reason == EIO)
        return cannot_write(f->path, strerror(reason), error);
    return STATUS_OK;
}

static int same_folder(const struct outfile *a, const struct outfile *b)
{
    int length = folder_length(a->path);
    return length == folder_length(b->path) && memcmp(a->path, b->path, (size_t)length) == 0;
}

enum status outfile_replace(struct outfile *files, int count, struct error *error)
{
    for (int i = 0; i < count; i++)
        if (complete(&files[i], error) != STATUS_OK)
            goto fail;
    for (int i = 0; i < count; i++)
        if (replace(&files[i], error) != STATUS_OK)
            goto fail;
    for (int i = 0; i < count; i++)
        if ((i == 0 || !same_folder(&files[i], &files[i - 1])) &&
            sync_folder(&files[i], error) != STATUS_OK)
            goto fail;
    return STATUS_OK;
fail:
    for (int i = 0; i < count; i++)
        outfile_discard(&files[i]);
    return error->status;
}

void outfile_keep(struct outfile *files, int count)
{
    for (int i = 0; i < count; i++) {
        files[i].replaced = 0;
        outfile_discard(&files[i]);
    }
}

enum status outfile_commit(struct outfile *files, int count, struct error *error)
{
    if (outfile_replace(files, count, error) == STATUS_OK)
        outfile_keep(files, count);
    return error->status;
}

enum status outfile_swap(struct outfile *f, struct error *error)
{
    if (complete(f, error) == STATUS_OK && rename(f->temporary, f->path) != 0)
        cannot_write(f->path, strerror(errno), error);
    if (error->status == STATUS_OK) {
        f->named = 0;
        sync_folder(f, error);
    }
    outfile_discard(f);
    return error->status;
}

/* Undoes replace(). */
static void put_back(const struct outfile *f)
{
    if (f->old == OLD_SAVED)
        rename(f->saved, f->path);
    else if (f->old == OLD_NONE)
        unlink(f->path);
}

void outfile_discard(struct outfile *f)
{
    if (!f->path) /* never opened, or already ended */
        return;
    if (f->fd >= 0)
        close(f->fd);
    if (f->named)
        unlink(f->temporary);
    if (f->replaced)
        put_back(f);
    if (f->old == OLD_SAVED) /* after put_back() this name is gone already */
        unlink(f->saved);
    memory_free(f->path);
    memory_free(f->temporary);
    memory_free(f->saved);
    *f = (struct outfile){.fd = -1};
}
