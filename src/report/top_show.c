#include "report/top_show.h"

#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"
#include "report/decimals.h"
#include "report/label_show.h"

#define LINE_WIDTH   80 /* columns of the terminal */
#define VALUE_DIGITS 4  /* of the strongest entry */

#define ALL_ZERO "all zero" /* in place of a label */

/* --- the entries of one component in one mode --- */

struct column {
    const struct top_view *view;
    int n; /* the mode */
    bool labelled;
    const struct top_entry *entry; /* (count); borrowed              */
    int decimals;                  /* of the values (decimals_for)   */
    uint64_t count;                /* entries other than 0           */
    size_t label_width, value_width, width;
};

static void show_label(const struct column *c, const struct top_entry *entry, char *out)
{
    label_show(c->view->labels, c->n, entry->index, c->view->index_base, out);
}

static void widen(size_t *width, size_t wanted)
{
    *width = *width < wanted ? wanted : *width;
}

static struct column column_of(const struct top_view *view, int n, uint64_t component)
{
    const struct top_entries *top = &view->top[n];
    char label[LABEL_SHOWN_ROOM], value[DECIMALS_ROOM], name[MODE_NAME_ROOM];
    struct column c = {.view = view, .n = n, .entry = top->entry + component * top->count};
    c.labelled = view->labels->mode[n].count > 0;
    c.decimals = top->count > 0 ? decimals_for(c.entry[0].value, VALUE_DIGITS) : 0;
    while (c.count < top->count && c.entry[c.count].value != 0) {
        show_label(&c, &c.entry[c.count], label);
        decimals_show(c.entry[c.count].value, c.decimals, value);
        widen(&c.label_width, utf8_width(label));
        widen(&c.value_width, strlen(value));
        c.count++;
    }
    if (c.count == 0)
        c.label_width = strlen(ALL_ZERO);
    c.width = c.label_width + 2 + c.value_width;
    widen(&c.width, utf8_width(mode_name(view->labels, n, name)));
    return c;
}

/* --- text lines --- */

/* A text line that has no blanks at its end: blanks wait until something follows. */
struct blanks {
    FILE *stream;
    size_t waiting;
};

static void put(struct blanks *b, size_t before, const char *text, size_t after)
{
    if (*text) {
        fprintf(b->stream, "%*s%s", (int)(b->waiting + before), "", text);
        b->waiting = after;
    } else {
        b->waiting += before + after;
    }
}

/* Entry i of the column, or blanks where there is none. Numbers stand to the right. */
static void put_entry(struct blanks *b, const struct column *c, uint64_t i)
{
    char label[LABEL_SHOWN_ROOM] = "", value[DECIMALS_ROOM] = "";
    if (i < c->count) {
        show_label(c, &c->entry[i], label);
        decimals_show(c->entry[i].value, c->decimals, value);
    } else if (i == 0) {
        strcpy(label, ALL_ZERO);
    }
    size_t blank = c->label_width - utf8_width(label);
    bool left = c->labelled || c->count == 0;
    put(b, left ? 0 : blank, label, left ? blank : 0);
    put(b, 2 + c->value_width - strlen(value), value,
        c->width - c->label_width - 2 - c->value_width);
}

/* Columns that stand side by side. */
static void print_band(FILE *stream, const struct column *column, int count)
{
    uint64_t most = 1;
    for (int k = 0; k < count; k++)
        most = column[k].count > most ? column[k].count : most;
    struct blanks b = {.stream = stream};
    for (int k = 0; k < count; k++) {
        char name[MODE_NAME_ROOM];
        mode_name(column[k].view->labels, column[k].n, name);
        put(&b, 2, name, column[k].width - utf8_width(name) + 1);
    }
    for (uint64_t i = 0; i < most; i++) {
        fprintf(stream, "\n");
        b.waiting = 0;
        for (int k = 0; k < count; k++) {
            b.waiting += 2;
            put_entry(&b, &column[k], i);
            b.waiting += 1;
        }
    }
    fprintf(stream, "\n");
}

static void print_component(FILE *stream, const struct top_view *view, uint64_t r)
{
    fprintf(stream, "component %ju, weight %.6g\n", (uintmax_t)r + 1, view->model->lambda[r]);
    struct column band[MAX_ORDER];
    for (int n = view->mode, next = n; n < view->end_mode; n = next) {
        size_t width = 0;
        for (; next < view->end_mode; next++) {
            band[next - n] = column_of(view, next, r);
            width += 3 + band[next - n].width;
            if (next > n && width > LINE_WIDTH)
                break;
        }
        print_band(stream, band, next - n);
    }
}

void top_print(FILE *stream, const struct top_view *view)
{
    for (uint64_t r = view->component; r < view->end_component; r++) {
        if (r > view->component)
            fprintf(stream, "\n");
        print_component(stream, view, r);
    }
}

/* --- JSON --- */

static void put_mode(struct json *j, const struct top_view *view, int n, uint64_t r)
{
    const struct top_entries *top = &view->top[n];
    const struct top_entry *entry = top->entry + r * top->count;
    json_put_object(j, NULL);
    json_put_unsigned(j, "mode", (uint64_t)n + 1);
    mode_put_name(j, view->labels, n);
    json_put_array(j, "entries");
    for (uint64_t i = 0; i < top->count && entry[i].value != 0; i++) {
        json_put_object(j, NULL);
        json_put_unsigned(j, "index", entry[i].index + (uint64_t)view->index_base);
        if (view->labels->mode[n].count > 0)
            json_put_string(j, "label", labels_get(view->labels, n, entry[i].index));
        json_put_number(j, "value", entry[i].value);
        json_end(j);
    }
    json_end(j);
    json_end(j);
}

void top_put_json(struct json *j, const struct top_view *view)
{
    json_put_array(j, "components");
    for (uint64_t r = view->component; r < view->end_component; r++) {
        json_put_object(j, NULL);
        json_put_unsigned(j, "component", r + 1);
        json_put_number(j, "weight", view->model->lambda[r]);
        json_put_array(j, "modes");
        for (int n = view->mode; n < view->end_mode; n++)
            put_mode(j, view, n, r);
        json_end(j);
        json_end(j);
    }
    json_end(j);
}
