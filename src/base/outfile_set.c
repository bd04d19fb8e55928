#include "base/outfile_set.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"

#define MOST_FILES 128
#define LINE_ROOM  64 /* of a file's text line in the log */

enum old {
    OLD_NONE,  /* no file had the final name                                    */
    OLD_THERE, /* a file had the final name, and has the name `saved` some time */
    OLD_GONE   /* likewise; no new file follows                                 */
};

static const char *const old_words[] = {
    [OLD_NONE] = "new", [OLD_THERE] = "old", [OLD_GONE] = "gone"};

enum phase { PHASE_NONE, PHASE_FILES, PHASE_REPLACE, PHASE_BACK };

struct entry {
    uint64_t key;
    enum old old;
    char suffix[LINE_ROOM];
};

struct log {
    enum phase phase;
    int count;
    struct entry entry[MOST_FILES];
};

/* Takes a text line of the log, if it is all there. */
static const char *take_line(const char *text, char line[LINE_ROOM])
{
    size_t length = strcspn(text, "\n");
    if (text[length] != '\n' || length >= LINE_ROOM)
        return NULL;
    memcpy(line, text, length);
    line[length] = '\0';
    return text + length + 1;
}

/* A log that was cut off counts as far as it goes. */
static void parse(struct log *log, const char *text)
{
    char line[LINE_ROOM], old[5];
    int count = 0;
    *log = (struct log){.phase = PHASE_NONE};
    if (!(text = take_line(text, line)) || sscanf(line, "files %d", &count) != 1 || count < 1 ||
        count > MOST_FILES)
        return;
    for (; log->count < count; log->count++) {
        struct entry *e = &log->entry[log->count];
        if (!(text = take_line(text, line)) ||
            sscanf(line, "%16" SCNx64 " %4s %63s", &e->key, old, e->suffix) != 3 ||
            strchr(e->suffix, '/'))
            return;
        for (e->old = OLD_NONE; e->old <= OLD_GONE && strcmp(old, old_words[e->old]) != 0;)
            e->old++;
        if (e->old > OLD_GONE)
            return;
    }
    log->phase = PHASE_FILES;
    if ((text = take_line(text, line)) && strcmp(line, "replace") == 0)
        log->phase = PHASE_REPLACE;
    if (text && take_line(text, line) && strcmp(line, "back") == 0)
        log->phase = PHASE_BACK;
}

static bool exists(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0;
}

/* Gives the new file, if there is one, its final name. Where the file system has hard links, the
 * old file has the name `saved`, too, already. */
static enum status put_new(struct outfile *f, struct error *error)
{
    if (f->old != OLD_NONE && !exists(f->saved) && exists(f->path))
        TRY(outfile_rename(f, f->path, f->saved, error));
    return f->old == OLD_GONE ? STATUS_OK : outfile_rename(f, f->temporary, f->path, error);
}

/* Gives the old file its final name again, and removes the new one. Both names may still be those
 * of one file: rename() then does nothing. */
static void put_old(const struct outfile *f)
{
    if (f->old == OLD_NONE && !exists(f->temporary))
        unlink(f->path);
    if (f->old != OLD_NONE && rename(f->saved, f->path) == 0)
        unlink(f->saved);
    unlink(f->temporary);
}

/* *f = the file of an entry of the log. The caller ends with outfile_discard. */
static enum status name_entry(struct outfile *f, const char *stem, const struct entry *e,
                              struct error *error)
{
    char *path = memory_text(error, "%s.%s", stem, e->suffix);
    if (path && outfile_name(f, path, e->key, error) == STATUS_OK)
        f->old = (int)e->old;
    memory_free(path);
    return error->status;
}

/* Finishes what the log of a killed process says, for one file. */
static enum status finish(const struct stem_lock *lock, const struct log *log,
                          const struct entry *e, struct error *error)
{
    struct outfile f = {.fd = -1};
    TRY(name_entry(&f, lock->stem, e, error));
    if (log->phase == PHASE_BACK)
        put_old(&f);
    else if (log->phase == PHASE_REPLACE && (f.old == OLD_GONE || exists(f.temporary)))
        put_new(&f, error);
    else if (log->phase == PHASE_FILES)
        unlink(f.temporary);
    if (error->status == STATUS_OK && outfile_sync_folder(&f, error) == STATUS_OK)
        unlink(f.saved);
    outfile_discard(&f);
    return error->status;
}

#define HEAD       "blco, process " /* begins the first line of a lock's file */
#define MOST_BYTES 8192 /* of a lock's file: a line for each file of a model, and some more */

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

/* Appends `text` to the log, down to the disk: all of the bytes, or none of them. */
static enum status append(struct stem_lock *l, const char *text, struct error *error)
{
    struct outfile file = {.fd = l->fd, .path = l->path};
    const size_t size = strlen(text);
    if (outfile_write_at(&file, text, size, l->used, error) == STATUS_OK && fsync(l->fd) != 0)
        outfile_refuse(l->path, strerror(errno), error);
    if (error->status == STATUS_OK)
        l->used += size;
    else if (ftruncate(l->fd, (off_t)l->used) != 0)
        return error->status; /* a log that is cut off counts as far as it goes */
    return error->status;
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

/* Opens the file, which may be there already, and locks it. */
static enum status lock_file(struct stem_lock *l, struct error *error)
{
    const int flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC;
    struct stat locked, named;
    for (;; close(l->fd)) {
        l->fd = open(l->path, flags | O_EXCL, 0666);
        const bool created = l->fd >= 0;
        if (!created && errno == EEXIST)
            l->fd = open(l->path, flags | O_NONBLOCK, 0666);
        if (l->fd < 0)
            return outfile_refuse(
                l->path, errno == ENOENT ? "there is no such folder" : strerror(errno), error);
        if (fstat(l->fd, &locked) != 0 || !S_ISREG(locked.st_mode))
            return outfile_refuse(l->path, "it is not a regular file", error);
        if (flock(l->fd, LOCK_EX | LOCK_NB) == 0) {
            /* The last holder may have removed the file. */
            if (stat(l->path, &named) == 0 && locked.st_dev == named.st_dev &&
                locked.st_ino == named.st_ino)
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

/* Empties the log, and names this process in the lock's file. */
static enum status clear(struct stem_lock *l, struct error *error)
{
    char host[256] = "", head[320];
    gethostname(host, sizeof host - 1);
    snprintf(head, sizeof head, HEAD "%ld on host %s\n", (long)getpid(), host);
    if (ftruncate(l->fd, 0) != 0)
        return outfile_refuse(l->path, strerror(errno), error);
    l->head = l->used = 0;
    TRY(append(l, head, error));
    l->head = l->used;
    return STATUS_OK;
}

enum status outfile_set_lock(struct stem_lock *l, const char *stem, struct error *error)
{
    char text[MOST_BYTES];
    struct log log;
    *l = (struct stem_lock){.fd = -1, .used = 1}; /* more than the head: the file is not ours yet */
    l->stem = memory_text(error, "%s", stem);
    l->path = memory_text(error, "%s.lock", stem);
    TRY_OR(failed, error->status);
    TRY_OR(failed, lock_file(l, error));
    if (!read_all(l->fd, text))
        TRY_OR(failed, outfile_refuse(l->path, "it cannot be read back", error));
    if (text[0] && strncmp(text, HEAD, strlen(HEAD)) != 0)
        TRY_OR(failed, outfile_refuse(l->path, "it exists, and is no lock of blco", error));
    l->head = head_length(text);
    l->used = strlen(text);
    parse(&log, text + l->head);
    for (int i = 0; log.phase != PHASE_NONE && i < log.count; i++)
        TRY_OR(failed, finish(l, &log, &log.entry[i], error));
    TRY_OR(failed, clear(l, error));
    if (outfile_clean(stem, error) == STATUS_OK)
        return STATUS_OK;
failed:
    stem_lock_release(l);
    return error->status;
}

enum status outfile_set_take_away(struct outfile *f, const char *path, struct error *error)
{
    TRY(outfile_name(f, path, outfile_new_key(), error));
    f->old = OLD_GONE;
    return STATUS_OK;
}

/* Lists the files in the log. */
static enum status write_log(struct stem_lock *lock, struct outfile *files, int count,
                             struct error *error)
{
    char text[LINE_ROOM * (MOST_FILES + 1)];
    int used = snprintf(text, sizeof text, "files %d\n", count);
    for (int i = 0; i < count; i++) {
        struct outfile *f = &files[i];
        if (f->old != OLD_GONE)
            f->old = exists(f->path) ? OLD_THERE : OLD_NONE;
        used += snprintf(text + used, sizeof text - (size_t)used, "%016" PRIx64 " %s %s\n", f->key,
                         old_words[f->old], f->path + strlen(lock->stem) + 1);
    }
    return append(lock, text, error);
}

/* Brings the new files onto the disk, and then under their names. */
static enum status put_all(struct stem_lock *lock, struct outfile *files, int count,
                           struct error *error)
{
    for (int i = 0; i < count; i++) /* the disk works on all of them at a time */
        if (files[i].old != OLD_GONE)
            outfile_begin_sync(&files[i], 0, 0);
    for (int i = 0; i < count; i++)
        if (files[i].old != OLD_GONE)
            TRY(outfile_complete(&files[i], error));
    TRY(write_log(lock, files, count, error));
    /* Each old file that is replaced gets another name, so that a reader who does not know the log
     * finds a file at any time. Without hard links put_new() renames the old file. */
    for (int i = 0; i < count; i++)
        if (files[i].old == OLD_THERE && link(files[i].path, files[i].saved) != 0)
            continue;
    TRY(outfile_sync_folder(&files[0], error));
    TRY(append(lock, "replace\n", error));
    for (int i = 0; i < count; i++)
        TRY(put_new(&files[i], error));
    TRY(outfile_sync_folder(&files[0], error));
    return STATUS_OK;
}

enum status outfile_set_replace(struct stem_lock *lock, struct outfile *files, int count,
                                struct error *error)
{
    struct error back = {0}, cleared = {0}; /* ignored: the next holder repeats what is done */
    const bool replaced = put_all(lock, files, count, error) == STATUS_OK;
    const bool begun = lock->used > lock->head; /* the log has the files */
    if (begun && !replaced)
        append(lock, "back\n", &back);
    for (int i = 0; i < count; i++) {
        if (replaced)
            unlink(files[i].saved);
        else if (begun)
            put_old(&files[i]);
        files[i].named &= !begun;
        outfile_discard(&files[i]);
    }
    if (begun)
        clear(lock, &cleared);
    return error->status;
}

/* Which name of f has the contents that count; NULL where the file does not count. */
static const char *counting_name(const struct outfile *f, const struct log *log)
{
    if (log->phase == PHASE_REPLACE && exists(f->temporary))
        return f->temporary;
    if ((log->phase == PHASE_BACK && f->old == OLD_NONE) ||
        (log->phase == PHASE_REPLACE && f->old == OLD_GONE))
        return NULL;
    if (log->phase == PHASE_BACK && exists(f->saved))
        return f->saved;
    return f->path;
}

enum status outfile_set_find(char **path, const char *log_text, const char *stem,
                             const char *suffix, struct error *error)
{
    struct log log;
    struct outfile f = {.fd = -1};
    const char *name = NULL;
    int i = 0;
    *path = NULL;
    parse(&log, log_text);
    while (i < log.count && strcmp(log.entry[i].suffix, suffix) != 0)
        i++;
    if (i == log.count)
        *path = memory_text(error, "%s.%s", stem, suffix);
    else if (name_entry(&f, stem, &log.entry[i], error) == STATUS_OK)
        name = counting_name(&f, &log);
    if (name)
        *path = memory_text(error, "%s", name);
    outfile_discard(&f);
    /* a file that is there and cannot be read must be reported */
    if (*path && access(*path, F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
        memory_free(*path);
        *path = NULL;
    }
    return error->status;
}

void stem_lock_release(struct stem_lock *l)
{
    if (l->path && l->used == l->head) /* a log waits for the next holder */
        unlink(l->path);
    if (l->path && l->fd >= 0)
        close(l->fd);
    memory_free(l->stem, l->path);
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
