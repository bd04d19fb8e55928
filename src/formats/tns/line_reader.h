/* A text file as batches of whole lines. A regular file is mapped and cut at line ends; gzip,
 * standard input and pipes are read (and inflated) by a thread of their own, one batch ahead, so
 * that this overlaps with what the caller does with the present batch. */
#ifndef BLCO_LINE_READER_H
#define BLCO_LINE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct line_reader;

struct line_batch {
    const char *begin, *end; /* whole lines; end[-1] is a newline. Equal: the file is over        */
    bool unterminated;       /* the last line had no newline in the file; here it has one         */
    bool overlong;           /* instead of a batch: the next line is longer than a batch may be   */
};

/* Opens the file, or standard input where path is "-". Batches have at most `batch_bytes`, or those
 * of a mapped file `mapped_bytes`, and so have lines. Errors (a directory, no permission) name the
 * file. The caller closes *s; it is NULL on failure. STATUS_INPUT, STATUS_MEMORY, STATUS_INTERNAL
 * where no thread can be started. */
enum status line_reader_open(struct line_reader **s, const char *path, size_t batch_bytes,
                             size_t mapped_bytes, struct error *error);

/* The next lines. The ones before are no longer valid. */
enum status line_reader_next(struct line_reader *s, struct line_batch *batch, struct error *error);

/* What messages call it: the path, or "standard input". */
const char *line_reader_name(const struct line_reader *s);

/* The most bytes that a batch has. */
size_t line_reader_batch_bytes(const struct line_reader *s);

/* Whether a thread of its own reads the file. */
bool line_reader_threaded(const struct line_reader *s);

/* How much of the file has been read, 0 to 1; negative where its size is unknown. */
double line_reader_fraction(const struct line_reader *s);

/* Whether the file is compressed, and how many bytes of text all batches so far had in the file. */
bool line_reader_gzip(const struct line_reader *s);
uint64_t line_reader_bytes(const struct line_reader *s);

/* Accepts NULL. */
void line_reader_close(struct line_reader *s);

#endif
