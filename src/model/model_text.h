/* Reads a text file of numbers, mapped, by all threads. Blank text lines are skipped; the others
 * are the items of the file. */
#ifndef BLCO_MODEL_TEXT_H
#define BLCO_MODEL_TEXT_H

#include <stdint.h>

#include "base/error.h"
#include "base/filemap.h"

struct model_text {
    const char *path; /* for messages; not owned */
    struct filemap map;
    uint64_t items;               /* text lines that are not blank             */
    uint64_t lines;               /* text lines                                */
    uint64_t nsections;           /* sections of whole text lines              */
    struct text_section *section; /* (nsections + 1), the last is empty; owned */
};

struct text_line {
    const char *begin, *end; /* without the blanks at both ends */
    uint64_t number;         /* in the file, from 1             */
};

/* Maps the file and counts its text lines. The caller closes *t, which is empty on failure; `path`
 * outlives *t. STATUS_INPUT, also if the last line has no newline: the file was cut off, perhaps
 * within a number. STATUS_MEMORY. */
enum status model_text_open(struct model_text *t, const char *path, struct error *error);

/* Accepts an empty *t. */
void model_text_close(struct model_text *t);

/* Finds item number `item`, from 0, less than t->items. */
struct text_line model_text_item(const struct model_text *t, uint64_t item);

/* Reads the next number of the line and moves line->begin behind the number. STATUS_INPUT if there
 * is none, or a NaN or an infinity. */
enum status model_text_number(const struct model_text *t, struct text_line *line, double *value,
                              struct error *error);

/* The same for a whole number of 0 or more. */
enum status model_text_unsigned(const struct model_text *t, struct text_line *line, uint64_t *value,
                                struct error *error);

/* STATUS_INPUT if anything is left on a line of which `numbers` numbers were read. */
enum status model_text_line_end(const struct model_text *t, const struct text_line *line,
                                uint64_t numbers, struct error *error);

/* The number of words on the line that are separated by blanks. */
uint64_t model_text_count(const struct text_line *line);

/* Reads a matrix (rows x cols, row-major), whose rows are the items from `first` on; there must be
 * so many items. STATUS_INPUT, about the first text line that is wrong. */
enum status model_text_matrix(const struct model_text *t, uint64_t first, uint64_t rows,
                              uint64_t cols, double *matrix, struct error *error);

#endif
