#include "report/page_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "formats/names/labels.h"
#include "report/html.h"
#include "report/text_table.h"

#define SURELY_SHOWN 12 /* bytes of a label that has room everywhere */

json_t *page_at(const struct page *page, const char *object, const char *name)
{
    json_t *value = json_object_get(page->record, object);
    return name ? json_object_get(value, name) : value;
}

const char *page_text_at(const struct page *page, const char *object, const char *name)
{
    return json_string_value(page_at(page, object, name));
}

double page_number_at(const struct page *page, const char *object, const char *name)
{
    return json_number_of(page_at(page, object, name));
}

void page_fact_begin(FILE *to, const char *name)
{
    fprintf(to, "<tr><th scope=\"row\">%s</th><td>", name);
}

void page_fact_end(FILE *to)
{
    fputs("</td></tr>\n", to);
}

void page_fact_print(FILE *to, const char *name, const char *format, ...)
{
    va_list args;
    page_fact_begin(to, name);
    va_start(args, format);
    vfprintf(to, format, args);
    va_end(args);
    page_fact_end(to);
}

void page_fact_number(FILE *to, const struct page *page, const char *name, const char *format,
                      const char *object, const char *member)
{
    const double x = page_number_at(page, object, member);
    if (isfinite(x))
        page_fact_print(to, name, format, x);
}

void page_fact(FILE *to, const char *name, const char *text)
{
    if (!text)
        return;
    page_fact_begin(to, name);
    html_text(to, text, HTML_LINE);
    page_fact_end(to);
}

void page_table_begin(FILE *to, const char *class, const char *caption, const char *const *heading,
                      int count)
{
    fprintf(to, "<div class=\"%s\"><table><caption>%s</caption>\n<thead><tr>", class, caption);
    for (int k = 0; k < count; k++)
        fprintf(to,
                heading[k][0] == '#' ? "<th scope=\"col\" class=\"n\">%s</th>"
                                     : "<th scope=\"col\">%s</th>",
                heading[k] + (heading[k][0] == '#'));
    fputs("</tr></thead>\n<tbody>", to);
}

void page_table_end(FILE *to)
{
    fputs("</tbody></table></div>\n", to);
}

void page_cell(FILE *to, double x, int decimals)
{
    fputs("<td class=\"n\">", to);
    html_decimals(to, x, decimals);
    fputs("</td>", to);
}

void page_cell_of(FILE *to, const struct number_column *column, double x)
{
    fputs("<td class=\"n\">", to);
    html_number_of(to, column, x);
    fputs("</td>", to);
}

void page_bars_begin(struct page_bars *bars)
{
    *bars = (struct page_bars){plot_scale_none(), {.digits = PAGE_DIGITS}};
    plot_scale_add(&bars->scale, 0);
}

void page_bars_add(struct page_bars *bars, double x)
{
    plot_scale_add(&bars->scale, x);
    number_column_add(&bars->column, x);
}

void page_bar(FILE *to, const struct page_bars *bars, double x, int colour)
{
    page_cell_of(to, &bars->column, x);
    if (colour < 0)
        fputs("<td class=\"bar\">", to);
    else
        fprintf(to, "<td class=\"bar k%d\">", colour % PLOT_COLOURS);
    plot_bar(to, &bars->scale, x);
    fputs("</td>", to);
}

void page_core(FILE *to, double percent, double error)
{
    html_decimals(to, percent, percent > -1000 ? 1 : -2);
    if (isfinite(error))
        fprintf(to, " &#177; %.2g", error);
}

void page_mode(FILE *to, const struct page *page, int n)
{
    if (!page->labels->modes.name[n][0]) {
        fprintf(to, "Mode %d", n + 1);
        return;
    }
    html_print(to, HTML_LABEL, "<bdi>%s</bdi>", page->labels->modes.name[n]);
}

void page_index(FILE *to, const struct page *page, int n, uint64_t i)
{
    const char *label = labels_get(page->labels, n, i);
    if (!label) {
        fprintf(to, "%" PRIu64, i + 1);
        return;
    }
    fputs("<bdi", to);
    if (strlen(label) > SURELY_SHOWN)
        html_print(to, HTML_LINE, " title=\"%s\"", label);
    html_print(to, HTML_LABEL, ">%s</bdi>", label);
}

struct plot_scale page_line_range(const struct page *page, int n, uint64_t r)
{
    const struct profile *p = &page->view[n].profile;
    struct plot_scale range = plot_scale_none();
    for (uint64_t c = 0; c < p->columns; c++) {
        plot_scale_add(&range, p->low[c * page->model->rank + r]);
        plot_scale_add(&range, p->high[c * page->model->rank + r]);
    }
    return range;
}

/* The label, or the number, of an index at the end of an axis. */
static const char *end_text(const struct page *page, int n, uint64_t i, char number[32])
{
    const char *label = labels_get(page->labels, n, i);
    snprintf(number, 32, "%" PRIu64, i + 1);
    return label ? label : number;
}

void page_line_make(struct page_line *line, const struct page *page, int n, uint64_t r)
{
    const struct ktensor *k = page->model;
    const struct mode_view *view = &page->view[n];
    const struct profile *p = &view->profile;
    uint64_t rows = k->shape.dims[n];
    line->plot = (struct plot_line){.first = end_text(page, n, 0, line->first),
                                    .last = end_text(page, n, rows - 1, line->last),
                                    .count = p->columns,
                                    .stride = k->rank,
                                    .low = p->low + r,
                                    .high = p->high + r,
                                    .scale = page_line_range(page, n, r),
                                    .tick = line->tick,
                                    .id = line->id};
    plot_scale_add(&line->plot.scale, 0);
    plot_scale_finish(&line->plot.scale);
    if (view->ticks > 0) {
        line->plot.tick = view->tick;
        line->plot.ticks = view->ticks;
    } else {
        line->plot.ticks = plot_inner_ticks(line->tick, 1, 1, rows, p->columns);
        for (int i = 0; i < line->plot.ticks; i++)
            line->tick[i].text = labels_get(page->labels, n, line->tick[i].entry);
    }
    snprintf(line->id, sizeof line->id, "c%" PRIu64 "m%d", r + 1, n + 1);
}
