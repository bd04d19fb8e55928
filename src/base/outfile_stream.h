/* A stream of stdio that writes to an output file, for text that fprintf makes. */
#ifndef BLCO_OUTFILE_STREAM_H
#define BLCO_OUTFILE_STREAM_H

#include <stdio.h>

#include "base/outfile.h"

struct outfile_stream {
    FILE *stream;
    struct outfile *file; /* borrowed */
    struct error *error;
};

/* Opens s->stream, which appends to the open file f. *s stays where it is, and f and error outlive
 * it, until outfile_stream_close. STATUS_MEMORY. */
enum status outfile_stream_open(struct outfile_stream *s, struct outfile *f, struct error *error);

/* Writes what is left and closes the stream, not the file; *error has the first failure of writing.
 * Accepts one that is not open. STATUS_OUTPUT. */
enum status outfile_stream_close(struct outfile_stream *s);

#endif
