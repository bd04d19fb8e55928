/* Output files that appear whole or not at all: written under a temporary name in the same folder,
 * then synced and renamed. */
#ifndef BLCO_OUTFILE_H
#define BLCO_OUTFILE_H

#include <stddef.h>

#include "error.h"

struct outfile {
    int fd;          /* -1 where none is open                 */
    char *path;      /* final name; owned                     */
    char *temporary; /* name until it is finished; owned      */
};

/* Creates the temporary file beside `path`. STATUS_OUTPUT names the path and the reason. */
enum status outfile_open(struct outfile *f, const char *path, struct error *error);

/* Appends all of `size` bytes, or writes them at `offset` (callable from several threads at once).
 */
enum status outfile_write(struct outfile *f, const void *bytes, size_t size, struct error *error);
enum status outfile_write_at(struct outfile *f, const void *bytes, size_t size, size_t offset,
                             struct error *error);

/* Syncs and renames `count` files to their final names; removes all temporaries if one fails. */
enum status outfile_commit(struct outfile *files, int count, struct error *error);

/* Removes the temporary of a file that was not committed; accepts one that was never opened. */
void outfile_discard(struct outfile *f);

#endif
