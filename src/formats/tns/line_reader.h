/* Reads a text file in windows of whole text lines. All OpenMP threads copy a window of a regular
 * file from the system's cache. For gzip, standard input and pipes the reader has a thread of its
 * own, which reads (and inflates) one window ahead while the caller works on the current window.
 * The bytes of a window are a copy: they do not change with the file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/infile.h"

struct line_reader {
    const char *name;    /* for messages: the path, or "standard input"                       */
    size_t window_bytes; /* the most of a window                                              */
    size_t file_bytes;   /* as it is on disk; 0: unknown                                      */
    uint64_t text_bytes; /* after inflation, of all windows so far                            */
    bool gzip;           /* it is compressed                                                  */
    int threads;         /* of OpenMP that the user allows, without that of `ahead`           */

    /* The caller sets it, and the first window ends it: the file is a tensor. Then a file of
     * another kind is refused, and a mark of UTF-8 at the beginning left out. */
    bool is_tensor;
    size_t mark_bytes; /* of this mark; 0 where there is none */

    /* a regular file of plain text */
    int fd;
    char *window; /* (window_bytes + 1), the last for a newline that the file lacks; owned; NULL:
                   * another file */
    struct infile regular; /* its descriptor is `fd`                                        */
    uint64_t origin;       /* where reading began, in bytes of the file, as the next three  */
    uint64_t begin, end;   /* the share                                                     */
    uint64_t position;     /* where the next window begins                                  */

    struct read_ahead *ahead; /* another file, which a thread of its own reads; owned; or NULL */
};

struct line_window {
    const char *begin, *end; /* whole lines, end[-1] is a newline; empty: end of the file    */
    bool unterminated;       /* the last line had no newline in the file; here it has one    */
    bool overlong;           /* the next line is longer than a window: no window             */
};

#define LINE_WINDOW  ((size_t)8 << 20)   /* of a file of many text lines               */
#define LINE_SECTION ((size_t)128 << 10) /* bytes that a thread works on at a time, about */

/* Opens the file, or standard input if path is "-". A window, and so a text line, has at most
 * `window_bytes` bytes. The caller closes *r, which is empty on failure. STATUS_INPUT, with the
 * name of the file, if it cannot be read (a directory, no permission); STATUS_MEMORY;
 * STATUS_INTERNAL if no thread can be started. */
enum status line_reader_open(struct line_reader *r, const char *path, size_t window_bytes,
                             struct error *error);

/* Gets the next window; the one before is no longer valid. STATUS_INPUT, also where the file has
 * become shorter; STATUS_MEMORY. */
enum status line_reader_next(struct line_reader *r, struct line_window *window,
                             struct error *error);

/* Begins again with a share of a regular file. The file without its first `skip` bytes, which end
 * with a text line or the file, is cut into `shares` equal shares of bytes; this is share number
 * `share`, with the text lines that begin in it. STATUS_INPUT where the file cannot be read. */
enum status line_reader_take_share(struct line_reader *r, size_t skip, int share, int shares,
                                   struct error *error);

/* The number of text lines before the share, 0 without one. All OpenMP threads read the file up to
 * there to count them. */
uint64_t line_reader_lines_before(const struct line_reader *r);

/* The part of the file, or of the share of it, that has been read, 0 to 1; negative if the size of
 * the file is unknown. */
double line_reader_fraction(const struct line_reader *r);

/* Stops the thread, closes the file and empties *r. Accepts an empty one. */
void line_reader_close(struct line_reader *r);

/* The number of newlines in [p, end), or of bytes of this value, by this thread. */
uint64_t line_count(const char *p, const char *end);
uint64_t byte_count(const char *p, const char *end, char byte);
