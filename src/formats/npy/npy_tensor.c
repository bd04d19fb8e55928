#include "formats/npy/npy_tensor.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"

#define ENDING ".npy"

#define INTEGERS                                                                                   \
    (1u << NPY_I8 | 1u << NPY_I4 | 1u << NPY_I2 | 1u << NPY_I1 | 1u << NPY_U8 | 1u << NPY_U4 |     \
     1u << NPY_U2 | 1u << NPY_U1)

static const struct npy_accepted
    indices = {INTEGERS, "integers, little-endian as '<i8' (coordinates): save "
                         "the array's .astype('<i8')"},
    values = {INTEGERS | 1u << NPY_F8 | 1u << NPY_F4 | 1u << NPY_BOOL,
              "'<f8', '<f4' or integers, little-endian as '<i8' (values): save "
              "the array's .astype('<f8')"};

/* --- names --- */

static bool ends_in_npy(const char *begin, const char *end)
{
    const size_t length = strlen(ENDING);
    return (size_t)(end - begin) > length && memcmp(end - length, ENDING, length) == 0;
}

/* The comma between both names, or NULL. */
static const char *comma_of(const char *path)
{
    for (const char *c = strchr(path, ','); c; c = strchr(c + 1, ','))
        if (ends_in_npy(path, c) && c[1])
            return c;
    return NULL;
}

bool npy_tensor_has_values(const char *path)
{
    return comma_of(path) != NULL;
}

bool npy_tensor_named(const char *path)
{
    return comma_of(path) || ends_in_npy(path, path + strlen(path));
}

int npy_tensor_index_base(const struct tns_options *options)
{
    return options->index_base_given ? options->index_base : 0;
}

enum status npy_tensor_paths(const char *path, char *name[2], struct error *error)
{
    const char *comma = comma_of(path);
    const size_t length = comma ? (size_t)(comma - path) : strlen(path);
    name[1] = NULL;
    name[0] = memory_text(error, "%.*s", (int)length, path);
    if (name[0] && comma)
        name[1] = memory_text(error, "%s", comma + 1);
    return error->status;
}

/* --- opening --- */

static enum status open_files(struct npy_tensor *t, struct error *error)
{
    TRY(npy_tensor_paths(t->path, t->name, error));
    TRY(npy_file_open(&t->coords, t->name[0], &indices, error));
    if (!t->name[1])
        return STATUS_OK;
    return npy_file_open(&t->values, t->name[1], &values, error);
}

/* Refuses an array that has a row for each mode in place of one for each entry. */
static enum status refuse_transposed(const struct npy_tensor *t, struct error *error)
{
    return error_set(error, STATUS_INPUT,
                     "%s: shape (%" PRIu64 ", %" PRIu64 "), expected (entries, modes): it is "
                     "transposed, save the array's .T",
                     t->name[0], t->coords.rows, t->coords.cols);
}

static enum status check_values(const struct npy_tensor *t, struct error *error)
{
    const struct npy_file *c = &t->coords, *v = &t->values;
    if (v->cols == 1 && v->rows == c->rows)
        return STATUS_OK;
    if (v->cols == 1 && v->rows == c->cols && c->dimensions == 2)
        return refuse_transposed(t, error);
    return error_set(error, STATUS_INPUT,
                     "%s: %" PRIu64 " x %" PRIu64 " values, expected %" PRIu64
                     ", one for each row of %s",
                     t->name[1], v->rows, v->cols, c->rows, t->name[0]);
}

static enum status check_order(const struct npy_tensor *t, struct error *error)
{
    const struct npy_file *c = &t->coords;
    const struct tns_options *o = t->options;
    const uint64_t given = (uint64_t)o->ndims;
    const bool fits = c->cols >= 1 && c->cols <= MAX_ORDER;
    if (fits && (given == 0 || c->cols == given))
        return STATUS_OK;
    if (c->dimensions == 2 && given && c->rows == given && !t->name[1])
        return refuse_transposed(t, error);
    if (!fits)
        return error_set(error, STATUS_INPUT,
                         "%s: shape (%" PRIu64 ", %" PRIu64 "), expected 1 to %d columns, one for "
                         "each mode%s",
                         t->name[0], c->rows, c->cols, MAX_ORDER,
                         t->name[1] ? "" : ": save the array's .T if each row is a mode");
    return error_set(error, STATUS_INPUT,
                     "%s: %" PRIu64 " column%s, one for each mode, but %s gives %d", t->name[0],
                     c->cols, c->cols == 1 ? "" : "s", o->order_origin ? o->order_origin : "--dims",
                     o->ndims);
}

enum status npy_tensor_open(struct npy_tensor *t, const char *path,
                            const struct tns_options *options, struct error *error)
{
    *t = (struct npy_tensor){.path = path, .options = options};
    TRY(open_files(t, error));
    if (t->name[1])
        TRY(check_values(t, error));
    TRY(check_order(t, error));
    if (t->coords.rows == 0)
        return error_set(error, STATUS_INPUT, "%s: no entries", t->name[0]);
    if (t->coords.rows > MAX_NNZ)
        return error_set(error, STATUS_INPUT, "%s: more than %" PRIu64 " entries", t->name[0],
                         MAX_NNZ);
    t->order = (int)t->coords.cols;
    t->entries = t->coords.rows;
    for (int n = 0; n < t->order; n++)
        t->limit[n] = options->dims[n] ? options->dims[n] : MAX_LENGTH;
    return STATUS_OK;
}

void npy_tensor_close(struct npy_tensor *t)
{
    npy_file_close(&t->coords);
    npy_file_close(&t->values);
    memory_free(t->name[0]);
    memory_free(t->name[1]);
    *t = (struct npy_tensor){0};
}

uint64_t npy_tensor_bytes(const struct npy_tensor *t)
{
    const uint64_t value = t->name[1] ? npy_entry_bytes(t->values.type) : 0;
    return t->entries * (t->coords.cols * npy_entry_bytes(t->coords.type) + value);
}

struct shape npy_tensor_shape(const struct npy_tensor *t)
{
    struct shape shape = shape_of(t->order, t->limit);
    for (int n = 0; n < t->order; n++)
        if (t->options->dims[n] == 0)
            shape.dims[n] = (uint64_t)t->largest[n] + 1;
    return shape;
}
