/* Output files that appear whole or not at all: written in the folder of the final name, without a
 * name or under a temporary one, then synced and renamed. */
#ifndef BLCO_OUTFILE_H
#define BLCO_OUTFILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct outfile {
    int fd;          /* -1 where no file is open                                           */
    int named;       /* the file stands under `temporary`; a file without a name vanishes
                        however the process ends                                           */
    int replaced;    /* the file stands under `path`; other files of the commit may follow */
    int old;         /* what stood under `path` before: enum old of outfile.c              */
    char *path;      /* final name; owned                                                  */
    char *temporary; /* hidden name in the same folder; owned                              */
    char *saved;     /* hidden name of the file that stood under `path` before; owned      */
};

/* Creates the file in the folder of `path`, with the permissions that the umask leaves. A symbolic
 * link called `path` will be replaced. The caller ends with outfile_commit or outfile_discard. On
 * failure *f is empty: STATUS_OUTPUT, which names the path and the reason, or STATUS_MEMORY. */
enum status outfile_open(struct outfile *f, const char *path, struct error *error);

/* Whether outfile_open would succeed, for a check before hours of work. Fails as outfile_open. */
enum status outfile_check(const char *path, struct error *error);

/* Creates a file without a name in the folder of `path`, for reading and writing; the file vanishes
 * however the process ends. The caller ends with outfile_discard; a commit is not possible. Fails
 * as outfile_open; messages name `path`. */
enum status outfile_open_scratch(struct outfile *f, const char *path, struct error *error);

/* As outfile_open, for a file that other processes write, too: the file stands under its temporary
 * name at once. *key is what outfile_join needs beside the path. */
enum status outfile_open_shared(struct outfile *f, const char *path, uint64_t *key,
                                struct error *error);

/* Opens, for outfile_write_at, the file that another process, perhaps on another host, has made by
 * outfile_open_shared and has not ended yet. The caller ends with outfile_discard, which leaves the
 * file to its maker; a commit is not possible. Fails as outfile_open. */
enum status outfile_join(struct outfile *f, const char *path, uint64_t key, struct error *error);

/* Appends all of `size` bytes. STATUS_OUTPUT. */
enum status outfile_write(struct outfile *f, const void *bytes, size_t size, struct error *error);

/* Writes all of `size` bytes at `offset`. Several threads may call it at once, each with an error
 * of its own. STATUS_OUTPUT. */
enum status outfile_write_at(struct outfile *f, const void *bytes, size_t size, size_t offset,
                             struct error *error);

/* Reads all of `size` bytes at `offset` of a file from outfile_open_scratch. STATUS_OUTPUT. */
enum status outfile_read_at(const struct outfile *f, void *bytes, size_t size, size_t offset,
                            struct error *error);

/* Makes the file `size` bytes long; bytes that were not there are zero. STATUS_OUTPUT. */
enum status outfile_resize(struct outfile *f, size_t size, struct error *error);

/* Brings the bytes that were written here onto the disk. STATUS_OUTPUT. */
enum status outfile_sync(struct outfile *f, struct error *error);

/* Syncs `count` files, gives all of them their final names and closes them. On failure none of the
 * new files is left, and the files that had these names before have them again (where the file
 * system has hard links; without hard links a file that was already replaced stays replaced).
 * STATUS_OUTPUT, STATUS_MEMORY. */
enum status outfile_commit(struct outfile *files, int count, struct error *error);

/* outfile_commit of one file, which is written again and again: it takes the place of the old one
 * in a single step, and the old one gets no second name, which a process that is killed would leave
 * behind. STATUS_OUTPUT, STATUS_MEMORY. */
enum status outfile_swap(struct outfile *f, struct error *error);

/* The two halves of outfile_commit, for a caller that must hear from others between them. After
 * outfile_replace the files have their final names, and outfile_discard of each puts the old ones
 * back; outfile_keep makes the new ones final. Where outfile_replace fails, it has put all back. */
enum status outfile_replace(struct outfile *files, int count, struct error *error);
void outfile_keep(struct outfile *files, int count);

/* Closes and removes a file that was not committed; accepts one that was never opened. */
void outfile_discard(struct outfile *f);

#endif
