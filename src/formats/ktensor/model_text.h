/* Reads a text file of numbers, which all OpenMP threads parse. The items of a
 * file are its text lines that are not blank; "line" means a text line here. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct model_text {
    const char *path; /* for messages; not owned */
    char *bytes;      /* (size) of the whole file; owned */
    size_t size;
    uint64_t items; /* number of text lines that are not blank             */
    size_t *item;   /* (items) where each begins, after its blanks; owned  */
};

struct text_line {
    const char *begin, *end; /* without the blanks at both ends */
};

/* Reads the file and finds its items. The caller closes *t, which is empty on failure; `path`
 * outlives *t. STATUS_INPUT, also if the file is compressed, or if the last text line has no
 * newline: then the file was cut off, perhaps within a number. STATUS_MEMORY. */
enum status model_text_open(struct model_text *t, const char *path, struct error *error);

/* Accepts an empty *t. */
void model_text_close(struct model_text *t);

/* Returns item number `item`, from 0, less than t->items. It points into t->bytes. */
struct text_line model_text_item(const struct model_text *t, uint64_t item);

/* The number of text lines before the one that has `at`; at the end of the file, of all. */
uint64_t model_text_lines(const struct model_text *t, const char *at);

/* *value = the next number of the line, a whole one of 0 or more; line->begin moves to what
 * follows. STATUS_INPUT if there is none. */
enum status model_text_unsigned(const struct model_text *t, struct text_line *line, uint64_t *value,
                                struct error *error);

/* Sets the message "path:number: read "WORD", expected ..." with the word at the beginning of the
 * line; of a long word the beginning. Returns STATUS_INPUT. */
enum status model_text_refuse(const struct model_text *t, const struct text_line *line,
                              const char *expected, struct error *error);

/* STATUS_INPUT if anything is left on a line of which `numbers` numbers were read. */
enum status model_text_line_end(const struct model_text *t, const struct text_line *line,
                                uint64_t numbers, struct error *error);

/* The number of words on the line; blanks separate words. */
uint64_t model_text_count(const struct text_line *line);

/* Reads matrix (rows x cols, row-major), whose rows are the items from `first` on; the file must
 * have so many items. STATUS_INPUT, with the first text line that is wrong in the message. */
enum status model_text_matrix(const struct model_text *t, uint64_t first, uint64_t rows,
                              uint64_t cols, double *matrix, struct error *error);
