#include "report/page_parts.h"

#include <inttypes.h>
#include <stdbool.h>

#include "report/decimals.h"
#include "report/html.h"
#include "report/text_table.h"
#include "report/page_entries.h"

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

/* A table of the bars of a short mode, with a column for each component. */
struct bars {
    const struct page *page;
    int n; /* the mode */
    struct plot_scale scale;
    int decimals;
    uint64_t rest; /* entries that vanish with these decimals in every component */
    bool zeros;    /* all of them are 0                                                     */
};

/* Entry i of all components. */
static const double *row_of(const struct bars *b, uint64_t i)
{
    return b->page->model->factor[b->n] + i * b->page->model->rank;
}

static bool vanishes(const struct bars *b, uint64_t i)
{
    bool gone = true;
    for (int r = 0; r < lines_of(b->page); r++)
        gone = gone && decimals_vanish(row_of(b, i)[r], b->decimals);
    return gone;
}

static struct bars bars_of(const struct page *page, int n)
{
    struct bars b = {page, n, plot_scale_none(), 0, 0, true};
    uint64_t rows = page->model->shape.dims[n];
    plot_scale_add(&b.scale, 0);
    for (uint64_t i = 0; i < rows; i++)
        for (int r = 0; r < lines_of(page); r++)
            plot_scale_add(&b.scale, row_of(&b, i)[r]);
    plot_scale_finish(&b.scale);
    b.decimals = page_decimals(&b.scale);
    for (uint64_t i = 0; i < rows; i++)
        if (vanishes(&b, i)) {
            b.rest++;
            for (int r = 0; r < lines_of(page); r++)
                b.zeros = b.zeros && row_of(&b, i)[r] == 0;
        }
    return b;
}

static void put_row(FILE *to, const struct bars *b, uint64_t i)
{
    fputs("<tr><th scope=\"row\">", to);
    page_index(to, b->page, b->n, i);
    fputs("</th>", to);
    for (int r = 0; r < lines_of(b->page); r++) {
        fputs("<td class=\"n\">", to);
        html_decimals(to, row_of(b, i)[r], b->decimals);
        fprintf(to, "</td><td class=\"bar k%d\">", r % PLOT_COLOURS);
        plot_bar(to, &b->scale, row_of(b, i)[r]);
        fputs("</td>", to);
    }
    fputs("</tr>\n", to);
}

static void put_bars(FILE *to, const struct page *page, int n)
{
    const struct bars b = bars_of(page, n);
    uint64_t rows = page->model->shape.dims[n];
    int components = lines_of(page);
    fputs("<div class=\"wide\"><table><caption>", to);
    page_mode(to, page, n);
    fputs("</caption>\n<thead><tr><td></td>", to);
    for (int r = 1; r <= components; r++)
        fprintf(to, "<th scope=\"col\" class=\"n\">Component %d</th><td class=\"bar\"></td>", r);
    fputs("</tr></thead>\n<tbody>", to);
    for (uint64_t i = 0; i < rows; i++)
        if (b.rest == 1 || !vanishes(&b, i))
            put_row(to, &b, i);
    if (b.rest > 1)
        page_rest(to, b.rest, b.zeros, b.decimals, 1 + 2 * components, b.rest == rows);
    fputs("</tbody></table></div>\n", to);
}

/* The lines and the names of their components. */
static void put_legend(FILE *to, const struct page *page)
{
    fputs("<p class=\"keys\">", to);
    for (int k = 0; k < lines_of(page); k++) {
        fprintf(to, "<a href=\"#c%d\">", k + 1);
        plot_key(to, k);
        fprintf(to, "Component %d</a> ", k + 1);
    }
    fputs("</p>\n", to);
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
    fputs(" on one scale</summary>\n", to);
    if (lines)
        put_legend(to, page);
    fputs("<div class=\"modes\">\n", to);
    for (int n = 0; n < page->model->shape.order; n++)
        if (page->view[n].kind == VIEW_AS_LINE)
            put_lines(to, page, n);
    fputs("</div>\n", to);
    for (int n = 0; n < page->model->shape.order; n++)
        if (page->view[n].kind == VIEW_AS_BARS)
            put_bars(to, page, n);
    fputs("</details>\n", to);
}
