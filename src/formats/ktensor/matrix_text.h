/* Writes matrices as text: one text line for each row, numbers with the fewest digits that read
 * back to the same number, separated by blanks. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/outfile.h"
#include "model/ktensor.h"

/* Writes a (rows x cols), row-major, at *position of the file with all OpenMP threads; *position
 * moves past the text. STATUS_OUTPUT, STATUS_MEMORY. */
enum status matrix_text_put(struct outfile *f, size_t *position, const double *a, uint64_t rows,
                            uint64_t cols, struct error *error);

/* A matrix whose text lines may begin with something else. */
struct text_matrix {
    const double *a; /* (rows x cols), row-major */
    uint64_t first;  /* the number of the first row, for `before` */
    uint64_t rows, cols;
    char separator; /* between two numbers */
    /* Writes what comes before the numbers of a row to `text`, which has room for `room` bytes;
     * returns the end. NULL: nothing. */
    char *(*before)(const void *context, uint64_t row, char *text);
    const void *context;
    size_t room;
};

/* Writes it as matrix_text_put. STATUS_OUTPUT, STATUS_MEMORY. */
enum status matrix_text_put_rows(struct outfile *f, size_t *position, const struct text_matrix *m,
                                 struct error *error);

/* The bytes that the numbers of a model take as text, estimated from some of them. */
uint64_t matrix_text_bytes(const struct ktensor *k);
