#include "report/page_parts.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>

#include "report/html.h"

#define STEPS 100 /* of the line of the calibration                          */
#define CHANCE                                                                                     \
    1.36 /* Kolmogorov's distance times the root of the number of values: exceeded by              \
          * chance in one of twenty cases */

/* A table whose rows are those that a terminal shows. Nothing where there are none. The caption
 * begins with the name of a table's only mode. */
static void put_table(FILE *to, const struct page *page, const struct text_table *t,
                      const char *class, const char *caption)
{
    struct number_column shown[TABLE_NUMBERS];
    uint64_t index[MAX_ORDER];
    double number[TABLE_NUMBERS];
    if (t->rows == 0)
        return;
    text_table_columns(t, shown);
    fprintf(to, "<div class=\"%s\"><table><caption>", class);
    if (t->modes == 1)
        page_mode(to, page, t->mode[0]);
    fprintf(to, "%s</caption>\n<thead><tr>", caption);
    for (int k = 0; k < t->modes; k++) {
        fputs("<th scope=\"col\">", to);
        page_mode(to, page, t->mode[k]);
        fputs("</th>", to);
    }
    for (int k = 0; k < t->numbers; k++) { /* "Value", but "p" */
        const char *heading = t->column[k].heading;
        fprintf(to, "<th scope=\"col\" class=\"n\">%c%s</th>",
                heading[1] ? toupper(heading[0]) : heading[0], heading + 1);
    }
    fputs("</tr></thead>\n<tbody>", to);
    for (uint64_t row = 0; row < t->rows; row++) {
        t->row(t, row, index, number);
        fputs("<tr>", to);
        for (int k = 0; k < t->modes; k++) {
            fputs(k == 0 ? "<th scope=\"row\">" : "<td>", to);
            page_index(to, page, t->mode[k], index[k]);
            fputs(k == 0 ? "</th>" : "</td>", to);
        }
        for (int k = 0; k < t->numbers; k++)
            page_cell_of(to, &shown[k], number[k]);
        fputs("</tr>\n", to);
    }
    fputs("</tbody></table></div>\n", to);
}

/* The share of counts in the lowest parts of their distributions against these parts. */
static void put_calibration(FILE *to, const struct residuals *r)
{
    static const struct plot_tick tick[] = {{.place = .2, .number = "0.2"},
                                            {.place = .4, .number = "0.4"},
                                            {.place = .6, .number = "0.6"},
                                            {.place = .8, .number = "0.8"}};
    double share[STEPS + 1], below = 0, distance = 0;
    char about[160];
    if (r->placed == 0)
        return;
    share[0] = 0;
    for (int k = 0; k < PLACES; k++) {
        below += (double)r->place[k] / (double)r->placed;
        distance = fmax(distance, fabs(below - (k + 1.0) / PLACES));
        if ((k + 1) % (PLACES / STEPS) == 0)
            share[(k + 1) / (PLACES / STEPS)] = below;
    }
    snprintf(about, sizeof about,
             "A line from 0 to 1; its largest distance from the diagonal is %.3g.", distance);
    const struct plot_line plot = {.title = "Calibration",
                                   .about = about,
                                   .first = "0",
                                   .last = "1",
                                   .count = STEPS + 1,
                                   .stride = 1,
                                   .low = share,
                                   .high = share,
                                   .diagonal = true,
                                   .scale = {0, 1},
                                   .tick = tick,
                                   .ticks = sizeof tick / sizeof *tick};
    fputs("<h3>Calibration</h3>\n<figure><figcaption>Share of the listed counts in the lowest part "
          "of the distribution that the model gives them, against this part</figcaption>\n",
          to);
    plot_line(to, &plot);
    fprintf(
        to,
        "</figure>\n<p class=\"about\">Where the model is right, the line is the diagonal. Steep "
        "ends mean that counts vary more than Poisson counts of the model&#8217;s rates do, flat "
        "ends that they vary less; then p-values are too small, or too large. The largest "
        "distance from the diagonal is %.2g, of %" PRIu64 " counts; by chance it exceeds %.2g in "
        "one of twenty cases. ",
        distance, r->placed, CHANCE / sqrt((double)r->placed));
    fputs("Counts are whole numbers: each has a place at random within its own probability", to);
    fputs(r->zeros ? ", among counts of 1 or more.</p>\n" : ".</p>\n", to);
}

void page_residuals(FILE *to, const struct page *page)
{
    const struct residuals *r = page->residuals;
    char text[RESIDUAL_TEXT];
    if (!r)
        return;
    html_print(to, HTML_LABEL, "<section>\n<h2 id=\"residuals\">Residuals of %s</h2>\n<p>%s.",
               page->tensor, residual_text(r, text));
    if (*residual_alarms(r, text))
        html_print(
            to, HTML_LINE,
            " %s. The adjusted p is the share of chance to expect among the cells that are as "
            "strange, or stranger.</p>\n",
            text);
    else
        fputs(" Squares assume no distribution of the residuals, so that there are no "
              "p-values.</p>\n",
              to);
    const struct text_table entries = residual_entries_table(r), absent = residual_absent_table(r);
    put_table(to, page, &entries, "wide", "Strangest entries");
    put_table(to, page, &absent, "wide below", "Strangest unlisted entries");
    fputs("<h3>Strangest slices</h3>\n<div class=\"modes\">\n", to);
    for (int n = 0; n < r->shape.order; n++) {
        const struct text_table slices = residual_slices_table(r, n);
        put_table(to, page, &slices, "mode", ": the largest sums of squared residuals");
    }
    fputs("</div>\n", to);
    put_calibration(to, r);
    fputs("</section>\n", to);
}
