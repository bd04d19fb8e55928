#include "report/unlisted_view.h"

#include "base/utf8.h"
#include "report/text_table.h"

#define DIGITS 5 /* of the largest value */

static void table_row(const struct text_table *t, uint64_t row, uint64_t *index, double *number)
{
    const struct unlisted_view *v = t->context;
    const struct best_entry *e = &v->best->entry[row];
    for (int k = 0; k < t->modes; k++)
        index[k] = e->cell.index[t->mode[k]];
    number[0] = loss_expected(v->loss, e->value);
}

void unlisted_print(FILE *stream, const struct unlisted_view *v)
{
    const struct unlisted_slice *s = v->slice;
    struct text_table t = {.rows = v->best->count,
                           .numbers = 1,
                           .heading = {"model"},
                           .digits = {DIGITS},
                           .labels = v->labels,
                           .index_base = v->index_base,
                           .context = v,
                           .row = table_row};
    char name[MODE_NAME_ROOM], label[LABEL_SHOWN_ROOM], tensor[1024];
    const char *between = "";
    for (int n = 0; n < s->shape.order; n++)
        if (s->given[n]) {
            fprintf(stream, "%s%s %s", between, mode_name(v->labels, n, name),
                    label_show(v->labels, n, s->index[n], v->index_base, label));
            between = ", ";
        } else {
            t.mode[t.modes++] = n;
        }
    fprintf(stream, "%s%ju entr%s in %s; ", t.modes < s->shape.order ? ": " : "",
            (uintmax_t)s->count, s->count == 1 ? "y" : "ies",
            printable(v->tensor, tensor, sizeof tensor));
    if (t.rows == 0) {
        fprintf(stream, "the model is 0 at all others\n");
        return;
    }
    fprintf(stream, "of the others, the model is largest at\n");
    text_table_print(stream, &t);
}

/* --- JSON --- */

void unlisted_begin_json(struct json *j, const struct unlisted_view *v)
{
    json_put_array(j, "given");
    for (int n = 0; n < v->slice->shape.order; n++)
        if (v->slice->given[n]) {
            json_put_object(j, NULL);
            json_put_unsigned(j, "mode", (uint64_t)n + 1);
            mode_put_name(j, v->labels, n);
            index_put(j, v->labels, n, v->slice->index[n], v->index_base);
            json_end(j);
        }
    json_end(j);
    if (v->each >= 0) {
        json_put_object(j, "each");
        json_put_unsigned(j, "mode", (uint64_t)v->each + 1);
        mode_put_name(j, v->labels, v->each);
        json_end(j);
    }
    json_put_unsigned(j, "listed", v->slice->count);
    json_put_array(j, "unlisted");
}

void unlisted_put_entries(struct json *j, const struct unlisted_view *v)
{
    for (uint64_t i = 0; i < v->best->count; i++) {
        json_put_object(j, NULL);
        indices_put(j, v->labels, v->slice->shape.order, v->best->entry[i].cell.index,
                    v->index_base);
        json_put_number(j, "model", loss_expected(v->loss, v->best->entry[i].value));
        json_end(j);
    }
}
