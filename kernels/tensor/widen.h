/* Widens lines and values, which crossed the bus in fewer bytes, to 64 bits. Device pointers only;
 * asynchronous; the launch's error is returned. */
#pragma once

#include "numerics/launchers.h"

LAUNCHERS_BEGIN

/* Lines of 4 to 7 bytes come in pieces of this many lines: the low 32 bits of each line of a
 * piece; then, from 6 bytes on, 16 bits of each; then, if the number of bytes is odd, the highest
 * 8 bits of each. The last piece is as long as the others. */
#define WIDEN_PIECE 1024

/* line[i] (n) from pieces of lines of `bytes` bytes. */
cudaError_t widen_lines(const void *narrow, int bytes, uint64_t *line, uint64_t n,
                        cudaStream_t stream);

/* value[i] (n) from whole numbers of 1 byte or from floats (4 bytes). */
cudaError_t widen_values(const void *narrow, int bytes, double *value, uint64_t n,
                         cudaStream_t stream);

LAUNCHERS_END
