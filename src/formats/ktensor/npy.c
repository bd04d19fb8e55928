#include "formats/ktensor/npy.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "npy.c copies doubles in the byte order of the file, which is little-endian"
#endif

#define MAGIC       "\x93NUMPY"
#define MAGIC_BYTES 6
#define HEADER_MAX  128
#define SOME_ROWS   4096 /* of a column that are read at a time */

/* Writes the header to header[0..HEADER_MAX). Returns its size in bytes, a multiple of 64. */
static size_t make_header(uint64_t rows, uint64_t cols, char *header)
{
    char shape[48];
    if (cols == 0)
        snprintf(shape, sizeof shape, "(%" PRIu64 ",)", rows);
    else
        snprintf(shape, sizeof shape, "(%" PRIu64 ", %" PRIu64 ")", rows, cols);

    const size_t prefix = MAGIC_BYTES + 4; /* magic, version, two bytes of length */
    char *text = header + prefix;
    size_t length =
        (size_t)snprintf(text, HEADER_MAX - prefix,
                         "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }", shape);
    size_t total = (prefix + length + 1 + 63) / 64 * 64; /* with the newline */
    memset(text + length, ' ', total - prefix - length);
    header[total - 1] = '\n';
    memcpy(header, MAGIC "\x01", MAGIC_BYTES + 1);
    header[MAGIC_BYTES + 1] = 0;
    header[MAGIC_BYTES + 2] = (char)((total - prefix) & 0xff);
    header[MAGIC_BYTES + 3] = (char)((total - prefix) >> 8);
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
    if (outfile_resize(f, size + array_bytes(rows, cols), error) != STATUS_OK)
        return error->status;
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

enum status npy_write(struct outfile *file, const struct ktensor *k, struct error *error)
{
    const int order = k->shape.order;
    struct outfile_extent extent[MAX_ORDER + 1];
    for (int n = 0; n < order; n++) {
        const uint64_t rows = k->shape.dims[n];
        if (npy_write_header(&file[n], rows, k->rank, error) != STATUS_OK)
            return error->status;
        extent[n] = npy_extent(&file[n], rows, k->rank, k->factor[n], 0, rows);
    }
    if (npy_write_header(&file[order], k->rank, 0, error) != STATUS_OK)
        return error->status;
    extent[order] = npy_extent(&file[order], k->rank, 0, k->lambda, 0, k->rank);
    return outfile_write_extents(extent, order + 1, error);
}

/* The rest of the header's text, a Python dictionary, that has not been read yet. */
struct cursor {
    const char *at, *end;
};

static void skip_spaces(struct cursor *c)
{
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n'))
        c->at++;
}

static bool take(struct cursor *c, const char *word)
{
    skip_spaces(c);
    size_t length = strlen(word);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0)
        return false;
    c->at += length;
    return true;
}

static bool take_key(struct cursor *c, const char *key)
{
    struct cursor old = *c;
    if ((take(c, "'") || take(c, "\"")) && take(c, key) && (take(c, "'") || take(c, "\"")) &&
        take(c, ":"))
        return true;
    *c = old;
    return false;
}

/* Reads one or two lengths in parentheses; false for anything else. */
static bool take_shape(struct cursor *c, struct npy *a)
{
    uint64_t length[2] = {0, 1};
    int count = 0;
    if (!take(c, "("))
        return false;
    while (!take(c, ")")) {
        skip_spaces(c);
        const char *next = count < 2 ? number_parse_unsigned(c->at, c->end, &length[count]) : NULL;
        if (!next)
            return false;
        c->at = next;
        count++;
        if (!take(c, ",")) {
            if (!take(c, ")"))
                return false;
            break;
        }
    }
    a->rows = length[0];
    a->cols = length[1];
    return count > 0;
}

static enum status refuse(const char *path, const char *what, struct error *error)
{
    return error_set(error, STATUS_INPUT, "%s: %s", path, what);
}

/* Refuses what stands at the cursor, up to a byte of `ends`. */
static enum status refuse_text(const char *path, struct cursor c, const char *what,
                               const char *ends, const char *expected, struct error *error)
{
    char text[40];
    size_t length = 0;
    skip_spaces(&c);
    while (c.at < c.end && length < sizeof text - 1 && *c.at >= ' ' && *c.at <= '~') {
        text[length++] = *c.at;
        if (strchr(ends, *c.at++))
            break;
    }
    while (length > 0 && strchr(",: ", text[length - 1]))
        length--;
    text[length] = '\0';
    return error_set(error, STATUS_INPUT, "%s: .npy header: %s %s, expected %s", path, what, text,
                     expected);
}

static enum status read_dictionary(struct npy *a, const char *path, struct cursor c,
                                   struct error *error)
{
    bool descr = false, order = false, shape = false;
    if (!take(&c, "{"))
        return refuse_text(path, c, "dictionary", ",", "{", error);
    while (!take(&c, "}")) {
        if (take_key(&c, "descr")) {
            if (!take(&c, "'<f8'") && !take(&c, "\"<f8\""))
                return refuse_text(path, c, "entries of type", ",",
                                   "'<f8' (float64, little-endian)", error);
            descr = true;
        } else if (take_key(&c, "fortran_order")) {
            a->column_major = take(&c, "True");
            if (!a->column_major && !take(&c, "False"))
                return refuse_text(path, c, "fortran_order", ",", "True or False", error);
            order = true;
        } else if (take_key(&c, "shape")) {
            const struct cursor whole = c;
            if (!take_shape(&c, a))
                return refuse_text(path, whole, "shape", ")", "one or two lengths", error);
            shape = true;
        } else {
            return refuse_text(path, c, "key", ":", "'descr', 'fortran_order' or 'shape'", error);
        }
        if (!take(&c, ",") && (skip_spaces(&c), c.at == c.end || *c.at != '}'))
            return refuse_text(path, c, "text", ",", "a comma or }", error);
    }
    if (!descr || !order || !shape)
        return refuse(path, ".npy header: expected all of 'descr', 'fortran_order' and 'shape'",
                      error);
    return STATUS_OK;
}

/* The bytes of the file before its header's text, and of that text; *prefix and *length are 0 where
 * the file is refused. */
static enum status measure_header(const struct npy *a, size_t *prefix, size_t *length,
                                  struct error *error)
{
    const char *path = a->in.name;
    unsigned char bytes[MAGIC_BYTES + 6] = {0};
    uint64_t size = a->in.size;
    *prefix = *length = 0;
    if (infile_read(&a->in, bytes, size < sizeof bytes ? size : sizeof bytes, 0, error) !=
        STATUS_OK)
        return error->status;
    if (size == 0)
        return refuse(path, "is empty, expected a .npy file", error);
    if (size < MAGIC_BYTES || memcmp(bytes, MAGIC, MAGIC_BYTES) != 0)
        return refuse(path, "not a .npy file: it does not begin with \\x93NUMPY", error);
    if (size < sizeof bytes)
        return refuse(path, "the file ends within the .npy header", error);
    int version = bytes[MAGIC_BYTES];
    if (version < 1 || version > 3)
        return error_set(error, STATUS_INPUT, "%s: .npy format %d, expected 1 to 3", path, version);
    size_t before = version == 1 ? MAGIC_BYTES + 4 : MAGIC_BYTES + 6;
    size_t text = bytes[8] | (size_t)bytes[9] << 8;
    if (version > 1)
        text |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (text > size - before)
        return refuse(path, "the file ends within the .npy header", error);
    *prefix = before;
    *length = text;
    return STATUS_OK;
}

static enum status read_header(struct npy *a, struct error *error)
{
    size_t prefix, length;
    if (measure_header(a, &prefix, &length, error) != STATUS_OK)
        return error->status;
    char *text = memory_array(length, 1, error);
    if (!text)
        return error->status;
    if (infile_read(&a->in, text, length, prefix, error) == STATUS_OK)
        read_dictionary(a, a->in.name, (struct cursor){text, text + length}, error);
    memory_free(text);
    if (error->status != STATUS_OK)
        return error->status;
    a->contents = prefix + length;
    uint64_t expected, found = a->in.size - a->contents;
    if (__builtin_mul_overflow(a->rows, a->cols, &expected) ||
        __builtin_mul_overflow(expected, sizeof(double), &expected) || found != expected)
        return error_set(error, STATUS_INPUT,
                         "%s: %" PRIu64 " bytes of entries, expected %" PRIu64 " x %" PRIu64
                         " numbers of 8 bytes: the file was cut off or is damaged",
                         a->in.name, found, a->rows, a->cols);
    return STATUS_OK;
}

enum status npy_open(struct npy *a, const char *path, struct error *error)
{
    *a = (struct npy){0};
    if (infile_open(&a->in, path, error) != STATUS_OK)
        return error->status;
    if (read_header(a, error) != STATUS_OK)
        npy_close(a);
    return error->status;
}

void npy_close(struct npy *a)
{
    infile_close(&a->in);
    *a = (struct npy){0};
}

/* Reads rows [first, first + count) of a file that has one column after the other. */
static enum status read_rows(const struct npy *a, uint64_t first, uint64_t count, double *matrix,
                             struct error *error)
{
    double some[SOME_ROWS];
    for (uint64_t r = 0; r < a->cols; r++) {
        uint64_t at = a->contents + (r * a->rows + first) * sizeof *some;
        if (infile_read(&a->in, some, count * sizeof *some, at, error) != STATUS_OK)
            return error->status;
        for (uint64_t k = 0; k < count; k++)
            matrix[(first + k) * a->cols + r] = some[k];
    }
    return STATUS_OK;
}

static enum status read_columns(const struct npy *a, uint64_t rows, double *matrix,
                                struct error *error)
{
#pragma omp parallel for schedule(dynamic)
    for (uint64_t i = 0; i < rows; i += SOME_ROWS) {
        struct error own = {0};
        if (read_rows(a, i, rows - i < SOME_ROWS ? rows - i : SOME_ROWS, matrix, &own) != STATUS_OK)
#pragma omp critical(npy_error)
            *error = own;
    }
    return error->status;
}

enum status npy_matrix(const struct npy *a, uint64_t rows, double *matrix, struct error *error)
{
    uint64_t wrong = UINT64_MAX; /* the first row with an entry that is not finite */
    if (a->column_major)
        read_columns(a, rows, matrix, error);
    else
        infile_read(&a->in, matrix, array_bytes(rows, a->cols), a->contents, error);
    if (error->status != STATUS_OK)
        return error->status;
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
