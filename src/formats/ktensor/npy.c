#include "formats/ktensor/npy.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "npy.c copies doubles in the byte order of the file, which is little-endian"
#endif

#define HEADER_MAX 128
#define SOME_ROWS  4096 /* of a column that are read at a time */

/* Writes the header to header[0..HEADER_MAX). Returns its size in bytes, a multiple of 64. */
static size_t make_header(uint64_t rows, uint64_t cols, char *header)
{
    char shape[48];
    if (cols == 0)
        snprintf(shape, sizeof shape, "(%" PRIu64 ",)", rows);
    else
        snprintf(shape, sizeof shape, "(%" PRIu64 ", %" PRIu64 ")", rows, cols);

    const size_t prefix = NPY_MAGIC_BYTES + 4; /* magic, version, two bytes of length */
    char *text = header + prefix;
    size_t length =
        (size_t)snprintf(text, HEADER_MAX - prefix,
                         "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }", shape);
    size_t total = (prefix + length + 1 + 63) / 64 * 64; /* with the newline */
    memset(text + length, ' ', total - prefix - length);
    header[total - 1] = '\n';
    memcpy(header, NPY_MAGIC "\x01", NPY_MAGIC_BYTES + 1);
    header[NPY_MAGIC_BYTES + 1] = 0;
    header[NPY_MAGIC_BYTES + 2] = (char)((total - prefix) & 0xff);
    header[NPY_MAGIC_BYTES + 3] = (char)((total - prefix) >> 8);
    return total;
}

static size_t array_bytes(uint64_t rows, uint64_t cols)
{
    return rows * (cols ? cols : 1) * sizeof(double);
}

enum status npy_write_header(struct outfile *f, uint64_t rows, uint64_t cols, struct error *error)
{
    char header[HEADER_MAX];
    size_t size = make_header(rows, cols, header);
    TRY(outfile_resize(f, size + array_bytes(rows, cols), error));
    return outfile_write_at(f, header, size, 0, error);
}

struct outfile_extent npy_extent(struct outfile *f, uint64_t rows, uint64_t cols, const double *a,
                                 uint64_t first, uint64_t count)
{
    char header[HEADER_MAX];
    return (struct outfile_extent){.file = f,
                                   .bytes = a,
                                   .size = array_bytes(count, cols),
                                   .offset =
                                       make_header(rows, cols, header) + array_bytes(first, cols)};
}

/* What a file of a factor matrix or of weights has. */
static const struct npy_accepted doubles = {1u << NPY_F8, "'<f8' (float64, little-endian)"};

enum status npy_open(struct npy_file *a, const char *path, struct error *error)
{
    return npy_file_open(a, path, &doubles, error);
}

/* Reads rows [first, first + count) of a file that has one column after the other. */
static enum status read_rows(const struct npy_file *a, uint64_t first, uint64_t count,
                             double *matrix, struct error *error)
{
    double some[SOME_ROWS];
    for (uint64_t r = 0; r < a->cols; r++) {
        uint64_t at = a->contents + (r * a->rows + first) * sizeof *some;
        TRY(infile_read(&a->in, some, count * sizeof *some, at, error));
        for (uint64_t k = 0; k < count; k++)
            matrix[(first + k) * a->cols + r] = some[k];
    }
    return STATUS_OK;
}

enum status npy_matrix(const struct npy_file *a, uint64_t rows, double *matrix, struct error *error)
{
    uint64_t wrong = UINT64_MAX; /* the first row with an entry that is not finite */
    if (!a->column_major)
        infile_read(&a->in, matrix, array_bytes(rows, a->cols), a->contents, error);
#pragma omp parallel for schedule(dynamic) if (a->column_major)
    for (uint64_t i = 0; i < (a->column_major ? rows : 0); i += SOME_ROWS) {
        struct error own = {0};
        if (read_rows(a, i, rows - i < SOME_ROWS ? rows - i : SOME_ROWS, matrix, &own) != STATUS_OK)
#pragma omp critical(npy_error)
            *error = own;
    }
    TRY(error->status);
#pragma omp parallel for schedule(static) reduction(min : wrong)
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t r = 0; r < a->cols; r++)
            if (!__builtin_isfinite(matrix[i * a->cols + r]) && i < wrong)
                wrong = i;
    if (wrong == UINT64_MAX)
        return STATUS_OK;
    return error_set(error, STATUS_INPUT, "%s: row %" PRIu64 ": not a finite number", a->in.name,
                     wrong + 1);
}
