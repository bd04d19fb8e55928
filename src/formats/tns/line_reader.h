/* Reads a text file in windows of whole text lines. All OpenMP threads copy a window of a regular
 * file from the system's cache. Gzip, standard input and pipes are read (and inflated) by a thread
 * of their own, one window ahead, so that reading overlaps with what the caller does with the
 * present window. The bytes of a window are the reader's own: they do not change with the file. */
#ifndef BLCO_LINE_READER_H
#define BLCO_LINE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct line_reader;

struct line_window {
    const char *begin, *end; /* whole lines, end[-1] is a newline; empty: the file is over */
    bool unterminated;       /* the last line had no newline in the file; here it has one  */
    bool overlong;           /* there is no window: the next line is longer than one       */
};

/* Opens the file, or standard input if path is "-". A window, and so a text line, has at most
 * `window_bytes` bytes. The caller closes *r, which is NULL on failure. STATUS_INPUT, with the name
 * of the file, if it cannot be read (a directory, no permission); STATUS_MEMORY; STATUS_INTERNAL if
 * no thread can be started. */
enum status line_reader_open(struct line_reader **r, const char *path, size_t window_bytes,
                             struct error *error);

/* Gets the next window, from when on the one before is no longer valid. STATUS_INPUT,
 * also where the file has become shorter; STATUS_MEMORY. */
enum status line_reader_next(struct line_reader *r, struct line_window *window,
                             struct error *error);

/* Begins again with a share of a regular file: without the file's first `skip` bytes, which end
 * with a text line or the file, share number `share` of `shares` equal ones, and of it the text
 * lines that begin there. STATUS_INPUT where the file cannot be read. */
enum status line_reader_take_share(struct line_reader *r, size_t skip, int share, int shares,
                                   struct error *error);

/* The number of text lines before the share that was taken, 0 where none was. All OpenMP threads
 * read the file up to there to count the text lines. */
uint64_t line_reader_lines_before(const struct line_reader *r);

/* The name for messages: the path, or "standard input". */
const char *line_reader_name(const struct line_reader *r);

/* The most bytes of a window. */
size_t line_reader_window_bytes(const struct line_reader *r);

/* Whether a thread of its own reads the file. */
bool line_reader_threaded(const struct line_reader *r);

/* The part of the file, or of the share of it, that has been read, 0 to 1; negative if the size of
 * the file is unknown. */
double line_reader_fraction(const struct line_reader *r);

/* Whether the file is compressed. */
bool line_reader_gzip(const struct line_reader *r);

/* Bytes of the file as it is on disk; 0 if unknown. */
size_t line_reader_file_bytes(const struct line_reader *r);

/* Bytes of text, after inflation, of all windows so far. */
uint64_t line_reader_bytes(const struct line_reader *r);

/* Stops the thread and closes the file. Accepts NULL. */
void line_reader_close(struct line_reader *r);

#endif
