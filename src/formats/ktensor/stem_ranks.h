/* The models that a range of ranks has left: of the stem x those of x.r2, x.r3, ... */
#ifndef BLCO_STEM_RANKS_H
#define BLCO_STEM_RANKS_H

#include <stddef.h>

/* text (size) = the stems of the models that are there, ascending, as "x.r2, x.r3 and x.r5", the
 * first eight of many; empty where there are none, or the folder cannot be read. Returns text. */
const char *stem_ranks(const char *stem, char *text, size_t size);

#endif
