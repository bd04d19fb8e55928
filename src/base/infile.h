/* Reads regular files by position into memory of the program's own. Such a copy stays as it was
 * judged, whatever others do to the file meanwhile; a map would change under its reader. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct infile {
    const char *name; /* for messages; not owned */
    int fd;           /* owned                   */
    uint64_t size;    /* bytes, when it was opened */
};

/* Opens a regular file; `path` outlives *f. The caller closes *f, which is closed on failure.
 * STATUS_INPUT names the file and the reason. */
enum status infile_open(struct infile *f, const char *path, struct error *error);

/* Accepts a closed or zeroed *f. */
void infile_close(struct infile *f);

/* Reads bytes [offset, offset + size) of the file to `bytes`, by all OpenMP threads where there are
 * many; several threads may read one file. STATUS_INPUT where the file has become shorter, or its
 * disk fails. */
enum status infile_read(const struct infile *f, void *bytes, size_t size, uint64_t offset,
                        struct error *error);

/* Reads bytes [offset, offset + size) of an open file, by this thread. Returns 0, the number of the
 * failure, or -1 where the file ends before. */
int infile_read_bytes(int fd, void *bytes, size_t size, uint64_t offset);

/* The whole file at `path` in a new array, aligned as of memory_array, that the caller frees with
 * memory_free; NULL on failure. STATUS_INPUT, STATUS_MEMORY. */
char *infile_whole(const char *path, size_t *size, struct error *error);
