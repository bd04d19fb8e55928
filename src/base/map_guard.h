/* Files that become shorter while they are mapped: reading behind their new end raises SIGBUS,
 * which would end the program without a word. */
#ifndef BLCO_MAP_GUARD_H
#define BLCO_MAP_GUARD_H

#include <stddef.h>

/* From now on SIGBUS within a map that is known ends the process with `status`, and with the line
 * "PROGRAM: FILE: ..." on standard error; elsewhere SIGBUS does what it did. For main alone. */
void map_guard_install(const char *program, int status);

/* Tells of the map `begin` of `bytes` bytes of the file `name`; the name is copied. Maps beyond the
 * first MAP_GUARD_MAPS at a time are not known. */
#define MAP_GUARD_MAPS 64
void map_guard_add(const void *begin, size_t bytes, const char *name);

/* Forgets the map, which is about to go. Accepts one that is not known. */
void map_guard_remove(const void *begin);

#endif
