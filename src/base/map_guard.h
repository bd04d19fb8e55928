/* Files that become shorter while they are mapped: reading past their new end raises SIGBUS,
 * which would end the program without a word. */
#ifndef BLCO_MAP_GUARD_H
#define BLCO_MAP_GUARD_H

#include <stddef.h>

/* From now on SIGBUS within a known map prints "PROGRAM: FILE: ..." to standard error and ends the
 * process with `status`; elsewhere SIGBUS does what it did. Only main calls this. */
void map_guard_install(const char *program, int status);

/* Makes a map known: `bytes` bytes from `begin` on, of the file `name`, which is copied. Where
 * MAP_GUARD_MAPS are known, further maps stay unknown. */
#define MAP_GUARD_MAPS 64
void map_guard_add(const void *begin, size_t bytes, const char *name);

/* Forgets a map before it is unmapped. Accepts an unknown one. */
void map_guard_remove(const void *begin);

#endif
