/* A whole regular file in memory, read-only. */
#ifndef BLCO_FILEMAP_H
#define BLCO_FILEMAP_H

#include <stddef.h>

#include "base/error.h"

struct filemap {
    const char *bytes; /* (size); "" where the file is empty */
    size_t size;
};

/* STATUS_INPUT names the file and the reason; *map is empty then. */
enum status filemap_open(struct filemap *map, const char *path, struct error *error);

/* Bytes [begin, end) are done with for now: they no longer count as this process's memory, and are
 * mapped again when they are read again. */
void filemap_let_go(const struct filemap *map, size_t begin, size_t end);

/* Accepts an empty one. */
void filemap_close(struct filemap *map);

#endif
