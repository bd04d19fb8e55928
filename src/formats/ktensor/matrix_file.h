/* A file that has one matrix, in any format that has such files. */
#ifndef BLCO_MATRIX_FILE_H
#define BLCO_MATRIX_FILE_H

#include <stdint.h>

#include "formats/ktensor/model_text.h"
#include "formats/ktensor/npy.h"

struct matrix_file {
    char *path; /* owned; NULL: there is no such file */
    const struct matrix_reader *reader;
    struct model_text text; /* one of the two is open */
    struct npy_file array;
    uint64_t rows, cols;
};

/* How a format is read. */
struct matrix_reader {
    /* Opens the file at f->path and finds rows and columns. STATUS_INPUT, STATUS_MEMORY. */
    enum status (*open)(struct matrix_file *f, struct error *error);
    /* Reads the first `rows` rows. STATUS_INPUT, STATUS_MEMORY. */
    enum status (*read)(const struct matrix_file *f, uint64_t rows, double *matrix,
                        struct error *error);
};

extern const struct matrix_reader matrix_reader_text, matrix_reader_csv, matrix_reader_npy;

/* Opens the file and finds the shape of its matrix. *f takes `path` over; the caller closes *f,
 * after a failure too. STATUS_INPUT, also where the matrix is empty; STATUS_MEMORY. */
enum status matrix_file_open(struct matrix_file *f, char *path, const struct matrix_reader *reader,
                             struct error *error);

/* Reads the first `rows` rows to matrix (rows x cols). STATUS_INPUT, STATUS_MEMORY. */
enum status matrix_file_read(const struct matrix_file *f, uint64_t rows, double *matrix,
                             struct error *error);

/* Accepts a zeroed *f. */
void matrix_file_close(struct matrix_file *f);

#endif
