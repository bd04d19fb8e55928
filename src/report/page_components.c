#include "report/page_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

#include "report/decimals.h"
#include "report/html.h"
#include "report/text_table.h"
#include "report/page_entries.h"

static const struct top_entry *strongest(const struct page *page, int n, uint64_t r)
{
    const struct top_entries *top = &page->view[n].top;
    return &top->entry[r * top->count];
}

/* --- weights --- */

/* How alike the halves of the tensor are in each component; NULL without --split-half. */
static const json_t *half_scores(const struct page *page)
{
    return page_at(page, "split_half", "components");
}

static void put_half_score(FILE *to, const struct page *page, uint64_t r)
{
    const double score = json_number_of(json_array_get(half_scores(page), r));
    if (!half_scores(page))
        return;
    fputs("<td class=\"n\">", to);
    if (isfinite(score))
        html_decimals(to, score, 4);
    fputs("</td>", to);
}

static void put_weight_row(FILE *to, const struct page *page, const struct plot_scale *scale,
                           int decimals, uint64_t r)
{
    const struct ktensor *k = page->model;
    fprintf(to,
            "<tr><th scope=\"row\"><a href=\"#c%" PRIu64 "\">%" PRIu64 "</a></th><td class=\"n\">",
            r + 1, r + 1);
    html_decimals(to, k->lambda[r], decimals);
    fputs("</td><td class=\"bar\">", to);
    plot_bar(to, scale, k->lambda[r]);
    fputs("</td>", to);
    put_half_score(to, page, r);
    for (int n = 0; n < k->shape.order; n++) {
        fputs("<td>", to);
        page_index(to, page, n, strongest(page, n, r)->index);
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
    if (half_scores(page))
        fputs("<th scope=\"col\" class=\"n\">Halves</th>", to);
    for (int n = 0; n < k->shape.order; n++) {
        fputs("<th scope=\"col\">", to);
        page_mode(to, page, n);
        fputs("</th>", to);
    }
    fputs("</tr></thead>\n<tbody>", to);
    for (uint64_t r = 0; r < k->rank; r++)
        put_weight_row(to, page, &scale, page_decimals(&scale), r);
    fputs("</tbody></table></div>\n</section>\n", to);
}

/* --- profiles --- */

/* A table of entries of a mode, with bars. */
struct entries {
    const struct page *page;
    int n;                         /* the mode                                          */
    const struct top_entry *entry; /* (count); all others of the mode are weaker        */
    uint64_t count;
    struct plot_scale scale;
    int decimals;
    uint64_t rest; /* entries of the mode that vanish with these decimals */
    bool zeros;    /* all of them are 0                                                */
};

static struct entries entries_of(const struct page *page, int n, const struct top_entry *entry,
                                 uint64_t count)
{
    struct entries e = {page, n, entry, count, plot_scale_none(), 0, 0, true};
    plot_scale_add(&e.scale, 0);
    for (uint64_t i = 0; i < count; i++)
        plot_scale_add(&e.scale, entry[i].value);
    plot_scale_finish(&e.scale);
    e.decimals = page_decimals(&e.scale);
    for (uint64_t i = 0; i < count; i++)
        if (decimals_vanish(entry[i].value, e.decimals)) {
            e.rest++;
            e.zeros = e.zeros && entry[i].value == 0;
        }
    if (e.rest > 0)
        e.rest += page->model->shape.dims[n] - count;
    return e;
}

static void put_entry(FILE *to, const struct entries *e, const struct top_entry *entry)
{
    fputs("<tr><th scope=\"row\">", to);
    page_index(to, e->page, e->n, entry->index);
    fputs("</th><td class=\"n\">", to);
    html_decimals(to, entry->value, e->decimals);
    fputs("</td><td class=\"bar\">", to);
    plot_bar(to, &e->scale, entry->value);
    fputs("</td></tr>\n", to);
}

static void put_caption(FILE *to, const struct entries *e, uint64_t rows)
{
    fputs("<caption>", to);
    page_mode(to, e->page, e->n);
    fputs(": ", to);
    if (e->count < rows && e->rest == 0)
        fprintf(to, "the %" PRIu64 " strongest of %" PRIu64 " entries", e->count, rows);
    else
        fprintf(to, "%s %" PRIu64 " entr%s", rows == 1 ? "the" : "all", rows,
                rows == 1 ? "y" : "ies");
    fputs("</caption>", to);
}

/* Entries that vanish are only counted, unless there is a single one. */
static void put_entries(FILE *to, const struct page *page, int n, const struct top_entry *entry,
                        uint64_t count)
{
    uint64_t rows = page->model->shape.dims[n];
    const struct entries e = entries_of(page, n, entry, count);
    fputs("<table class=\"mode\">", to);
    put_caption(to, &e, rows);
    fputs("<tbody>\n", to);
    for (uint64_t i = 0; i < count; i++)
        if (e.rest == 1 || !decimals_vanish(entry[i].value, e.decimals))
            put_entry(to, &e, &entry[i]);
    if (e.rest > 1)
        page_rest(to, e.rest, e.zeros, e.decimals, 3, e.rest == rows);
    fputs("</tbody></table>\n", to);
}

static void put_bars(FILE *to, const struct page *page, int n, uint64_t r)
{
    const struct ktensor *k = page->model;
    struct top_entry entry[VIEW_BARS];
    for (uint64_t i = 0; i < k->shape.dims[n]; i++)
        entry[i] = (struct top_entry){i, k->factor[n][i * k->rank + r]};
    put_entries(to, page, n, entry, k->shape.dims[n]);
}

static void put_top(FILE *to, const struct page *page, int n, uint64_t r)
{
    put_entries(to, page, n, strongest(page, n, r), page->view[n].top.count);
}

static void put_peaks(FILE *to, const struct page *page, int n, uint64_t r)
{
    const struct top_entry *peak = strongest(page, n, r);
    uint64_t count = 0;
    while (count < page->view[n].top.count && peak[count].value != 0)
        count++;
    if (count == 0)
        return;
    int decimals = decimals_for(peak[0].value, PAGE_DIGITS);
    fprintf(to, "<p>%s ", count == 1 ? "Peak:" : "Peaks:");
    for (uint64_t i = 0; i < count; i++) {
        fputs(i > 0 ? ", " : "", to);
        page_index(to, page, n, peak[i].index);
        fputs(" (", to);
        html_decimals(to, peak[i].value, decimals);
        fputs(")", to);
    }
    fputs("</p>", to);
}

static void put_line(FILE *to, const struct page *page, int n, uint64_t r)
{
    struct page_line line;
    char title[MODE_NAME_ROOM + 64], about[256], name[MODE_NAME_ROOM];
    page_line_make(&line, page, n, r);
    struct plot_scale data = page_line_range(page, n, r);
    snprintf(title, sizeof title, "Component %" PRIu64 ", %s", r + 1,
             mode_name(page->labels, n, name));
    if (data.least <= data.most)
        snprintf(about, sizeof about, "A line over %" PRIu64 " entries, from %.4g to %.4g.",
                 page->model->shape.dims[n], data.least, data.most);
    else
        snprintf(about, sizeof about, "None of the %" PRIu64 " entries is a number.",
                 page->model->shape.dims[n]);
    line.plot.title = title;
    line.plot.about = about;
    fputs("<figure class=\"mode\"><figcaption>", to);
    page_mode(to, page, n);
    fprintf(to, ": %" PRIu64 " entries</figcaption>\n", page->model->shape.dims[n]);
    plot_line(to, &line.plot);
    put_peaks(to, page, n, r);
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
    fputs("<section class=\"components\">\n<h2>Each component</h2>\n", to);
    page_overlay(to, page);
    for (uint64_t r = 0; r < page->model->rank; r++)
        put_component(to, page, r);
    fputs("</section>\n", to);
}
