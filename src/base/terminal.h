/* What the terminal of a stream can do. */
#ifndef BLCO_TERMINAL_H
#define BLCO_TERMINAL_H

#include <stdbool.h>

/* Whether the stream of this descriptor is a terminal on which a text line can be written over: not
 * where TERM is dumb or not set. */
bool terminal_rewrites(int fd);

#endif
