#include "formats/csv/csv_order.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"

struct ordered {
    struct name name;
    double value; /* 0 where the order is that of bytes */
    uint32_t number;
};

static bool waits(const struct csv_mode *mode)
{
    return mode->order == CSV_SORTED || mode->order == CSV_BY_NUMBER;
}

bool csv_order_waits(const struct csv_columns *c)
{
    for (int n = 0; n < c->modes; n++)
        if (waits(&c->mode[n]))
            return true;
    return false;
}

static int compare(const void *one, const void *other)
{
    const struct ordered *a = one, *b = other;
    if (a->value != b->value)
        return a->value < b->value ? -1 : 1;
    const size_t shorter = a->name.length < b->name.length ? a->name.length : b->name.length;
    const int bytes = memcmp(a->name.text, b->name.text, shorter);
    return bytes ? bytes : a->name.length < b->name.length ? -1 : 1;
}

/* list (count) = the names in their new order. */
static void sort_names(const struct csv_mode *mode, struct ordered *list)
{
    for (uint32_t i = 0; i < mode->names.count; i++) {
        list[i] = (struct ordered){.name = name_table_get(&mode->names, i), .number = i};
        const char *text = list[i].name.text;
        if (mode->order == CSV_BY_NUMBER)
            number_parse(text, text + list[i].name.length, &list[i].value);
    }
    qsort(list, mode->names.count, sizeof *list, compare);
}

/* *sorted = the names of the list, and number (count) their new numbers by old ones. */
static enum status number_names(struct name_table *sorted, const struct ordered *list,
                                uint32_t count, uint32_t *number, struct error *error)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct name name = list[i].name;
        TRY(name_table_add(sorted, name, name_hash(name.text, name.length), &number[list[i].number],
                           error));
    }
    return STATUS_OK;
}

static enum status order_mode(struct csv_mode *mode, uint32_t *index, uint64_t nnz,
                              struct error *error)
{
    const uint32_t count = mode->names.count;
    struct name_table sorted = {0};
    struct ordered *list = memory_array(count, sizeof *list, error);
    uint32_t *number = memory_array(count, sizeof *number, error);
    TRY_OR(done, error->status);
    sort_names(mode, list);
    TRY_OR(done, number_names(&sorted, list, count, number, error));
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < nnz; i++)
        index[i] = number[index[i]];
    name_table_free(&mode->names);
    mode->names = sorted;
    sorted = (struct name_table){0};
done:
    name_table_free(&sorted);
    memory_free(list);
    memory_free(number);
    return error->status;
}

enum status csv_order_names(struct csv_columns *c, struct coo *x, struct error *error)
{
    for (int n = 0; n < c->modes; n++) {
        if (!waits(&c->mode[n]))
            continue;
        TRY(order_mode(&c->mode[n], x->index[n], x->nnz, error));
        c->mode[n].order = CSV_LISTED;
    }
    return STATUS_OK;
}
