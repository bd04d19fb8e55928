/* Output files that appear whole or not at all: written in the folder of the final name, without a
 * name or under a temporary one, then synced and renamed. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct outfile {
    int fd;          /* -1 where no file is open                                           */
    int named;       /* the file has the name `temporary`; a file without a name vanishes
                        however the process ends                                           */
    int old;         /* which file had the name `path` before: enum old of outfile_set.c   */
    uint64_t key;    /* from which the hidden names are made                               */
    char *path;      /* final name; owned                                                  */
    char *folder;    /* that of the path, as "FOLDER/." or "."; owned                     */
    char *temporary; /* hidden name in the same folder; owned                              */
    char *saved;     /* hidden name of the file that had the name `path` before; owned     */
};

/* Creates the file in the folder of `path`, with the permissions that the umask leaves. A symbolic
 * link called `path` will be replaced. The caller ends with outfile_commit or outfile_discard. On
 * failure *f is empty: STATUS_OUTPUT, which names the path and the reason, or STATUS_MEMORY. */
enum status outfile_open(struct outfile *f, const char *path, struct error *error);

/* Whether outfile_open would succeed, for a check before hours of work. Cleans the folder, too
 * (outfile_clean). Fails as outfile_open. */
enum status outfile_check(const char *path, struct error *error);

/* Creates a file without a name in the folder of `path`, for reading and writing; the file vanishes
 * however the process ends. The caller ends with outfile_discard; a commit is not possible. Fails
 * as outfile_open; messages name `path`. */
enum status outfile_open_scratch(struct outfile *f, const char *path, struct error *error);

/* Appends all of `size` bytes. STATUS_OUTPUT. */
enum status outfile_write(struct outfile *f, const void *bytes, size_t size, struct error *error);

/* Writes all of `size` bytes at `offset`. Several threads may call it at once, each with an error
 * of its own. STATUS_OUTPUT. */
enum status outfile_write_at(struct outfile *f, const void *bytes, size_t size, size_t offset,
                             struct error *error);

/* Reads all of `size` bytes at `offset` of a file from outfile_open_scratch. STATUS_OUTPUT. */
enum status outfile_read_at(const struct outfile *f, void *bytes, size_t size, size_t offset,
                            struct error *error);

/* Makes the file `size` bytes long; new bytes are zero. STATUS_OUTPUT. */
enum status outfile_resize(struct outfile *f, size_t size, struct error *error);

/* Asks the disk to begin writing `size` bytes at `offset`, and does not wait: a hint, so that a
 * later sync has less to do. */
void outfile_begin_sync(struct outfile *f, size_t size, size_t offset);

/* Syncs the file, gives it its final name and closes it. On failure an older file keeps this name,
 * unless only the folder could not be synced. STATUS_OUTPUT. */
enum status outfile_commit(struct outfile *f, struct error *error);

/* Closes and removes a file that was not committed; accepts one that was never opened. */
void outfile_discard(struct outfile *f);

/* Removes the files with temporary names that killed processes of this host have left in the folder
 * of `path`. A living process holds a lock (flock) on its file; where the file system has no locks,
 * nothing is removed. STATUS_MEMORY. */
enum status outfile_clean(const char *path, struct error *error);

/* The steps of a commit, for outfile_set.c. */

/* Says why the file `path` cannot be written. Returns the status of *error, STATUS_OUTPUT. */
enum status outfile_refuse(const char *path, const char *reason, struct error *error);

/* A key for hidden names that no file has yet. */
uint64_t outfile_new_key(void);

/* *f = a file that is not open, with the names that follow from `path` and `key`. The caller ends
 * with outfile_discard; *f is empty on failure. STATUS_MEMORY. */
enum status outfile_name(struct outfile *f, const char *path, uint64_t key, struct error *error);

/* Brings the file onto the disk, under the temporary name. STATUS_OUTPUT. */
enum status outfile_complete(struct outfile *f, struct error *error);

/* Renames between names of f. STATUS_OUTPUT. */
enum status outfile_rename(struct outfile *f, const char *from, const char *to,
                           struct error *error);

/* Brings the names in the file's folder onto the disk. A folder that may be written but not read
 * cannot be synced. STATUS_OUTPUT. */
enum status outfile_sync_folder(const struct outfile *f, struct error *error);

/* --- Large writes at the rate of the disk: a few threads write pieces, each to another file where
 * that is possible, and the disk starts with a piece as soon as it is written, not when the file is
 * synced. --- */

/* Bytes that go to one place of a file. */
struct outfile_extent {
    struct outfile *file; /* borrowed, as the bytes are */
    const void *bytes;
    size_t size, offset;
};

#define OUTFILE_MOST_EXTENTS 64

/* Writes all bytes of `count` extents, at most OUTFILE_MOST_EXTENTS, of which several may be of one
 * file. The first error of any thread wins, and the threads leave the rest. STATUS_OUTPUT. */
enum status outfile_write_extents(const struct outfile_extent *extents, int count,
                                  struct error *error);
