/* How many text lines a text has. */
#ifndef BLCO_LINE_COUNT_H
#define BLCO_LINE_COUNT_H

#include <stdint.h>

/* The number of newlines in [p, end), by this thread. */
uint64_t line_count(const char *p, const char *end);

#endif
