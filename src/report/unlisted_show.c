#include "report/unlisted_show.h"

#include <math.h>
#include <string.h>

#include "base/printable.h"
#include "report/decimals.h"
#include "report/text_table.h"

#define DIGITS 5 /* of the largest value */

/* The `column`-th mode whose index is not given; the order where there are fewer. */
static int mode_of(const struct unlisted_slice *s, int column)
{
    int n = 0;
    while (n < s->shape.order && (s->given[n] || column-- > 0))
        n++;
    return n;
}

static int modes_of(const struct unlisted_slice *s)
{
    int modes = 0;
    for (int n = 0; n < s->shape.order; n++)
        modes += !s->given[n];
    return modes;
}

static void cell_text(const struct text_table *t, uint64_t row, int column, char *text)
{
    const struct unlisted_view *v = t->context;
    const int n = mode_of(v->slice, column);
    const struct best_entry *e = row > 0 ? &v->best->entry[row - 1] : NULL;
    if (!e && n < v->slice->shape.order)
        mode_name(v->labels, n, text);
    else if (!e)
        strcpy(text, "model");
    else if (n < v->slice->shape.order)
        label_show(v->labels, n, e->cell.index[n], v->index_base, text);
    else
        decimals_show(e->value, t->decimals[0], text);
}

static void print_slice(FILE *stream, const struct unlisted_view *v)
{
    char name[MODE_NAME_ROOM], label[LABEL_SHOWN_ROOM], tensor[1024];
    const char *between = "";
    for (int n = 0; n < v->slice->shape.order; n++)
        if (v->slice->given[n]) {
            fprintf(stream, "%s%s %s", between, mode_name(v->labels, n, name),
                    label_show(v->labels, n, v->slice->index[n], v->index_base, label));
            between = ", ";
        }
    fprintf(stream, ": %ju entr%s in %s; ", (uintmax_t)v->slice->count,
            v->slice->count == 1 ? "y" : "ies", printable(v->tensor, tensor, sizeof tensor));
}

void unlisted_print(FILE *stream, const struct unlisted_view *v)
{
    const struct unlisted_slice *s = v->slice;
    struct text_table t = {
        .context = v, .rows = v->best->count, .columns = modes_of(s) + 1, .cell = cell_text};
    double largest = 0;
    print_slice(stream, v);
    for (int c = 0; c + 1 < t.columns; c++)
        t.left[c] = v->labels->mode[mode_of(s, c)].count > 0;
    for (uint64_t i = 0; i < t.rows; i++)
        largest = fmax(largest, fabs(v->best->entry[i].value));
    t.decimals[0] = decimals_for(largest, DIGITS);
    if (t.rows == 0) {
        fprintf(stream, "the model is 0 at all others\n");
        return;
    }
    fprintf(stream, "of the others, the model is largest at\n");
    text_table_print(stream, &t);
}

/* --- JSON --- */

/* The indices of a cell, and their labels where there are any. */
static void put_cell(struct json *j, const struct unlisted_view *v, const struct cell *cell)
{
    const int order = v->slice->shape.order;
    uint64_t index[MAX_ORDER];
    bool any_labels = false;
    for (int n = 0; n < order; n++) {
        index[n] = (uint64_t)cell->index[n] + (uint64_t)v->index_base;
        any_labels = any_labels || v->labels->mode[n].count > 0;
    }
    json_put_unsigneds(j, "indices", index, (size_t)order);
    if (!any_labels)
        return;
    json_put_array(j, "labels");
    for (int n = 0; n < order; n++)
        json_put_string(j, NULL, labels_get(v->labels, n, cell->index[n]));
    json_end(j);
}

static void put_given(struct json *j, const struct unlisted_view *v, int n)
{
    json_put_object(j, NULL);
    json_put_unsigned(j, "mode", (uint64_t)n + 1);
    mode_put_name(j, v->labels, n);
    json_put_unsigned(j, "index", (uint64_t)v->slice->index[n] + (uint64_t)v->index_base);
    if (v->labels->mode[n].count > 0)
        json_put_string(j, "label", labels_get(v->labels, n, v->slice->index[n]));
    json_end(j);
}

void unlisted_put_json(struct json *j, const struct unlisted_view *v)
{
    json_put_array(j, "given");
    for (int n = 0; n < v->slice->shape.order; n++)
        if (v->slice->given[n])
            put_given(j, v, n);
    json_end(j);
    json_put_unsigned(j, "listed", v->slice->count);
    json_put_array(j, "unlisted");
    for (uint64_t i = 0; i < v->best->count; i++) {
        json_put_object(j, NULL);
        put_cell(j, v, &v->best->entry[i].cell);
        json_put_number(j, "model", v->best->entry[i].value);
        json_end(j);
    }
    json_end(j);
}
