#include "report/residual_show.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/utf8.h"
#include "report/decimals.h"
#include "report/label_show.h"

#define DIGITS       5 /* of the largest number of a column */
#define MOST_COLUMNS (MAX_ORDER + 3)

const char *residual_text(const struct residuals *r, char text[RESIDUAL_TEXT])
{
    const uint64_t unknown = r->entries - r->known;
    char left[64] = "";
    if (unknown > 0)
        snprintf(left, sizeof left, "; %ju without a value", (uintmax_t)unknown);
    if (r->known == 0)
        snprintf(text, RESIDUAL_TEXT, "no residuals%s", left);
    else
        snprintf(text, RESIDUAL_TEXT, "RMSE %.6g, MAE %.6g of %ju residual%s%s", residuals_rmse(r),
                 residuals_mae(r), (uintmax_t)r->known, r->known == 1 ? "" : "s", left);
    return text;
}

/* --- tables, whose columns are as wide as their widest cell --- */

/* A table with a heading in row 0. cell() writes a cell's text, at most LABEL_SHOWN_ROOM bytes. */
struct table {
    const struct residual_view *view;
    uint64_t rows;
    int columns, mode; /* mode: of a table of slices        */
    int decimals[3];   /* of the columns with numbers       */
    void (*cell)(const struct table *t, uint64_t row, int column, char *text);
    bool left[MOST_COLUMNS]; /* columns that begin at the left; the others end at the right */
};

static void print_cell(FILE *stream, const struct table *t, int column, const char *text,
                       size_t width)
{
    const int blank = (int)(width - utf8_width(text));
    if (t->left[column])
        fprintf(stream, "  %s%*s", text, blank, "");
    else
        fprintf(stream, "  %*s%s", blank, "", text);
}

static void print_table(FILE *stream, const struct table *t)
{
    char text[LABEL_SHOWN_ROOM];
    size_t width[MOST_COLUMNS] = {0};
    for (uint64_t row = 0; row <= t->rows; row++)
        for (int c = 0; c < t->columns; c++) {
            t->cell(t, row, c, text);
            const size_t wanted = utf8_width(text);
            width[c] = width[c] < wanted ? wanted : width[c];
        }
    for (uint64_t row = 0; row <= t->rows; row++) {
        for (int c = 0; c < t->columns; c++) {
            t->cell(t, row, c, text);
            print_cell(stream, t, c, text, width[c]);
        }
        fprintf(stream, "\n");
    }
}

static bool labelled(const struct residual_view *v, int n)
{
    return v->labels->mode[n].count > 0;
}

/* --- the strangest entries: a column for each mode, then value, model and residual --- */

/* Those whose residual is not 0. */
static uint64_t entries_shown(const struct residuals *r)
{
    uint64_t count = 0;
    while (count < r->count && residual_of(r->entry[count].value, r->entry[count].model) != 0)
        count++;
    return count;
}

static double entry_number(const struct strange_entry *e, int which)
{
    return which == 0 ? e->value : which == 1 ? e->model : residual_of(e->value, e->model);
}

static void entry_cell(const struct table *t, uint64_t row, int column, char *text)
{
    static const char *const headings[] = {"value", "model", "residual"};
    const struct residual_view *v = t->view;
    const int order = v->residuals->shape.order;
    if (row == 0 && column < order)
        mode_name(v->labels, column, text);
    else if (row == 0)
        strcpy(text, headings[column - order]);
    else if (column < order)
        label_show(v->labels, column, v->residuals->entry[row - 1].index[column], v->index_base,
                   text);
    else
        decimals_show(entry_number(&v->residuals->entry[row - 1], column - order),
                      t->decimals[column - order], text);
}

static void print_entries(FILE *stream, const struct residual_view *v)
{
    const struct residuals *r = v->residuals;
    struct table t = {
        .view = v, .rows = entries_shown(r), .columns = r->shape.order + 3, .cell = entry_cell};
    if (t.rows == 0)
        return;
    for (int n = 0; n < r->shape.order; n++)
        t.left[n] = labelled(v, n);
    for (int which = 0; which < 3; which++) {
        double largest = 0;
        for (uint64_t i = 0; i < t.rows; i++)
            largest = fmax(largest, fabs(entry_number(&r->entry[i], which)));
        t.decimals[which] = decimals_for(largest, DIGITS);
    }
    fprintf(stream, "\nstrangest entries\n");
    print_table(stream, &t);
}

/* --- the strangest slices of a mode: index, number of residuals, sum of squares, RMSE --- */

/* Those whose residuals are not all 0. */
static uint64_t slices_shown(const struct top_entries *top)
{
    uint64_t count = 0;
    while (count < top->count && top->entry[count].value != 0)
        count++;
    return count;
}

static double slice_rmse(const struct residuals *r, int n, uint64_t i)
{
    return sqrt(r->slice[n].squares[i] / (double)r->slice[n].known[i]);
}

static void slice_cell(const struct table *t, uint64_t row, int column, char *text)
{
    static const char *const headings[] = {NULL, "residuals", "squares", "RMSE"};
    const struct residuals *r = t->view->residuals;
    if (row == 0) {
        if (column == 0)
            mode_name(t->view->labels, t->mode, text);
        else
            strcpy(text, headings[column]);
        return;
    }
    const uint64_t i = t->view->slices[t->mode].entry[row - 1].index;
    if (column == 0)
        label_show(t->view->labels, t->mode, i, t->view->index_base, text);
    else if (column == 1)
        snprintf(text, LABEL_SHOWN_ROOM, "%ju", (uintmax_t)r->slice[t->mode].known[i]);
    else
        decimals_show(column == 2 ? r->slice[t->mode].squares[i] : slice_rmse(r, t->mode, i),
                      t->decimals[column - 1], text);
}

static void print_slices(FILE *stream, const struct residual_view *v, int n)
{
    struct table t = {.view = v,
                      .rows = slices_shown(&v->slices[n]),
                      .columns = 4,
                      .mode = n,
                      .cell = slice_cell,
                      .left = {labelled(v, n)}};
    if (t.rows == 0)
        return;
    char name[MODE_NAME_ROOM];
    double largest = 0;
    for (uint64_t i = 0; i < t.rows; i++)
        largest = fmax(largest, slice_rmse(v->residuals, n, v->slices[n].entry[i].index));
    t.decimals[1] = decimals_for(v->slices[n].entry[0].value, DIGITS);
    t.decimals[2] = decimals_for(largest, DIGITS);
    fprintf(stream, "\nstrangest slices of %s\n", mode_name(v->labels, n, name));
    print_table(stream, &t);
}

void residual_print(FILE *stream, const struct residual_view *view)
{
    char text[RESIDUAL_TEXT];
    fprintf(stream, "%s\n", residual_text(view->residuals, text));
    print_entries(stream, view);
    for (int n = 0; n < view->residuals->shape.order; n++)
        print_slices(stream, view, n);
}

/* --- JSON --- */

static void put_entry(struct json *j, const struct residual_view *v, const struct strange_entry *e)
{
    const int order = v->residuals->shape.order;
    uint64_t index[MAX_ORDER];
    bool any_labels = false;
    for (int n = 0; n < order; n++) {
        index[n] = (uint64_t)e->index[n] + (uint64_t)v->index_base;
        any_labels = any_labels || labelled(v, n);
    }
    json_put_object(j, NULL);
    json_put_unsigneds(j, "indices", index, (size_t)order);
    if (any_labels) {
        json_put_array(j, "labels");
        for (int n = 0; n < order; n++)
            json_put_string(j, NULL, labels_get(v->labels, n, e->index[n]));
        json_end(j);
    }
    json_put_number(j, "value", e->value);
    json_put_number(j, "model", e->model);
    json_put_number(j, "residual", residual_of(e->value, e->model));
    json_end(j);
}

static void put_slice(struct json *j, const struct residual_view *v, int n, uint64_t i)
{
    json_put_object(j, NULL);
    json_put_unsigned(j, "index", i + (uint64_t)v->index_base);
    if (labelled(v, n))
        json_put_string(j, "label", labels_get(v->labels, n, i));
    json_put_unsigned(j, "residuals", v->residuals->slice[n].known[i]);
    json_put_number(j, "squares", v->residuals->slice[n].squares[i]);
    json_put_number(j, "rmse", slice_rmse(v->residuals, n, i));
    json_end(j);
}

void residual_put_json(struct json *j, const struct residual_view *view)
{
    const struct residuals *r = view->residuals;
    const uint64_t entries = entries_shown(r);
    json_put_unsigned(j, "entries", r->entries);
    json_put_unsigned(j, "residuals", r->known);
    json_put_number(j, "rmse", residuals_rmse(r));
    json_put_number(j, "mae", residuals_mae(r));
    json_put_array(j, "strangest_entries");
    for (uint64_t i = 0; i < entries; i++)
        put_entry(j, view, &r->entry[i]);
    json_end(j);
    json_put_array(j, "modes");
    for (int n = 0; n < r->shape.order; n++) {
        json_put_object(j, NULL);
        json_put_unsigned(j, "mode", (uint64_t)n + 1);
        mode_put_name(j, view->labels, n);
        json_put_array(j, "strangest_slices");
        for (uint64_t i = 0, count = slices_shown(&view->slices[n]); i < count; i++)
            put_slice(j, view, n, view->slices[n].entry[i].index);
        json_end(j);
        json_end(j);
    }
    json_end(j);
}
