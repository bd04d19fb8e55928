#include "report/top_entries.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/least.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "base/vector_clones.h"
#include "base/words.h"
#include "model/factor_columns.h"
#include "report/text_table.h"

bool best_keep(void *heap, uint64_t *count, uint64_t wanted, size_t size, best_order *order,
               const void *entry)
{
    char *h = heap;
    uint64_t at = 0;
    if (*count < wanted) { /* it rises from the end */
        for (at = (*count)++; at > 0 && order(entry, h + (at - 1) / 2 * size) > 0;
             at = (at - 1) / 2)
            memcpy(h + at * size, h + (at - 1) / 2 * size, size);
    } else { /* it sinks in place of the worst */
        if (wanted == 0 || order(entry, h) > 0)
            return false;
        for (uint64_t next = 1; next < wanted; next = 2 * at + 1) {
            next += next + 1 < wanted && order(h + (next + 1) * size, h + next * size) > 0;
            if (order(h + next * size, entry) < 0)
                break;
            memcpy(h + at * size, h + next * size, size);
            at = next;
        }
    }
    memcpy(h + at * size, entry, size);
    return true;
}

static double strength(double value)
{
    return isnan(value) ? -1 : fabs(value);
}

/* The strongest first, of equals the one with the smaller index. */
static int compare(const void *a, const void *b)
{
    const struct top_entry *x = a, *y = b;
    const double strength_x = strength(x->value), strength_y = strength(y->value);
    if (strength_x != strength_y)
        return strength_x > strength_y ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* --- the passes --- */

/* Whether an entry of the row is stronger than the weakest of its component so far. */
VECTOR_CLONES static bool any_stronger(const double *row, const double *weakest, uint64_t rank)
{
    int any = 0;
    for (uint64_t r = 0; r < rank; r++)
        any |= fabs(row[r]) > weakest[r];
    return any;
}

/* heap (R x count) = the strongest entries of the rows, of which there are `count` or more, as a
 * heap for each component. weakest (R) is scratch: the strength of each heap's root. */
static void scan(struct top_entry *heap, uint64_t count, const struct factor_rows *rows,
                 double *weakest)
{
    const double *a = rows->a;
    const uint64_t rank = rows->rank, first = rows->first;
    for (uint64_t r = 0; r < rank; r++)
        weakest[r] = -1;
    for (uint64_t i = 0; i < rows->rows; i++) {
        const double *row = a + i * rank;
        if (i >= count && !any_stronger(row, weakest, rank))
            continue;
        for (uint64_t r = 0; r < rank; r++) {
            struct top_entry *h = heap + r * count;
            uint64_t kept = least_of(i, count);
            if (kept < count || fabs(row[r]) > weakest[r])
                best_keep(h, &kept, count, sizeof *h, compare,
                          &(struct top_entry){first + i, row[r]});
            if (kept == count)
                weakest[r] = strength(h->value);
        }
    }
}

enum status top_entries_find(struct top_entries *top, const double *a, uint64_t rows, uint64_t rank,
                             uint64_t count, struct error *error)
{
    *top = (struct top_entries){.count = count < rows ? count : rows};
    if (top->count == 0)
        return STATUS_OK;
    /* One for each thread, but so few that the heaps are small beside A. */
    const uint64_t most = least_of(rows / 8 / top->count, (uint64_t)omp_get_max_threads());
    const uint64_t size = rank * top->count, chunks = most < 1 ? 1 : most;
    struct top_entry *heap = memory_array(size, chunks * sizeof *heap, error);
    double *weakest = memory_array(rank, chunks * sizeof *weakest, error);
    TRY_OR(done, error->status);
#pragma omp parallel for schedule(static)
    for (uint64_t p = 0; p < chunks; p++) {
        const uint64_t step = rows / chunks, first = p * step;
        const struct factor_rows chunk = {.a = a + first * rank,
                                          .rows = p + 1 < chunks ? step : rows - first,
                                          .rank = rank,
                                          .first = first};
        scan(heap + p * size, top->count, &chunk, weakest + p * rank);
    }
#pragma omp parallel for schedule(static)
    for (uint64_t r = 0; r < rank; r++) {
        struct top_entry *best = heap + r * top->count;
        for (uint64_t p = 1; p < chunks; p++)
            for (uint64_t i = 0; i < top->count; i++)
                best_keep(best, &top->count, top->count, sizeof *best, compare,
                          &best[p * size + i]);
        qsort(best, top->count, sizeof *best, compare);
    }
    top->entry = heap;
    heap = NULL;
done:
    memory_free(heap, weakest);
    if (error->status != STATUS_OK)
        top_entries_free(top);
    return error->status;
}

void top_entries_free(struct top_entries *top)
{
    memory_free(top->entry);
    *top = (struct top_entries){0};
}

#define LINE_WIDTH     80   /* columns of the terminal */
#define VALUE_DIGITS   4    /* of the strongest entry */
#define SHARE_ROUNDING 5e-4 /* a tenth of a per cent is shown */

#define ALL_ZERO "all zero" /* in place of a label */

/* --- the entries of one component in one mode --- */

struct top_column {
    const struct top_view *view;
    int n; /* the mode */
    bool labelled;
    const struct top_entry *entry; /* (count); borrowed              */
    struct number_column values;
    uint64_t count; /* entries other than 0           */
    size_t label_width, value_width, width;
};

static void widen(size_t *width, size_t wanted)
{
    *width = *width < wanted ? wanted : *width;
}

static struct top_column column_of(const struct top_view *view, int n, uint64_t component)
{
    const struct top_entries *top = &view->top[n];
    char label[LABEL_SHOWN_ROOM], value[NUMBER_SHOWN_ROOM], name[MODE_NAME_ROOM];
    struct top_column c = {.view = view, .n = n, .entry = top->entry + component * top->count};
    c.labelled = view->labels->mode[n].names.count > 0;
    c.values = (struct number_column){.digits = VALUE_DIGITS};
    while (c.count < top->count && c.entry[c.count].value != 0)
        number_column_add(&c.values, c.entry[c.count++].value);
    for (uint64_t i = 0; i < c.count; i++) {
        label_show(view->labels, n, c.entry[i].index, view->index_base, label);
        number_column_show(&c.values, c.entry[i].value, value);
        widen(&c.label_width, utf8_width(label));
        widen(&c.value_width, strlen(value));
    }
    if (c.count == 0)
        c.label_width = strlen(ALL_ZERO);
    c.width = c.label_width + 2 + c.value_width;
    widen(&c.width, utf8_width(mode_name(view->labels, n, name)));
    return c;
}

/* --- text lines --- */

/* Whether it is one of 0 to 100 %, up to rounding, or not known. */
static bool is_share(double share)
{
    return !(share < -SHARE_ROUNDING) && !(share > 1 + SHARE_ROUNDING);
}

const char *shares_text(const struct ktensor *model, uint64_t r, char *text)
{
    const double explained = model->explained ? model->explained[r] : NAN,
                 lost = model->lost ? model->lost[r] : NAN;
    text[0] = '\0';
    if (!is_share(explained) || !is_share(lost))
        return strcpy(text, ", cancels others");
    if (isfinite(explained))
        words_append(text, SHARES_TEXT, ", explains %.1f %%", 100 * fmax(explained, 0));
    if (isfinite(lost))
        words_append(text, SHARES_TEXT, ", %.1f %% lost without it", 100 * fmax(lost, 0));
    return text;
}

/* Columns that stand side by side, below the names of their modes. Numbers stand to the right, and
 * no text line ends with blanks. */
static void print_band(FILE *stream, const struct top_column *column, int count)
{
    char line[MAX_ORDER * (LABEL_SHOWN_ROOM + NUMBER_SHOWN_ROOM)];
    uint64_t most = 1;
    for (int k = 0; k < count; k++)
        most = column[k].count > most ? column[k].count : most;
    for (uint64_t row = 0; row <= most; row++) {
        line[0] = '\0';
        for (int k = 0; k < count; k++) {
            const struct top_column *c = &column[k];
            char label[LABEL_SHOWN_ROOM] = "", value[NUMBER_SHOWN_ROOM] = "";
            const bool left = row == 0 || c->labelled || c->count == 0;
            if (row == 0) {
                mode_name(c->view->labels, c->n, label);
            } else if (row <= c->count) {
                label_show(c->view->labels, c->n, c->entry[row - 1].index, c->view->index_base,
                           label);
                number_column_show(&c->values, c->entry[row - 1].value, value);
            } else if (row == 1) {
                strcpy(label, ALL_ZERO);
            }
            const size_t cell = row == 0 ? c->width : c->label_width;
            const int blank = (int)(cell - utf8_width(label));
            words_append(line, sizeof line, "  %*s%s%*s", left ? 0 : blank, "", label,
                         left ? blank : 0, "");
            if (row > 0)
                words_append(line, sizeof line, "  %*s%*s", (int)c->value_width, value,
                             (int)(c->width - cell - 2 - c->value_width), "");
            words_append(line, sizeof line, " ");
        }
        for (size_t end = strlen(line); end > 0 && line[end - 1] == ' ';)
            line[--end] = '\0';
        fprintf(stream, "%s\n", line);
    }
}

void top_print(FILE *stream, const struct top_view *view)
{
    struct top_column band[MAX_ORDER];
    char shares[SHARES_TEXT];
    for (uint64_t r = view->component; r < view->end_component; r++) {
        fprintf(stream, "%scomponent %ju, weight %.6g%s\n", r > view->component ? "\n" : "",
                (uintmax_t)r + 1, view->model->lambda[r], shares_text(view->model, r, shares));
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
}

/* --- JSON --- */

void top_put_json(struct json *j, const struct top_view *view)
{
    json_put_array(j, "components");
    for (uint64_t r = view->component; r < view->end_component; r++) {
        json_put_object(j, NULL);
        json_put_unsigned(j, "component", r + 1);
        json_put_number(j, "weight", view->model->lambda[r]);
        if (view->model->explained && isfinite(view->model->explained[r]))
            json_put_number(j, "explained", view->model->explained[r]);
        if (view->model->lost && isfinite(view->model->lost[r]))
            json_put_number(j, "lost", view->model->lost[r]);
        json_put_array(j, "modes");
        for (int n = view->mode; n < view->end_mode; n++) {
            const struct top_entries *top = &view->top[n];
            const struct top_entry *entry = top->entry + r * top->count;
            mode_begin(j, NULL, view->labels, n);
            json_put_array(j, "entries");
            for (uint64_t i = 0; i < top->count && entry[i].value != 0; i++) {
                json_put_object(j, NULL);
                index_put(j, view->labels, n, entry[i].index, view->index_base);
                json_put_number(j, "value", entry[i].value);
                json_end(j);
            }
            json_end(j);
            json_end(j);
        }
        json_end(j);
        json_end(j);
    }
    json_end(j);
}
