/* Output files that appear whole or not at all: written beside their final name under none or a
 * temporary one, then synced and renamed. */
#ifndef BLCO_OUTFILE_H
#define BLCO_OUTFILE_H

#include <stddef.h>

#include "base/error.h"

struct outfile {
    int fd;          /* -1 where none is open                                              */
    int named;       /* the file stands under `temporary`; before, it has no name, so that
                        nothing stays behind however the process ends                      */
    int replaced;    /* it stands under `path`, while others are still to follow           */
    int old;         /* what was there before: see outfile.c                               */
    char *path;      /* final name; owned                                                  */
    char *temporary; /* hidden name in the same folder; owned                              */
    char *saved;     /* hidden name of the file that was there before; owned               */
};

/* Creates the file in the folder of `path`, with the permissions that the umask leaves. A symbolic
 * link called `path` will be replaced. STATUS_OUTPUT names the path and the reason. */
enum status outfile_open(struct outfile *f, const char *path, struct error *error);

/* Finds out, before the work whose result it is for, whether the file can be made. */
enum status outfile_check(const char *path, struct error *error);

/* Creates a file for reading and writing in the folder of `path` that has no name, so that nothing
 * of it stays behind; it is never committed. Messages name `path`. */
enum status outfile_open_scratch(struct outfile *f, const char *path, struct error *error);

/* Appends all of `size` bytes, or writes them at `offset` (callable from several threads at once,
 * each with an error of its own). */
enum status outfile_write(struct outfile *f, const void *bytes, size_t size, struct error *error);
enum status outfile_write_at(struct outfile *f, const void *bytes, size_t size, size_t offset,
                             struct error *error);

/* `size` bytes from `offset`, of a file from outfile_open_scratch. STATUS_OUTPUT. */
enum status outfile_read_at(const struct outfile *f, void *bytes, size_t size, size_t offset,
                            struct error *error);

/* Syncs `count` files, then gives all of them their final names, and closes them. If one fails,
 * none of them is left, and the files that had these names before have them again (where the file
 * system has hard links; without them one that was already replaced stays replaced). */
enum status outfile_commit(struct outfile *files, int count, struct error *error);

/* Removes a file that was not committed; accepts one that was never opened. */
void outfile_discard(struct outfile *f);

#endif
