#include "report/page_parts.h"

#include <inttypes.h>
#include <stdbool.h>

#include "report/text_table.h"

/* How many components are overlaid. */
static int lines_of(const struct page *page)
{
    return page->model->rank < PLOT_MOST_OVERLAID ? (int)page->model->rank : PLOT_MOST_OVERLAID;
}

static void put_lines(FILE *to, const struct page *page, int n)
{
    struct plot_overlaid line[PLOT_MOST_OVERLAID];
    struct page_line frame, own;
    char title[MODE_NAME_ROOM + 64], about[128], name[MODE_NAME_ROOM];
    int count = lines_of(page);
    page_line_make(&frame, page, n, 0);
    for (int k = 0; k < count; k++) {
        page_line_make(&own, page, n, (uint64_t)k);
        line[k].scale = own.plot.scale;
        snprintf(line[k].id, sizeof line[k].id, "%s", own.id);
        snprintf(line[k].name, sizeof line[k].name, "Component %d", k + 1);
        plot_scale_add(&frame.plot.scale, own.plot.scale.least);
        plot_scale_add(&frame.plot.scale, own.plot.scale.most);
    }
    snprintf(title, sizeof title, "Components 1 to %d, %s", count,
             mode_name(page->labels, n, name));
    snprintf(about, sizeof about, "The lines of the components over each other, from %.4g to %.4g.",
             frame.plot.scale.least, frame.plot.scale.most);
    frame.plot.title = title;
    frame.plot.about = about;
    fputs("<figure class=\"mode\"><figcaption>", to);
    page_mode(to, page, n);
    fprintf(to, ": %" PRIu64 " entries</figcaption>\n", page->model->shape.dims[n]);
    plot_overlay(to, &frame.plot, line, count);
    fputs("</figure>\n", to);
}

/* Whether all components that are overlaid vanish in a row (R) with these decimals. */
static bool vanishes(const struct page *page, const double *row, int decimals)
{
    bool gone = true;
    for (int r = 0; r < lines_of(page); r++)
        gone = gone && decimals_vanish(row[r], decimals);
    return gone;
}

/* A table of the bars of a short mode, with a column for each component. Rows that vanish in every
 * component are only counted, unless there is a single one. */
static void put_bars(FILE *to, const struct page *page, int n)
{
    const uint64_t rows = page->model->shape.dims[n], rank = page->model->rank;
    const double *a = page->model->factor[n];
    const int components = lines_of(page);
    struct plot_scale scale = plot_scale_none();
    uint64_t rest = 0;
    bool zeros = true; /* all that vanish are 0 */
    plot_scale_add(&scale, 0);
    for (uint64_t i = 0; i < rows; i++)
        for (int r = 0; r < components; r++)
            plot_scale_add(&scale, a[i * rank + (uint64_t)r]);
    plot_scale_finish(&scale);
    const int decimals = page_decimals(&scale);
    for (uint64_t i = 0; i < rows; i++)
        if (vanishes(page, a + i * rank, decimals)) {
            rest++;
            for (int r = 0; r < components; r++)
                zeros = zeros && a[i * rank + (uint64_t)r] == 0;
        }
    fputs("<div class=\"wide\"><table><caption>", to);
    page_mode(to, page, n);
    fputs("</caption>\n<thead><tr><td></td>", to);
    for (int r = 1; r <= components; r++)
        fprintf(to, "<th scope=\"col\" class=\"n\">Component %d</th><td class=\"bar\"></td>", r);
    fputs("</tr></thead>\n<tbody>", to);
    for (uint64_t i = 0; i < rows; i++) {
        const double *row = a + i * rank;
        if (rest != 1 && vanishes(page, row, decimals))
            continue;
        fputs("<tr><th scope=\"row\">", to);
        page_index(to, page, n, i);
        fputs("</th>", to);
        for (int r = 0; r < components; r++) {
            page_cell(to, row[r], decimals);
            fprintf(to, "<td class=\"bar k%d\">", r % PLOT_COLOURS);
            plot_bar(to, &scale, row[r]);
            fputs("</td>", to);
        }
        fputs("</tr>\n", to);
    }
    if (rest > 1)
        page_rest(to, rest, zeros, decimals, 1 + 2 * components, rest == rows);
    fputs("</tbody></table></div>\n", to);
}

static bool has(const struct page *page, enum view_kind kind)
{
    bool any = false;
    for (int n = 0; n < page->model->shape.order; n++)
        any = any || page->view[n].kind == kind;
    return any;
}

void page_overlay(FILE *to, const struct page *page)
{
    bool lines = has(page, VIEW_AS_LINE);
    if (page->model->rank < 2 || (!lines && !has(page, VIEW_AS_BARS)))
        return;
    fputs("<details>\n<summary>Overlay: the ", to);
    if (page->model->rank > PLOT_MOST_OVERLAID)
        fprintf(to, "%d components with the largest weights", PLOT_MOST_OVERLAID);
    else
        fputs("components", to);
    fputs(lines ? " on one scale</summary>\n<p class=\"keys\">" : " on one scale</summary>\n", to);
    for (int k = 0; lines && k < lines_of(page); k++) { /* the legend */
        fprintf(to, "<a href=\"#c%d\">", k + 1);
        plot_key(to, k);
        fprintf(to, "Component %d</a> ", k + 1);
    }
    fputs(lines ? "</p>\n<div class=\"modes\">\n" : "<div class=\"modes\">\n", to);
    for (int n = 0; n < page->model->shape.order; n++)
        if (page->view[n].kind == VIEW_AS_LINE)
            put_lines(to, page, n);
    fputs("</div>\n", to);
    for (int n = 0; n < page->model->shape.order; n++)
        if (page->view[n].kind == VIEW_AS_BARS)
            put_bars(to, page, n);
    fputs("</details>\n", to);
}
