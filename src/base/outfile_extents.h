/* Large writes at the rate of the disk: a few threads write pieces, each to another file where that
 * is possible, and the disk starts with a piece as soon as it is written, not when the file is
 * synced. */
#ifndef BLCO_OUTFILE_EXTENTS_H
#define BLCO_OUTFILE_EXTENTS_H

#include "base/outfile.h"

/* Bytes that go to one place of a file. */
struct outfile_extent {
    struct outfile *file; /* borrowed, as the bytes are */
    const void *bytes;
    size_t size, offset;
};

#define OUTFILE_MOST_EXTENTS 64

/* Writes all bytes of `count` extents, at most OUTFILE_MOST_EXTENTS, of which several may be of one
 * file. The first error of any thread wins, and the threads leave the rest. STATUS_OUTPUT. */
enum status outfile_write_extents(const struct outfile_extent *extents, int count,
                                  struct error *error);

#endif
