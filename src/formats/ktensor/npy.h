/* Reads and writes NumPy array files (.npy): vectors and matrices of little-endian float64. */
#pragma once

#include <stdint.h>

#include "base/error.h"
#include "base/outfile.h"
#include "formats/npy/npy_file.h"
#include "model/ktensor.h"

/* Writes the header (format 1.0) of an array of shape (rows, cols), or (rows,) if cols is 0, in C
 * order, and gives the file its whole size. STATUS_OUTPUT. */
enum status npy_write_header(struct outfile *f, uint64_t rows, uint64_t cols, struct error *error);

/* The rows first to first + count - 1 of that array, a (count x cols), and their place in the file,
 * for outfile_write_extents. How many rows there are may become known after they are written. */
struct outfile_extent npy_extent(struct outfile *f, uint64_t cols, const double *a, uint64_t first,
                                 uint64_t count);

/* Opens the file and reads its header. The caller closes *a with npy_file_close; *a is empty on
 * failure. STATUS_INPUT if the file cannot be read or is damaged, if its entries are not
 * little-endian float64, or if it has more than two dimensions; STATUS_MEMORY. */
enum status npy_open(struct npy_file *a, const char *path, struct error *error);

/* Reads the first `rows` rows to matrix (rows x cols), row-major, by all OpenMP threads.
 * STATUS_INPUT if an entry is not finite, or if the file cannot be read. */
enum status npy_matrix(const struct npy_file *a, uint64_t rows, double *matrix,
                       struct error *error);
