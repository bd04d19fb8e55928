#include "model/npy.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "npy.c copies doubles in the byte order of the file, which is little-endian"
#endif

#define MAGIC       "\x93NUMPY"
#define MAGIC_BYTES 6
#define HEADER_MAX  128

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

static enum status read_header(struct npy *a, const char *path, struct error *error)
{
    const unsigned char *bytes = (const unsigned char *)a->map.bytes;
    size_t size = a->map.size;
    if (size == 0)
        return refuse(path, "is empty, expected a .npy file", error);
    if (size < MAGIC_BYTES || memcmp(bytes, MAGIC, MAGIC_BYTES) != 0)
        return refuse(path, "not a .npy file: it does not begin with \\x93NUMPY", error);
    if (size < MAGIC_BYTES + 6)
        return refuse(path, "the file ends within the .npy header", error);
    int version = bytes[MAGIC_BYTES];
    if (version < 1 || version > 3)
        return error_set(error, STATUS_INPUT, "%s: .npy format %d, expected 1 to 3", path, version);
    size_t prefix = version == 1 ? MAGIC_BYTES + 4 : MAGIC_BYTES + 6;
    size_t length = bytes[8] | (size_t)bytes[9] << 8;
    if (version > 1)
        length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (length > size - prefix)
        return refuse(path, "the file ends within the .npy header", error);
    a->contents = a->map.bytes + prefix + length;

    struct cursor c = {a->map.bytes + prefix, a->contents};
    if (read_dictionary(a, path, c, error) != STATUS_OK)
        return error->status;
    uint64_t expected, found = size - prefix - length;
    if (__builtin_mul_overflow(a->rows, a->cols, &expected) ||
        __builtin_mul_overflow(expected, sizeof(double), &expected) || found != expected)
        return error_set(error, STATUS_INPUT,
                         "%s: %" PRIu64 " bytes of entries do not make %" PRIu64 " x %" PRIu64
                         " numbers of 8 bytes: the file was cut off or is damaged",
                         path, found, a->rows, a->cols);
    return STATUS_OK;
}

enum status npy_open(struct npy *a, const char *path, struct error *error)
{
    *a = (struct npy){0};
    if (filemap_open(&a->map, path, error) != STATUS_OK || read_header(a, path, error) != STATUS_OK)
        npy_close(a);
    return error->status;
}

void npy_close(struct npy *a)
{
    filemap_close(&a->map);
    *a = (struct npy){0};
}

enum status npy_matrix(const struct npy *a, const char *path, uint64_t rows, double *matrix,
                       struct error *error)
{
    uint64_t row_step = a->column_major ? 1 : a->cols, col_step = a->column_major ? a->rows : 1;
    uint64_t wrong = UINT64_MAX; /* the first row with an entry that is not finite */
#pragma omp parallel for schedule(static) reduction(min : wrong)
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t r = 0; r < a->cols; r++) {
            double x;
            memcpy(&x, a->contents + (i * row_step + r * col_step) * sizeof x, sizeof x);
            matrix[i * a->cols + r] = x;
            if (!__builtin_isfinite(x) && i < wrong)
                wrong = i;
        }
    if (wrong == UINT64_MAX)
        return STATUS_OK;
    return error_set(error, STATUS_INPUT, "%s: row %" PRIu64 ": not a finite number", path,
                     wrong + 1);
}
