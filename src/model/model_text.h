/* A text file of numbers in memory, its lines counted by all threads: blank lines carry nothing and
 * are left out, the others are called items here. */
#ifndef BLCO_MODEL_TEXT_H
#define BLCO_MODEL_TEXT_H

#include <stdint.h>

#include "base/error.h"
#include "base/filemap.h"

struct model_text {
    const char *path; /* for messages; not owned           */
    struct filemap map;
    uint64_t items;           /* lines that are not blank          */
    uint64_t lines;           /* all lines                         */
    uint64_t nchunks;         /* pieces of whole lines             */
    struct text_chunk *chunk; /* (nchunks + 1), the last empty; owned */
};

struct text_line {
    const char *begin, *end; /* without its blanks at both ends   */
    uint64_t number;         /* in the file, from 1               */
};

/* Maps the file and counts its lines. STATUS_INPUT, also where the last line has no end: the file
 * was cut off, perhaps within a number. `path` must outlive *t. On failure *t is empty. */
enum status model_text_open(struct model_text *t, const char *path, struct error *error);
void model_text_close(struct model_text *t);

/* Finds item number `item`, counted from 0 and less than t->items. */
struct text_line model_text_item(const struct model_text *t, uint64_t item);

/* Reads the next number of the line and moves its begin behind it. STATUS_INPUT where there is
 * none, or a NaN or an infinity. */
enum status model_text_number(const struct model_text *t, struct text_line *line, double *value,
                              struct error *error);
enum status model_text_unsigned(const struct model_text *t, struct text_line *line, uint64_t *value,
                                struct error *error);

/* The line has `numbers` numbers exactly: refuses what is left after the last of them. */
enum status model_text_line_end(const struct model_text *t, const struct text_line *line,
                                uint64_t numbers, struct error *error);

/* Numbers separated by blanks on the line, whatever they are. */
uint64_t model_text_count(const struct text_line *line);

/* Reads a matrix (rows x cols) that stands row by row in the items from `first` on, which must be
 * there. The message is about the first line that is wrong. */
enum status model_text_matrix(const struct model_text *t, uint64_t first, uint64_t rows,
                              uint64_t cols, double *matrix, struct error *error);

#endif
