#include "report/page_parts.h"

#include <math.h>

#include "model/fit_text.h"
#include "report/html.h"

static void put_cell(FILE *to, double x, int decimals)
{
    fputs("<td class=\"n\">", to);
    html_decimals(to, x, decimals);
    fputs("</td>", to);
}

static void put_fit(FILE *to, double fit, double noise)
{
    char text[FIT_TEXT];
    fputs("<td class=\"n\">", to);
    if (isfinite(fit))
        fputs(fit_text(fit, noise, 6, text), to);
    else
        html_number(to, fit);
    fputs("</td>", to);
}

/* The cells of fit and score, or, of a start without a model, why there is none. */
static void put_outcome(FILE *to, const struct page *page, const json_t *start)
{
    const char *breakdown = json_string_value(json_object_get(start, "breakdown"));
    double fit = json_number_of(json_object_get(start, "fit"));
    double score = json_number_of(json_object_get(start, "score_with_best"));
    if (breakdown) {
        fputs("<td colspan=\"2\" class=\"why\">broke down: ", to);
        html_text(to, breakdown, HTML_LINE);
        fputs("</td>", to);
        return;
    }
    double noise = json_number_of(json_object_get(start, "fit_noise"));
    put_fit(to, fit, noise);
    if (score == 1 && fit == page_number_at(page, "result", "fit"))
        fputs("<td class=\"n\"><strong>the best</strong></td>", to);
    else
        put_cell(to, score, 6);
}

static void put_start(FILE *to, const struct page *page, const json_t *start)
{
    double seed = json_number_of(json_object_get(start, "seed"));
    fputs("<tr><th scope=\"row\" class=\"n\">", to);
    if (isfinite(seed))
        fprintf(to, "%.0f", seed);
    fputs("</th>", to);
    put_cell(to, json_number_of(json_object_get(start, "iterations")), 0);
    put_outcome(to, page, start);
    fputs("</tr>\n", to);
}

void page_starts(FILE *to, const struct page *page)
{
    const json_t *starts = page_at(page, "starts", NULL);
    const json_t *start;
    size_t i;
    if (json_array_size(starts) < 2)
        return;
    fputs("<section>\n<h2>Agreement of the starts</h2>\n<div class=\"wide\"><table><caption>The "
          "model of each start, and how alike it is to the best one: a score of 1 is the same "
          "model</caption>\n<thead><tr><th scope=\"col\" class=\"n\">Seed</th><th scope=\"col\" "
          "class=\"n\">Iterations</th><th scope=\"col\" class=\"n\">Fit</th><th scope=\"col\" "
          "class=\"n\">Score</th></tr></thead>\n<tbody>",
          to);
    json_array_foreach(starts, i, start)
        put_start(to, page, start);
    fputs("</tbody></table></div>\n</section>\n", to);
}
