/* Writes a text file whose text lines all OpenMP threads format, section by section; the number of
 * threads does not change the bytes. Plain, or gzip in members that can be inflated at the same
 * time. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/progress.h"

struct line_writer;

/* How sections are made. */
struct line_sections {
    uint64_t lines;            /* text lines of a section, but of the last of a piece            */
    size_t bytes;              /* room for a section                                             */
    uint64_t whole;            /* text lines of the whole file, for progress                     */
    struct progress *progress; /* may be NULL */
};

struct line_writer_report {
    uint64_t text_bytes; /* before compression */
    uint64_t file_bytes; /* in the file        */
};

/* Text lines that are written together. */
struct line_piece {
    uint64_t lines;
    const void *context; /* of format() */
    /* Writes the text lines [begin, end) of the piece to `text` and returns the end of the text.
     * Several threads call it at once. */
    char *(*format)(const void *context, uint64_t begin, uint64_t end, char *text);
};

/* Begins a file; a `path` that ends in .gz is written as gzip, "-" is standard output. The caller
 * frees *w, which is NULL on failure. STATUS_OUTPUT, STATUS_MEMORY. */
enum status line_writer_open(struct line_writer **w, const char *path,
                             const struct line_sections *sections, struct error *error);

/* Writes the next piece; format() is called also where it has no text lines. STATUS_OUTPUT,
 * STATUS_UNREAD. */
enum status line_writer_append(struct line_writer *w, const struct line_piece *piece,
                               struct error *error);

/* Gives the file its name: it is complete. `report` may be NULL. STATUS_OUTPUT. */
enum status line_writer_commit(struct line_writer *w, struct line_writer_report *report,
                               struct error *error);

/* Deletes a file that was not committed. Accepts NULL. */
void line_writer_free(struct line_writer *w);
