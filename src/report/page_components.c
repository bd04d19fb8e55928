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
    const json_t *halves = page_at(page, "split_half", "components"); /* scores, or NULL */
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
    if (halves)
        fputs("<th scope=\"col\" class=\"n\">Halves</th>", to);
    for (int n = 0; n < k->shape.order; n++) {
        fputs("<th scope=\"col\">", to);
        page_mode(to, page, n);
        fputs("</th>", to);
    }
    fputs("</tr></thead>\n<tbody>", to);
    for (uint64_t r = 0; r < k->rank; r++) {
        const double score = json_number_of(json_array_get(halves, r));
        fprintf(to, "<tr><th scope=\"row\"><a href=\"#c%" PRIu64 "\">%" PRIu64 "</a></th>", r + 1,
                r + 1);
        page_bar(to, &scale, k->lambda[r]);
        if (halves && isfinite(score))
            page_cell(to, score, 4);
        else
            fputs(halves ? "<td class=\"n\"></td>" : "", to);
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

/* A table of entry[0..count), with bars; all others of the mode are weaker. Entries that vanish
 * with the decimals of the table are only counted, unless there is a single one. */
static void put_entries(FILE *to, const struct page *page, int n, const struct top_entry *entry,
                        uint64_t count)
{
    const uint64_t rows = page->model->shape.dims[n];
    struct plot_scale scale = plot_scale_none();
    uint64_t rest = 0;
    bool zeros = true; /* all that vanish are 0 */
    plot_scale_add(&scale, 0);
    for (uint64_t i = 0; i < count; i++)
        plot_scale_add(&scale, entry[i].value);
    plot_scale_finish(&scale);
    const int decimals = page_decimals(&scale);
    for (uint64_t i = 0; i < count; i++)
        if (decimals_vanish(entry[i].value, decimals)) {
            rest++;
            zeros = zeros && entry[i].value == 0;
        }
    if (rest > 0)
        rest += rows - count;
    fputs("<table class=\"mode\"><caption>", to);
    page_mode(to, page, n);
    if (count < rows && rest == 0)
        fprintf(to, ": the %" PRIu64 " strongest of %" PRIu64 " entries", count, rows);
    else
        fprintf(to, ": %s %" PRIu64 " entr%s", rows == 1 ? "the" : "all", rows,
                rows == 1 ? "y" : "ies");
    fputs("</caption><tbody>\n", to);
    for (uint64_t i = 0; i < count; i++) {
        if (rest != 1 && decimals_vanish(entry[i].value, decimals))
            continue;
        fputs("<tr><th scope=\"row\">", to);
        page_index(to, page, n, entry[i].index);
        fputs("</th>", to);
        page_bar(to, &scale, entry[i].value);
        fputs("</tr>\n", to);
    }
    if (rest > 1)
        page_rest(to, rest, zeros, decimals, 3, rest == rows);
    fputs("</tbody></table>\n", to);
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

void page_components(FILE *to, const struct page *page)
{
    const struct ktensor *k = page->model;
    fputs("<section class=\"components\">\n<h2>Each component</h2>\n", to);
    page_overlay(to, page);
    for (uint64_t r = 0; r < k->rank; r++) {
        fprintf(to,
                "<section class=\"component\">\n<h3 id=\"c%" PRIu64 "\">Component %" PRIu64
                "<span>weight ",
                r + 1, r + 1);
        html_number(to, k->lambda[r]);
        fputs("</span></h3>\n<div class=\"modes\">\n", to);
        for (int n = 0; n < k->shape.order; n++) {
            struct top_entry entry[VIEW_BARS];
            const bool bars = page->view[n].kind == VIEW_AS_BARS;
            for (uint64_t i = 0; bars && i < k->shape.dims[n]; i++)
                entry[i] = (struct top_entry){i, k->factor[n][i * k->rank + r]};
            if (bars)
                put_entries(to, page, n, entry, k->shape.dims[n]);
            else if (page->view[n].kind == VIEW_AS_LINE)
                put_line(to, page, n, r);
            else
                put_entries(to, page, n, strongest(page, n, r), page->view[n].top.count);
        }
        fputs("</div>\n</section>\n", to);
    }
    fputs("</section>\n", to);
}
