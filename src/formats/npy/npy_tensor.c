#include "formats/npy/npy_tensor.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/least.h"
#include "base/memory.h"
#include "base/number.h"

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

struct npy_tensor {
    const char *path; /* both names; borrowed                                        */
    char *name[2];    /* of coords and values; owned; the second is NULL without values */
    struct npy_file coords, values;
    const struct tns_options *options; /* borrowed */
    int order;
    uint64_t entries;
    uint64_t limit[MAX_ORDER];   /* indices of mode n are below this one      */
    uint32_t largest[MAX_ORDER]; /* the largest index of mode n, so far       */
    uint64_t next, end;          /* the next piece's first entry; the share's end */
};

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
                     c->cols, c->cols == 1 ? "" : "s", tns_order_origin(o), o->ndims);
}

static bool npy_probe(const char *path, const char *bytes, size_t count)
{
    (void)bytes, (void)count;
    return npy_tensor_named(path);
}

/* Compares the shapes of the files with each other and with the options. */
static enum status npy_open(struct tensor_reader *r, struct error *error)
{
    struct npy_tensor *t = r->state = memory_zeros(1, sizeof *t, error);
    TRY(error->status);
    *t = (struct npy_tensor){.path = r->path, .options = r->tns};
    TRY(npy_tensor_paths(t->path, t->name, error));
    TRY(npy_file_open(&t->coords, t->name[0], &indices, error));
    if (t->name[1]) {
        TRY(npy_file_open(&t->values, t->name[1], &values, error));
        TRY(check_values(t, error));
    }
    TRY(check_order(t, error));
    if (t->coords.rows == 0)
        return error_set(error, STATUS_INPUT, "%s: no entries", t->name[0]);
    if (t->coords.rows > MAX_NNZ)
        return error_set(error, STATUS_INPUT, "%s: more than %" PRIu64 " entries", t->name[0],
                         MAX_NNZ);
    t->order = (int)t->coords.cols;
    t->entries = t->coords.rows;
    for (int n = 0; n < t->order; n++)
        t->limit[n] = t->options->dims[n] ? t->options->dims[n] : MAX_LENGTH;
    r->has_shares = true;
    r->identity[0] = t->coords.in.size + t->values.in.size;
    r->identity[1] = t->entries;
    return STATUS_OK;
}

static void npy_close(struct tensor_reader *r)
{
    struct npy_tensor *t = r->state;
    npy_file_close(&t->coords);
    npy_file_close(&t->values);
    memory_free(t->name[0], t->name[1]);
}

/* The shape of a tensor with these largest indices, or with the lengths of the options. */
static struct shape shape_with(const struct npy_tensor *t, const uint32_t *largest)
{
    struct shape shape = shape_of(t->order, t->limit);
    for (int n = 0; n < t->order; n++)
        if (t->options->dims[n] == 0)
            shape.dims[n] = (uint64_t)largest[n] + 1;
    return shape;
}

#define SOME_BYTES 32768 /* of an array that a thread reads at a time */

/* Calls EACH(C type) for the type of an array. */
#define OF_ONE(type, EACH, c_type)                                                                 \
    case type:                                                                                     \
        EACH(c_type);                                                                              \
        break;
#define OF_TYPE(type, EACH)                                                                        \
    switch (type) {                                                                                \
        OF_ONE(NPY_I8, EACH, int64_t)                                                              \
        OF_ONE(NPY_I4, EACH, int32_t)                                                              \
        OF_ONE(NPY_I2, EACH, int16_t)                                                              \
        OF_ONE(NPY_I1, EACH, int8_t)                                                               \
        OF_ONE(NPY_U8, EACH, uint64_t)                                                             \
        OF_ONE(NPY_U4, EACH, uint32_t)                                                             \
        OF_ONE(NPY_U2, EACH, uint16_t)                                                             \
        OF_ONE(NPY_U1, EACH, uint8_t)                                                              \
        OF_ONE(NPY_BOOL, EACH, uint8_t)                                                            \
        OF_ONE(NPY_F8, EACH, double)                                                               \
        OF_ONE(NPY_F4, EACH, float)                                                                \
    }

/* Entries that a thread reads and checks at a time. */
struct span {
    const struct npy_tensor *t;
    uint64_t first, count; /* entries of the files                      */
    struct coo *x;         /* to its entries `at` to at + count - 1     */
    uint64_t at;
    uint64_t wrong; /* the first bad one, as an entry of the files; UINT64_MAX: none */
    uint32_t largest[MAX_ORDER];
};

/* Takes the indices of mode n from entries that stand `stride` apart. A negative index becomes a
 * large one. */
static void take_indices(struct span *s, int n, const void *from, uint64_t stride)
{
    const uint64_t base = (uint64_t)npy_tensor_index_base(s->t->options), limit = s->t->limit[n];
    uint32_t *to = s->x->index[n] + s->at, largest = s->largest[n];
#define TAKE(type)                                                                                 \
    for (uint64_t i = 0; i < s->count; i++) {                                                      \
        const uint64_t index = (uint64_t)((const type *)from)[i * stride] - base;                  \
        to[i] = (uint32_t)index;                                                                   \
        if (index >= limit)                                                                        \
            s->wrong = least_of(s->wrong, s->first + i);                                           \
        else if (to[i] > largest)                                                                  \
            largest = to[i];                                                                       \
    }
    OF_TYPE(s->t->coords.type, TAKE)
#undef TAKE
    s->largest[n] = largest;
}

static enum status read_span(struct span *s, struct error *error)
{
    _Alignas(8) unsigned char bytes[SOME_BYTES];
    const struct npy_file *c = &s->t->coords, *v = &s->t->values;
    const uint64_t number = npy_entry_bytes(c->type), row = c->cols * number;
    const uint64_t size = npy_entry_bytes(v->type);
    const double each = s->t->options->values_optional ? COO_UNKNOWN : 1;
    if (!c->column_major)
        TRY(infile_read(&c->in, bytes, s->count * row, c->contents + s->first * row, error));
    for (int n = 0; n < s->t->order; n++) {
        const uint64_t at = c->contents + ((uint64_t)n * c->rows + s->first) * number;
        if (c->column_major)
            TRY(infile_read(&c->in, bytes, s->count * number, at, error));
        take_indices(s, n, c->column_major ? bytes : bytes + (uint64_t)n * number,
                     c->column_major ? 1 : c->cols);
    }
    for (uint64_t i = 0; i < s->count && !s->t->name[1]; i++)
        s->x->value[s->at + i] = each;
    if (!s->t->name[1])
        return STATUS_OK;
    TRY(infile_read(&v->in, bytes, s->count * size, v->contents + s->first * size, error));
    double *to = s->x->value + s->at;
#define TAKE(type)                                                                                 \
    for (uint64_t i = 0; i < s->count; i++) {                                                      \
        const double value = (double)((const type *)bytes)[i];                                     \
        to[i] = isnan(value) ? COO_UNKNOWN : value;                                                \
        if (isinf(value))                                                                          \
            s->wrong = least_of(s->wrong, s->first + i);                                           \
    }
    OF_TYPE(s->t->values.type, TAKE)
#undef TAKE
    return STATUS_OK;
}

/* Explains index n of entry i, which was read to x. */
static enum status explain_index(const struct npy_tensor *t, uint64_t i, int n, struct error *error)
{
    const struct npy_file *c = &t->coords;
    const int base = npy_tensor_index_base(t->options);
    const uint64_t size = npy_entry_bytes(c->type);
    const uint64_t place = c->column_major ? (uint64_t)n * c->rows + i : i * c->cols + (uint64_t)n;
    int64_t index = 0;
    _Alignas(8) unsigned char bytes[8];
    TRY(infile_read(&c->in, bytes, size, c->contents + place * size, error));
#define TAKE(type) index = (int64_t) * (const type *)(const void *)bytes
    OF_TYPE(c->type, TAKE)
#undef TAKE
    if ((uint64_t)index - (uint64_t)base < t->limit[n])
        return STATUS_OK;
    const bool negative = index < 0 && c->type >= NPY_I8 && c->type <= NPY_I1;
    if (negative || (uint64_t)index < (uint64_t)base)
        return error_set(error, STATUS_INPUT,
                         "%s: entry [%" PRIu64 ", %d] is %" PRId64 ", expected %d or more",
                         t->name[0], i, n, index, base);
    return error_set(error, STATUS_INPUT,
                     "%s: entry [%" PRIu64 ", %d] is %" PRIu64 ", expected at most %" PRIu64
                     "%s%s%s",
                     t->name[0], i, n, (uint64_t)index, t->limit[n] - 1 + (uint64_t)base,
                     t->options->dims[n] ? ", as " : "",
                     t->options->dims[n] ? tns_dims_origin(t->options, n) : "",
                     t->options->dims[n] ? " says" : "");
}

/* Reads entries first to first + count - 1, of any type and order of the arrays, to x, from its
 * entry `at` on, and raises t->largest. */
static enum status read_entries(struct npy_tensor *t, uint64_t first, uint64_t count, struct coo *x,
                                uint64_t at, struct error *error)
{
    const uint64_t row = t->coords.column_major ? 1 : (uint64_t)t->order;
    const uint64_t most = SOME_BYTES / (8 * row);
    struct span all = {
        .t = t, .first = first, .count = count, .x = x, .at = at, .wrong = UINT64_MAX};
#pragma omp parallel for schedule(dynamic, 4)
    for (uint64_t i = 0; i < count; i += most) {
        struct error own = {0};
        struct span s = all;
        s.first += i;
        s.at += i;
        s.count = least_of(count - i, most);
        read_span(&s, &own);
        error_take(error, &own);
#pragma omp critical(npy_tensor)
        {
            all.wrong = least_of(all.wrong, s.wrong);
            for (int n = 0; n < s.t->order; n++)
                if (s.largest[n] > all.largest[n])
                    all.largest[n] = s.largest[n];
        }
    }
    TRY(error->status);
    if (all.wrong != UINT64_MAX) {
        for (int n = 0; n < t->order; n++)
            TRY(explain_index(t, all.wrong, n, error));
        return error_set(
            error, STATUS_INPUT,
            "%s: entry [%" PRIu64 "] is %g, expected a finite number, or nan where the "
            "value is unknown",
            t->name[1] ? t->name[1] : t->name[0], all.wrong, x->value[at + (all.wrong - first)]);
    }
    for (int n = 0; n < t->order; n++)
        if (all.largest[n] > t->largest[n])
            t->largest[n] = all.largest[n];
    return STATUS_OK;
}

#define STEP (UINT64_C(1) << 22) /* entries that are read between two signs of progress */

static enum status npy_next(struct tensor_reader *r, struct error *error)
{
    struct npy_tensor *t = r->state;
    if (t->end == 0) {
        t->next = even_cut(t->entries, r->share, r->shares);
        t->end = even_cut(t->entries, r->share + 1, r->shares);
    }
    uint64_t most = r->cut == TENSOR_STEPS ? 0 : tensor_reader_most(r, t->order, 0);
    most = most > STEP ? most : STEP;
    const uint64_t first = t->next, count = least_of(t->end - first, most);
    TRY(tensor_reader_make_room(r, t->order, 0, count, count, 0, error));
    for (uint64_t i = 0; i < count; i += STEP) {
        const uint64_t step = least_of(count - i, STEP);
        TRY(read_entries(t, first + i, step, &r->piece, i, error));
        progress_update(r->progress, (double)(first + i + step) / (double)t->entries,
                        "%" PRIu64 " entries", first + i + step);
    }
    t->next += count;
    r->piece.shape = shape_with(t, t->largest);
    memcpy(r->largest, t->largest, sizeof r->largest);
    tensor_reader_set_piece(r, count, t->next == t->end);
    return STATUS_OK;
}

static enum status npy_end(struct tensor_reader *r, struct error *error)
{
    const struct npy_tensor *t = r->state;
    char size[NUMBER_SIZE_TEXT], how_fast[PACE_TEXT];
    r->shape = shape_with(t, r->largest);
    r->bytes = t->entries * t->coords.cols * npy_entry_bytes(t->coords.type);
    r->bytes += t->name[1] ? t->entries * npy_entry_bytes(t->values.type) : 0;
    progress_done(r->progress, "%" PRIu64 " entr%s, %s of arrays%s", t->entries,
                  t->entries == 1 ? "y" : "ies", number_size(r->bytes, size),
                  pace_bytes(r->bytes, "", clock_now() - r->start, how_fast));
    return error->status;
}

const struct tensor_format tensor_npy = {.name = "npy",
                                         .what = "a NumPy array",
                                         .has_indices = true,
                                         .probe = npy_probe,
                                         .open = npy_open,
                                         .next = npy_next,
                                         .end = npy_end,
                                         .close = npy_close};
