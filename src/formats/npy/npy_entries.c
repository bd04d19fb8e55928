#include "formats/npy/npy_entries.h"

#include <inttypes.h>
#include <math.h>

#define SOME_BYTES 32768 /* of an array that a thread reads at a time */

/* Calls EACH(C type) for the type of an array. */
#define OF_TYPE(type, EACH)                                                                        \
    switch (type) {                                                                                \
    case NPY_I8:                                                                                   \
        EACH(int64_t);                                                                             \
        break;                                                                                     \
    case NPY_I4:                                                                                   \
        EACH(int32_t);                                                                             \
        break;                                                                                     \
    case NPY_I2:                                                                                   \
        EACH(int16_t);                                                                             \
        break;                                                                                     \
    case NPY_I1:                                                                                   \
        EACH(int8_t);                                                                              \
        break;                                                                                     \
    case NPY_U8:                                                                                   \
        EACH(uint64_t);                                                                            \
        break;                                                                                     \
    case NPY_U4:                                                                                   \
        EACH(uint32_t);                                                                            \
        break;                                                                                     \
    case NPY_U2:                                                                                   \
        EACH(uint16_t);                                                                            \
        break;                                                                                     \
    case NPY_U1:                                                                                   \
    case NPY_BOOL:                                                                                 \
        EACH(uint8_t);                                                                             \
        break;                                                                                     \
    case NPY_F8:                                                                                   \
        EACH(double);                                                                              \
        break;                                                                                     \
    case NPY_F4:                                                                                   \
        EACH(float);                                                                               \
        break;                                                                                     \
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

static void note_wrong(struct span *s, uint64_t i)
{
    if (s->first + i < s->wrong)
        s->wrong = s->first + i;
}

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
            note_wrong(s, i);                                                                      \
        else if (to[i] > largest)                                                                  \
            largest = to[i];                                                                       \
    }
    OF_TYPE(s->t->coords.type, TAKE)
#undef TAKE
    s->largest[n] = largest;
}

static void take_values(struct span *s, const void *from)
{
    double *to = s->x->value + s->at;
#define TAKE(type)                                                                                 \
    for (uint64_t i = 0; i < s->count; i++) {                                                      \
        const double value = (double)((const type *)from)[i];                                      \
        to[i] = isnan(value) ? COO_UNKNOWN : value;                                                \
        if (isinf(value))                                                                          \
            note_wrong(s, i);                                                                      \
    }
    OF_TYPE(s->t->values.type, TAKE)
#undef TAKE
}

static enum status read_column(struct span *s, int n, void *bytes, struct error *error)
{
    const struct npy_file *c = &s->t->coords;
    const uint64_t size = npy_entry_bytes(c->type);
    const uint64_t at = c->contents + ((uint64_t)n * c->rows + s->first) * size;
    TRY(infile_read(&c->in, bytes, s->count * size, at, error));
    take_indices(s, n, bytes, 1);
    return STATUS_OK;
}

static enum status read_indices(struct span *s, unsigned char *bytes, struct error *error)
{
    const struct npy_file *c = &s->t->coords;
    const uint64_t size = npy_entry_bytes(c->type), row = c->cols * size;
    for (int n = 0; n < s->t->order && c->column_major; n++)
        TRY(read_column(s, n, bytes, error));
    if (c->column_major)
        return STATUS_OK;
    TRY(infile_read(&c->in, bytes, s->count * row, c->contents + s->first * row, error));
    for (int n = 0; n < s->t->order; n++)
        take_indices(s, n, bytes + (uint64_t)n * size, c->cols);
    return STATUS_OK;
}

static enum status read_values(struct span *s, void *bytes, struct error *error)
{
    const struct npy_file *v = &s->t->values;
    const uint64_t size = npy_entry_bytes(v->type);
    const double each = s->t->options->values_optional ? COO_UNKNOWN : 1;
    for (uint64_t i = 0; i < s->count && !s->t->name[1]; i++)
        s->x->value[s->at + i] = each;
    if (!s->t->name[1])
        return STATUS_OK;
    TRY(infile_read(&v->in, bytes, s->count * size, v->contents + s->first * size, error));
    take_values(s, bytes);
    return STATUS_OK;
}

static enum status read_span(struct span *s, struct error *error)
{
    _Alignas(8) unsigned char bytes[SOME_BYTES];
    TRY(read_indices(s, bytes, error));
    return read_values(s, bytes, error);
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

static enum status explain(const struct npy_tensor *t, uint64_t i, double value,
                           struct error *error)
{
    for (int n = 0; n < t->order; n++)
        TRY(explain_index(t, i, n, error));
    return error_set(error, STATUS_INPUT,
                     "%s: entry [%" PRIu64 "] is %g, expected a finite number, or nan where the "
                     "value is unknown",
                     t->name[1] ? t->name[1] : t->name[0], i, value);
}

/* The part of `all` that begins at its entry `from`. */
static struct span span_of(const struct span *all, uint64_t from, uint64_t most)
{
    struct span s = *all;
    s.first += from;
    s.at += from;
    s.count = all->count - from < most ? all->count - from : most;
    return s;
}

static void merge(struct span *all, const struct span *s)
{
    if (s->wrong < all->wrong)
        all->wrong = s->wrong;
    for (int n = 0; n < s->t->order; n++)
        if (s->largest[n] > all->largest[n])
            all->largest[n] = s->largest[n];
}

enum status npy_entries_read(struct npy_tensor *t, uint64_t first, uint64_t count, struct coo *x,
                             uint64_t at, struct error *error)
{
    const uint64_t row = t->coords.column_major ? 1 : (uint64_t)t->order;
    const uint64_t most = SOME_BYTES / (8 * row);
    struct span all = {
        .t = t, .first = first, .count = count, .x = x, .at = at, .wrong = UINT64_MAX};
#pragma omp parallel for schedule(dynamic, 4)
    for (uint64_t i = 0; i < count; i += most) {
        struct error own = {0};
        struct span s = span_of(&all, i, most);
        const enum status status = read_span(&s, &own);
#pragma omp critical(npy_tensor)
        {
            if (status != STATUS_OK)
                *error = own;
            merge(&all, &s);
        }
    }
    TRY(error->status);
    if (all.wrong != UINT64_MAX)
        return explain(t, all.wrong, x->value[at + (all.wrong - first)], error);
    for (int n = 0; n < t->order; n++)
        if (all.largest[n] > t->largest[n])
            t->largest[n] = all.largest[n];
    return STATUS_OK;
}
