/* NumPy's array files (.npy): vectors and matrices of little-endian float64. */
#ifndef BLCO_NPY_H
#define BLCO_NPY_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/filemap.h"

#define NPY_HEADER_MAX 128

/* Writes the header (format 1.0, a multiple of 64 bytes) of an array of shape (rows, cols), or
 * (rows,) where cols is 0, in C order, into header[0..NPY_HEADER_MAX), and returns its size. */
size_t npy_header(uint64_t rows, uint64_t cols, char *header);

struct npy {
    struct filemap map;
    uint64_t rows, cols;  /* cols is 1 where the shape is (rows,)     */
    int column_major;     /* Fortran order, as Julia writes it        */
    const char *contents; /* (rows * cols) doubles, in the map        */
};

/* Maps the file and reads its header. STATUS_INPUT says what was expected: another type of
 * entries, another number of dimensions, damage. On failure *a is empty. */
enum status npy_open(struct npy *a, const char *path, struct error *error);
void npy_close(struct npy *a);

/* Copies the entries into matrix (rows x cols), row-major. STATUS_INPUT where one is not finite. */
enum status npy_matrix(const struct npy *a, const char *path, double *matrix, struct error *error);

#endif
