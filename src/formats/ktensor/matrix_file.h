/* A file that has one matrix, in any format that has such files. */
#pragma once

#include <stdint.h>

#include "formats/ktensor/model_text.h"
#include "formats/ktensor/npy.h"

struct matrix_file {
    char *path;             /* owned; NULL: there is no such file */
    struct model_text text; /* one of the two is open */
    struct npy_file array;
    uint64_t rows, cols;
};

/* Opens the file at f->path, of a zeroed *f, as one of a format, and finds rows and columns. The
 * caller closes *f, after a failure too. STATUS_INPUT, also where the matrix is empty;
 * STATUS_MEMORY. */
typedef enum status matrix_file_kind(struct matrix_file *f, struct error *error);

matrix_file_kind matrix_file_text, matrix_file_csv, matrix_file_npy;

/* Reads the first `rows` rows to matrix (rows x cols). STATUS_INPUT, STATUS_MEMORY. */
enum status matrix_file_read(const struct matrix_file *f, uint64_t rows, double *matrix,
                             struct error *error);

/* Accepts a zeroed *f. */
void matrix_file_close(struct matrix_file *f);
