#include "report/page_components.h"

#include <inttypes.h>

#include "report/html.h"
#include "report/plot.h"

static const struct top_entry *strongest(const struct page *page, int n, uint64_t r)
{
    const struct top_entries *top = &page->view[n].top;
    return &top->entry[r * top->count];
}

/* An index, from 0, as people read it: its label, or its number from 1. */
static void put_index(FILE *to, const struct page *page, int n, uint64_t i)
{
    const char *label = labels_get(page->labels, n, i);
    if (!label) {
        fprintf(to, "%" PRIu64, i + 1);
        return;
    }
    fputs("<bdi>", to);
    html_text(to, label, HTML_LABEL);
    fputs("</bdi>", to);
}

/* --- weights --- */

static void put_weight_row(FILE *to, const struct page *page, const struct plot_scale *scale,
                           uint64_t r)
{
    const struct ktensor *k = page->model;
    fprintf(to,
            "<tr><th scope=\"row\"><a href=\"#c%" PRIu64 "\">%" PRIu64 "</a></th><td class=\"n\">",
            r + 1, r + 1);
    html_number(to, k->lambda[r]);
    fputs("</td><td class=\"bar\">", to);
    plot_bar(to, scale, k->lambda[r]);
    fputs("</td>", to);
    for (int n = 0; n < k->shape.order; n++) {
        fputs("<td>", to);
        put_index(to, page, n, strongest(page, n, r)->index);
        fputs("</td>", to);
    }
    fputs("</tr>\n", to);
}

void page_weights(FILE *to, const struct page *page)
{
    const struct ktensor *k = page->model;
    struct plot_scale scale = plot_scale_none();
    plot_scale_add(&scale, 0);
    for (uint64_t r = 0; r < k->rank; r++)
        plot_scale_add(&scale, k->lambda[r]);
    plot_scale_finish(&scale);
    fputs("<section>\n<h2 id=\"weights\">Components</h2>\n"
          "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-labelledby=\"weights\"><table>"
          "<caption>Weights, and the strongest entry in each mode</caption>\n"
          "<thead><tr><th scope=\"col\">Component</th><th scope=\"col\" class=\"n\">Weight</th>"
          "<td class=\"bar\"></td>",
          to);
    for (int n = 0; n < k->shape.order; n++)
        fprintf(to, "<th scope=\"col\">Mode %d</th>", n + 1);
    fputs("</tr></thead>\n<tbody>", to);
    for (uint64_t r = 0; r < k->rank; r++)
        put_weight_row(to, page, &scale, r);
    fputs("</tbody></table></div>\n</section>\n", to);
}

/* --- profiles --- */

/* A table of entries with bars, and its caption. */
static void put_entries(FILE *to, const struct page *page, int n, const struct top_entry *entry,
                        uint64_t count, const char *what)
{
    struct plot_scale scale = plot_scale_none();
    plot_scale_add(&scale, 0);
    for (uint64_t i = 0; i < count; i++)
        plot_scale_add(&scale, entry[i].value);
    plot_scale_finish(&scale);
    fprintf(to, "<table class=\"mode\"><caption>Mode %d: %s</caption><tbody>\n", n + 1, what);
    for (uint64_t i = 0; i < count; i++) {
        fputs("<tr><th scope=\"row\">", to);
        put_index(to, page, n, entry[i].index);
        fputs("</th><td class=\"n\">", to);
        html_number(to, entry[i].value);
        fputs("</td><td class=\"bar\">", to);
        plot_bar(to, &scale, entry[i].value);
        fputs("</td></tr>\n", to);
    }
    fputs("</tbody></table>\n", to);
}

static void put_bars(FILE *to, const struct page *page, int n, uint64_t r)
{
    const struct ktensor *k = page->model;
    struct top_entry entry[VIEW_BARS];
    char what[64];
    uint64_t count = k->shape.dims[n];
    for (uint64_t i = 0; i < count; i++)
        entry[i] = (struct top_entry){i, k->factor[n][i * k->rank + r]};
    snprintf(what, sizeof what, "%s %" PRIu64 " entr%s", count == 1 ? "the" : "all", count,
             count == 1 ? "y" : "ies");
    put_entries(to, page, n, entry, count, what);
}

/* Entries that are 0 say nothing. */
static void put_top(FILE *to, const struct page *page, int n, uint64_t r)
{
    char what[64];
    const struct top_entry *entry = strongest(page, n, r);
    uint64_t count = page->view[n].top.count, rows = page->model->shape.dims[n];
    bool zeros = entry[count - 1].value == 0;
    while (count > 0 && entry[count - 1].value == 0)
        count--;
    if (zeros)
        snprintf(what, sizeof what, "%" PRIu64 " of %" PRIu64 " entries, the others are 0", count,
                 rows);
    else
        snprintf(what, sizeof what, "the %" PRIu64 " strongest of %" PRIu64 " entries", count,
                 rows);
    put_entries(to, page, n, entry, count, what);
}

/* The label, or the number, of an index at the end of an axis. */
static const char *end_text(const struct page *page, int n, uint64_t i, char number[32])
{
    const char *label = labels_get(page->labels, n, i);
    snprintf(number, 32, "%" PRIu64, i + 1);
    return label ? label : number;
}

static void put_strongest(FILE *to, const struct page *page, int n, uint64_t r)
{
    const struct top_entry *entry = strongest(page, n, r);
    fputs("<p>Strongest:", to);
    for (uint64_t i = 0; i < page->view[n].top.count; i++) {
        fputs(i > 0 ? ", " : " ", to);
        put_index(to, page, n, entry[i].index);
        fputs(" (", to);
        html_number(to, entry[i].value);
        fputs(")", to);
    }
    fputs("</p>", to);
}

static void put_line(FILE *to, const struct page *page, int n, uint64_t r)
{
    const struct ktensor *k = page->model;
    const struct profile *p = &page->view[n].profile;
    char first[32], last[32], title[64], about[256];
    uint64_t rows = k->shape.dims[n];
    struct plot_line plot = {.title = title,
                             .about = about,
                             .first = end_text(page, n, 0, first),
                             .last = end_text(page, n, rows - 1, last),
                             .count = p->columns,
                             .stride = k->rank,
                             .low = p->low + r,
                             .high = p->high + r,
                             .scale = plot_scale_none()};
    for (uint64_t c = 0; c < p->columns; c++) {
        plot_scale_add(&plot.scale, plot.low[c * plot.stride]);
        plot_scale_add(&plot.scale, plot.high[c * plot.stride]);
    }
    double least = plot.scale.least, most = plot.scale.most;
    plot_scale_add(&plot.scale, 0);
    plot_scale_finish(&plot.scale);
    snprintf(title, sizeof title, "Component %" PRIu64 ", mode %d", r + 1, n + 1);
    if (least <= most)
        snprintf(about, sizeof about, "A line over %" PRIu64 " entries, from %.4g to %.4g.", rows,
                 least, most);
    else
        snprintf(about, sizeof about, "None of the %" PRIu64 " entries is a number.", rows);
    fprintf(to, "<figure class=\"mode\"><figcaption>Mode %d: %" PRIu64 " entries</figcaption>\n",
            n + 1, rows);
    plot_line(to, &plot);
    put_strongest(to, page, n, r);
    fputs("</figure>\n", to);
}

static void put_component(FILE *to, const struct page *page, uint64_t r)
{
    fprintf(to,
            "<section class=\"component\">\n<h3 id=\"c%" PRIu64 "\">Component %" PRIu64
            "<span>weight ",
            r + 1, r + 1);
    html_number(to, page->model->lambda[r]);
    fputs("</span></h3>\n<div class=\"modes\">\n", to);
    for (int n = 0; n < page->model->shape.order; n++) {
        if (page->view[n].kind == VIEW_AS_BARS)
            put_bars(to, page, n, r);
        else if (page->view[n].kind == VIEW_AS_LINE)
            put_line(to, page, n, r);
        else
            put_top(to, page, n, r);
    }
    fputs("</div>\n</section>\n", to);
}

void page_components(FILE *to, const struct page *page)
{
    fputs("<section>\n<h2>Each component</h2>\n", to);
    for (uint64_t r = 0; r < page->model->rank; r++)
        put_component(to, page, r);
    fputs("</section>\n", to);
}
