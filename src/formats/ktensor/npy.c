#include "formats/ktensor/npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "npy.c copies doubles in the byte order of the file, which is little-endian"
#endif

#define HEADER_BYTES 128  /* of any shape: with the shortest more than 64, with the longest less */
#define SOME_ROWS    4096 /* of a column that are read at a time */

static size_t array_bytes(uint64_t rows, uint64_t cols)
{
    return rows * (cols ? cols : 1) * sizeof(double);
}

enum status npy_write_header(struct outfile *f, uint64_t rows, uint64_t cols, struct error *error)
{
    /* magic, version 1.0, and two bytes of how many follow: 118 */
    static const char begin[] = NPY_MAGIC "\x01\x00\x76\x00";
    char header[HEADER_BYTES], shape[48];
    snprintf(shape, sizeof shape, cols ? "%" PRIu64 ", %" PRIu64 : "%" PRIu64 ",", rows, cols);
    char *end = mempcpy(header, begin, sizeof begin - 1);
    end += snprintf(end, sizeof header - (sizeof begin - 1),
                    "{'descr': '<f8', 'fortran_order': False, 'shape': (%s), }", shape);
    memset(end, ' ', (size_t)(header + sizeof header - end));
    header[sizeof header - 1] = '\n';
    TRY(outfile_resize(f, sizeof header + array_bytes(rows, cols), error));
    return outfile_write_at(f, header, sizeof header, 0, error);
}

struct outfile_extent npy_extent(struct outfile *f, uint64_t cols, const double *a, uint64_t first,
                                 uint64_t count)
{
    return (struct outfile_extent){.file = f,
                                   .bytes = a,
                                   .size = array_bytes(count, cols),
                                   .offset = HEADER_BYTES + array_bytes(first, cols)};
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
    double column[SOME_ROWS];
    for (uint64_t r = 0; r < a->cols; r++) {
        uint64_t at = a->contents + (r * a->rows + first) * sizeof *column;
        TRY(infile_read(&a->in, column, count * sizeof *column, at, error));
        for (uint64_t k = 0; k < count; k++)
            matrix[(first + k) * a->cols + r] = column[k];
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
        read_rows(a, i, rows - i < SOME_ROWS ? rows - i : SOME_ROWS, matrix, &own);
        error_take(error, &own);
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
