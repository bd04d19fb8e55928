#include "formats/npy/npy_file.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "entries are copied in the byte order of the file, which is little-endian"
#endif

static const struct {
    const char *name;
    uint64_t bytes;
} types[] = {
    [NPY_F8] = {"<f8", 8}, [NPY_F4] = {"<f4", 4}, [NPY_I8] = {"<i8", 8},  [NPY_I4] = {"<i4", 4},
    [NPY_I2] = {"<i2", 2}, [NPY_I1] = {"|i1", 1}, [NPY_U8] = {"<u8", 8},  [NPY_U4] = {"<u4", 4},
    [NPY_U2] = {"<u2", 2}, [NPY_U1] = {"|u1", 1}, [NPY_BOOL] = {"|b1", 1}};

#define TYPES ((int)(sizeof types / sizeof *types))

uint64_t npy_entry_bytes(enum npy_type type)
{
    return types[type].bytes;
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

static bool take_quoted(struct cursor *c, const char *word)
{
    const struct cursor old = *c;
    if ((take(c, "'") || take(c, "\"")) && take(c, word) && (take(c, "'") || take(c, "\"")))
        return true;
    *c = old;
    return false;
}

static bool take_key(struct cursor *c, const char *key)
{
    const struct cursor old = *c;
    if (take_quoted(c, key) && take(c, ":"))
        return true;
    *c = old;
    return false;
}

/* Takes the name of one of the accepted types. */
static bool take_type(struct cursor *c, unsigned accepted, enum npy_type *type)
{
    for (int t = 0; t < TYPES; t++)
        if (accepted >> t & 1u && take_quoted(c, types[t].name)) {
            *type = (enum npy_type)t;
            return true;
        }
    return false;
}

/* Reads one or two lengths in parentheses; false for anything else. */
static bool take_shape(struct cursor *c, struct npy_file *a)
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
    a->dimensions = count;
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

static enum status read_dictionary(struct npy_file *a, const struct npy_accepted *accepted,
                                   struct cursor c, struct error *error)
{
    const char *path = a->in.name;
    bool descr = false, order = false, shape = false;
    if (!take(&c, "{"))
        return refuse_text(path, c, "dictionary", ",", "{", error);
    while (!take(&c, "}")) {
        if (take_key(&c, "descr")) {
            if (!take_type(&c, accepted->types, &a->type))
                return refuse_text(path, c, "entries of type", ",", accepted->expected, error);
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

static enum status read_header(struct npy_file *a, const struct npy_accepted *accepted,
                               struct error *error)
{
    const char *path = a->in.name;
    unsigned char bytes[NPY_MAGIC_BYTES + 6] = {0};
    const uint64_t size = a->in.size;
    TRY(infile_read(&a->in, bytes, size < sizeof bytes ? size : sizeof bytes, 0, error));
    if (size == 0)
        return refuse(path, "is empty, expected a .npy file", error);
    if (size < NPY_MAGIC_BYTES || memcmp(bytes, NPY_MAGIC, NPY_MAGIC_BYTES) != 0)
        return refuse(path, "not a .npy file: it does not begin with \\x93NUMPY", error);
    if (size < sizeof bytes)
        return refuse(path, "the file ends within the .npy header", error);
    const int version = bytes[NPY_MAGIC_BYTES];
    if (version < 1 || version > 3)
        return error_set(error, STATUS_INPUT, "%s: .npy format %d, expected 1 to 3", path, version);
    const size_t prefix = version == 1 ? NPY_MAGIC_BYTES + 4 : NPY_MAGIC_BYTES + 6;
    size_t length = bytes[8] | (size_t)bytes[9] << 8;
    if (version > 1)
        length |= (size_t)bytes[10] << 16 | (size_t)bytes[11] << 24;
    if (length > size - prefix)
        return refuse(path, "the file ends within the .npy header", error);
    char *text = memory_array(length, 1, error);
    TRY(error->status);
    TRY_OR(done, infile_read(&a->in, text, length, prefix, error));
    read_dictionary(a, accepted, (struct cursor){text, text + length}, error);
done:
    memory_free(text);
    TRY(error->status);
    a->contents = prefix + length;
    const uint64_t entry = npy_entry_bytes(a->type);
    uint64_t expected, found = size - a->contents;
    if (__builtin_mul_overflow(a->rows, a->cols, &expected) ||
        __builtin_mul_overflow(expected, entry, &expected) || found != expected)
        return error_set(error, STATUS_INPUT,
                         "%s: %" PRIu64 " bytes of entries, expected %" PRIu64 " x %" PRIu64
                         " numbers of %" PRIu64 " byte%s: the file was cut off or is damaged",
                         path, found, a->rows, a->cols, entry, entry == 1 ? "" : "s");
    return STATUS_OK;
}

enum status npy_file_open(struct npy_file *a, const char *path, const struct npy_accepted *accepted,
                          struct error *error)
{
    *a = (struct npy_file){0};
    TRY(infile_open(&a->in, path, error));
    if (read_header(a, accepted, error) != STATUS_OK)
        npy_file_close(a);
    return error->status;
}

void npy_file_close(struct npy_file *a)
{
    infile_close(&a->in);
    *a = (struct npy_file){0};
}
