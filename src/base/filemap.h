/* Maps a whole regular file into memory, read-only, and guards against files that become shorter
 * while they are mapped. */
#pragma once

#include <stddef.h>

#include "base/error.h"

struct filemap {
    const char *bytes; /* (size); "" where the file is empty */
    size_t size;
};

/* The caller closes *map. STATUS_INPUT names the file and the reason and leaves *map empty. The
 * guard knows one map at a time: a map that is opened before the guarded one is closed has none. */
enum status filemap_open(struct filemap *map, const char *path, struct error *error);

/* Gives back the memory of bytes [begin, end), which are still readable: the next access reads
 * the file again. A hint; the page of byte `end` and ranges beyond the file's end are kept. */
void filemap_let_go(const struct filemap *map, size_t begin, size_t end);

/* Unmaps the file and empties *map; accepts an empty one. */
void filemap_close(struct filemap *map);

/* Reading past the new end of a file that has become shorter raises SIGBUS, which would end the
 * program without a word. From now on SIGBUS within a map prints "PROGRAM: FILE: ..." to
 * standard error and ends the process with `status`; elsewhere SIGBUS does what it did. Only main
 * calls this. */
void map_guard_install(const char *program, int status);
