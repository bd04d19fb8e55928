#include "base/outfile_set.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
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

/* Whether `word` says what the older file of an entry is. */
static bool parse_old(const char *word, enum old *old)
{
    for (*old = OLD_NONE; *old <= OLD_GONE; ++*old)
        if (strcmp(word, old_words[*old]) == 0)
            return true;
    return false;
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
            !parse_old(old, &e->old) || strchr(e->suffix, '/'))
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

/* Finishes what the log of a killed process says, for one file. */
static enum status finish(const struct stem_lock *lock, const struct log *log,
                          const struct entry *e, struct error *error)
{
    struct outfile f = {.fd = -1};
    char *path = memory_text(error, "%s.%s", lock->stem, e->suffix);
    if (!path)
        return error->status;
    TRY_OR(done, outfile_name(&f, path, e->key, error));
    f.old = (int)e->old;
    if (log->phase == PHASE_BACK)
        put_old(&f);
    else if (log->phase == PHASE_REPLACE && (f.old == OLD_GONE || exists(f.temporary)))
        put_new(&f, error);
    else if (log->phase == PHASE_FILES)
        unlink(f.temporary);
    TRY_OR(done, error->status);
    if (outfile_sync_folder(&f, error) == STATUS_OK)
        unlink(f.saved);
done:
    outfile_discard(&f);
    memory_free(path);
    return error->status;
}

static enum status recover(struct stem_lock *lock, const char *text, struct error *error)
{
    struct log log;
    parse(&log, text);
    for (int i = 0; log.phase != PHASE_NONE && i < log.count; i++)
        TRY(finish(lock, &log, &log.entry[i], error));
    return stem_lock_clear(lock, error);
}

enum status outfile_set_lock(struct stem_lock *lock, const char *stem, struct error *error)
{
    char *log = NULL;
    TRY(stem_lock_take(lock, stem, &log, error));
    if (*log)
        recover(lock, log, error);
    memory_free(log);
    if (error->status == STATUS_OK)
        outfile_clean(stem, error);
    if (error->status != STATUS_OK)
        stem_lock_release(lock);
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
    return stem_lock_append(lock, text, error);
}

/* Gives each old file that is replaced another name, so that a reader who does not know the log
 * finds a file at any time. Without hard links put_new() renames the old file. */
static void save_old(const struct outfile *files, int count)
{
    for (int i = 0; i < count; i++)
        if (files[i].old == OLD_THERE && link(files[i].path, files[i].saved) != 0)
            continue;
}

static enum status replace_all(struct stem_lock *lock, struct outfile *files, int count,
                               struct error *error)
{
    for (int i = 0; i < count; i++) /* the disk works on all of them at a time */
        if (files[i].old != OLD_GONE)
            outfile_begin_sync(&files[i], 0, 0);
    for (int i = 0; i < count; i++)
        if (files[i].old != OLD_GONE && outfile_complete(&files[i], error) != STATUS_OK)
            return error->status;
    TRY(write_log(lock, files, count, error));
    save_old(files, count);
    TRY(outfile_sync_folder(&files[0], error));
    TRY(stem_lock_append(lock, "replace\n", error));
    for (int i = 0; i < count; i++)
        TRY(put_new(&files[i], error));
    return outfile_sync_folder(&files[0], error);
}

enum status outfile_set_replace(struct stem_lock *lock, struct outfile *files, int count,
                                struct error *error)
{
    if (replace_all(lock, files, count, error) != STATUS_OK)
        outfile_set_discard(lock, files, count);
    return error->status;
}

/* Forgets the files of a set and empties its log. */
static void end(struct stem_lock *lock, struct outfile *files, int count)
{
    struct error ignored = {0};
    for (int i = 0; i < count; i++) {
        files[i].named = 0;
        outfile_discard(&files[i]);
    }
    stem_lock_clear(lock, &ignored); /* where that fails, the next holder repeats what is done */
}

void outfile_set_keep(struct stem_lock *lock, struct outfile *files, int count)
{
    for (int i = 0; i < count; i++)
        unlink(files[i].saved);
    end(lock, files, count);
}

void outfile_set_discard(struct stem_lock *lock, struct outfile *files, int count)
{
    struct error ignored = {0};
    bool begun = lock->used > lock->head;
    if (begun)
        stem_lock_append(lock, "back\n", &ignored);
    for (int i = 0; begun && i < count; i++)
        put_old(&files[i]);
    for (int i = 0; !begun && i < count; i++)
        outfile_discard(&files[i]);
    if (begun)
        end(lock, files, count);
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
    struct outfile f = {0};
    const char *name;
    parse(&log, log_text);
    *path = memory_text(error, "%s.%s", stem, suffix);
    for (int i = 0; *path && i < log.count; i++) {
        if (strcmp(log.entry[i].suffix, suffix) != 0)
            continue;
        if (outfile_name(&f, *path, log.entry[i].key, error) != STATUS_OK)
            break;
        f.old = (int)log.entry[i].old;
        name = counting_name(&f, &log);
        memory_free(*path);
        *path = name ? memory_text(error, "%s", name) : NULL;
        break;
    }
    outfile_discard(&f);
    if (error->status != STATUS_OK) {
        memory_free(*path);
        *path = NULL;
    }
    return error->status;
}
