#include "report/page_parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>

#include "report/html.h"
#include "report/text_table.h"

static const struct top_entry *strongest(const struct page *page, int n, uint64_t r)
{
    const struct top_entries *top = &page->view[n].top;
    return &top->entry[r * top->count];
}

/* --- weights --- */

void page_weights(FILE *to, const struct page *page)
{
    const struct ktensor *k = page->model;
    const json_t *halves = page_at(page, "split_half", "components"),
                 *scores =
                     halves ? halves : page_at(page, "replication", "components"); /* or NULL */
    struct page_bars weights;
    page_bars_begin(&weights);
    for (uint64_t r = 0; r < k->rank; r++)
        page_bars_add(&weights, k->lambda[r]);
    plot_scale_finish(&weights.scale);
    fputs("<section>\n<h2 id=\"weights\">Components</h2>\n"
          "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-labelledby=\"weights\"><table>"
          "<caption>Weights, and the strongest entry in each mode</caption>\n"
          "<thead><tr><th scope=\"col\">Component</th><th scope=\"col\" class=\"n\">Weight</th>"
          "<td class=\"bar\"></td>",
          to);
    if (scores)
        fprintf(to, "<th scope=\"col\" class=\"n\">%s</th>", halves ? "Halves" : "Replicates");
    for (int n = 0; n < k->shape.order; n++) {
        fputs("<th scope=\"col\">", to);
        page_mode(to, page, n);
        fputs("</th>", to);
    }
    fputs("</tr></thead>\n<tbody>", to);
    for (uint64_t r = 0; r < k->rank; r++) {
        const double score = json_number_of(json_array_get(scores, r));
        fprintf(to, "<tr><th scope=\"row\"><a href=\"#c%" PRIu64 "\">%" PRIu64 "</a></th>", r + 1,
                r + 1);
        page_bar(to, &weights, k->lambda[r], -1);
        if (scores && isfinite(score))
            page_cell(to, score, 4);
        else
            fputs(scores ? "<td class=\"n\"></td>" : "", to);
        for (int n = 0; n < k->shape.order; n++) {
            fputs("<td>", to);
            page_index(to, page, n, strongest(page, n, r)->index);
            fputs("</td>", to);
        }
        fputs("</tr>\n", to);
    }
    fputs("</tbody></table></div>\n</section>\n", to);
}

/* --- profiles --- */

/* The entries that a table shows with bars: `count` of mode n in `components` components from
 * `first` on, of which more than one are overlaid. */
struct bars {
    const struct page *page;
    int n, components;
    uint64_t first, count;
    const struct top_entry *strongest; /* of one component; NULL: the first `count` of the mode */
};

static uint64_t bar_index(const struct bars *b, uint64_t i)
{
    return b->strongest ? b->strongest[i].index : i;
}

static double bar_value(const struct bars *b, uint64_t i, int component)
{
    const struct ktensor *k = b->page->model;
    return k->factor[b->n][bar_index(b, i) * k->rank + b->first + (uint64_t)component];
}

/* Whether an entry vanishes in all components with these decimals; *zeros stays true where it is 0.
 */
static bool vanishes(const struct bars *b, uint64_t i, int decimals, bool *zeros)
{
    bool gone = true, zero = true;
    for (int r = 0; r < b->components; r++) {
        gone = gone && decimals_vanish(bar_value(b, i, r), decimals);
        zero = zero && bar_value(b, i, r) == 0;
    }
    *zeros = *zeros && (zero || !gone);
    return gone;
}

/* A table of them. Entries that vanish are only counted, unless there is a single one. */
static void put_bars(FILE *to, const struct bars *b)
{
    const uint64_t rows = b->page->model->shape.dims[b->n];
    const bool overlay = b->components > 1;
    struct page_bars bars;
    uint64_t rest = 0;
    bool zeros = true; /* all that vanish are 0 */
    page_bars_begin(&bars);
    for (uint64_t i = 0; i < b->count; i++)
        for (int r = 0; r < b->components; r++)
            page_bars_add(&bars, bar_value(b, i, r));
    plot_scale_finish(&bars.scale);
    const int decimals = decimals_for(bars.column.largest, PAGE_DIGITS);
    bars.column = (struct number_column){.digits = PAGE_DIGITS}; /* of those that are shown */
    for (uint64_t i = 0; i < b->count; i++)
        rest += vanishes(b, i, decimals, &zeros);
    for (uint64_t i = 0; i < b->count; i++)
        for (int r = 0; r < b->components && (rest == 1 || !vanishes(b, i, decimals, &zeros)); r++)
            number_column_add(&bars.column, bar_value(b, i, r));
    if (rest > 0)
        rest += rows - b->count;
    fprintf(to, "<div class=\"%s\"><table><caption>", overlay ? "wide" : "mode");
    page_mode(to, b->page, b->n);
    if (!overlay && b->count < rows && rest == 0)
        fprintf(to, ": the %" PRIu64 " strongest of %" PRIu64 " entries", b->count, rows);
    else if (!overlay)
        fprintf(to, ": %s %" PRIu64 " entr%s", rows == 1 ? "the" : "all", rows,
                rows == 1 ? "y" : "ies");
    fputs(overlay ? "</caption>\n<thead><tr><td></td>" : "</caption><tbody>\n", to);
    for (int r = 1; overlay && r <= b->components; r++)
        fprintf(to, "<th scope=\"col\" class=\"n\">Component %d</th><td class=\"bar\"></td>", r);
    fputs(overlay ? "</tr></thead>\n<tbody>" : "", to);
    for (uint64_t i = 0; i < b->count; i++) {
        if (rest != 1 && vanishes(b, i, decimals, &zeros))
            continue;
        fputs("<tr><th scope=\"row\">", to);
        page_index(to, b->page, b->n, bar_index(b, i));
        fputs("</th>", to);
        for (int r = 0; r < b->components; r++)
            page_bar(to, &bars, bar_value(b, i, r), overlay ? r : -1);
        fputs("</tr>\n", to);
    }
    if (rest > 1) /* "and 14 zeros", "and 14 below 0.00005" where not all of them are zeros */
        fprintf(to, "<tr><td colspan=\"%d\" class=\"rest\">%s%" PRIu64, 1 + 2 * b->components,
                rest == rows ? "" : "and ", rest);
    if (rest > 1 && zeros)
        fputs(" zeros</td></tr>\n", to);
    else if (rest > 1)
        fprintf(to, " below %.*f</td></tr>\n", decimals + 1, 0.5 * pow(10, -decimals));
    fputs("</tbody></table></div>\n", to);
}

/* A line, and its peaks. */
static void put_line(FILE *to, const struct page *page, int n, uint64_t r)
{
    const struct top_entry *peak = strongest(page, n, r);
    const uint64_t rows = page->model->shape.dims[n];
    struct page_line line;
    char title[MODE_NAME_ROOM + 64], about[256], name[MODE_NAME_ROOM];
    page_line_make(&line, page, n, r);
    struct plot_scale data = page_line_range(page, n, r);
    snprintf(title, sizeof title, "Component %" PRIu64 ", %s", r + 1,
             mode_name(page->labels, n, name));
    if (data.least <= data.most)
        snprintf(about, sizeof about, "A line over %" PRIu64 " entries, from %.4g to %.4g.", rows,
                 data.least, data.most);
    else
        snprintf(about, sizeof about, "None of the %" PRIu64 " entries is a number.", rows);
    line.plot.title = title;
    line.plot.about = about;
    fputs("<figure class=\"mode\"><figcaption>", to);
    page_mode(to, page, n);
    fprintf(to, ": %" PRIu64 " entries</figcaption>\n", rows);
    plot_line(to, &line.plot);
    uint64_t count = 0;
    while (count < page->view[n].top.count && peak[count].value != 0)
        count++;
    if (count > 0)
        fprintf(to, "<p>%s ", count == 1 ? "Peak:" : "Peaks:");
    for (uint64_t i = 0; i < count; i++) {
        fputs(i > 0 ? ", " : "", to);
        page_index(to, page, n, peak[i].index);
        fputs(" (", to);
        html_decimals(to, peak[i].value, decimals_for(peak[0].value, PAGE_DIGITS));
        fputs(")", to);
    }
    fputs(count > 0 ? "</p></figure>\n" : "</figure>\n", to);
}

/* --- overlay --- */

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

/* A switch that opens, for each mode that is drawn as a line, one plot with the lines of all
 * components over each other, and for each short mode a table with the bars of all side by side: of
 * the first ones where there are more than PLOT_MOST_OVERLAID. Nothing where there
 * is one component or no such mode. The lines are those of the components' own plots. */
static void put_overlay(FILE *to, const struct page *page)
{
    bool lines = false, bars = false;
    for (int n = 0; n < page->model->shape.order; n++) {
        lines = lines || page->view[n].kind == VIEW_AS_LINE;
        bars = bars || page->view[n].kind == VIEW_AS_BARS;
    }
    if (page->model->rank < 2 || (!lines && !bars))
        return;
    fputs("<details>\n<summary>Overlay: the ", to);
    if (page->model->rank > PLOT_MOST_OVERLAID)
        fprintf(to, "first %d components", PLOT_MOST_OVERLAID);
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
            put_bars(to, &(struct bars){.page = page,
                                        .n = n,
                                        .components = lines_of(page),
                                        .count = page->model->shape.dims[n]});
    fputs("</details>\n", to);
}

void page_components(FILE *to, const struct page *page)
{
    const struct ktensor *k = page->model;
    char shares[SHARES_TEXT];
    fputs("<section>\n<h2>Each component</h2>\n", to);
    put_overlay(to, page);
    for (uint64_t r = 0; r < k->rank; r++) {
        fprintf(to,
                "<section class=\"component\">\n<h3 id=\"c%" PRIu64 "\">Component %" PRIu64
                "<span>weight ",
                r + 1, r + 1);
        html_number(to, k->lambda[r]);
        fprintf(to, "%s</span></h3>\n<div class=\"modes\">\n", shares_text(k, r, shares));
        for (int n = 0; n < k->shape.order; n++) {
            const struct mode_view *view = &page->view[n];
            const bool all = view->kind == VIEW_AS_BARS;
            if (view->kind == VIEW_AS_LINE)
                put_line(to, page, n, r);
            else
                put_bars(to, &(struct bars){.page = page,
                                            .n = n,
                                            .components = 1,
                                            .first = r,
                                            .count = all ? k->shape.dims[n] : view->top.count,
                                            .strongest = all ? NULL : strongest(page, n, r)});
        }
        fputs("</div>\n</section>\n", to);
    }
    fputs("</section>\n", to);
}
