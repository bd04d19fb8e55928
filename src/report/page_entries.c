#include "report/page_entries.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "report/decimals.h"
#include "report/html.h"
#include "formats/names/labels.h"

#define SURELY_SHOWN 12 /* bytes of a label that has room everywhere */

int page_decimals(const struct plot_scale *scale)
{
    return decimals_for(fmax(fabs(scale->least), fabs(scale->most)), PAGE_DIGITS);
}

void page_mode(FILE *to, const struct page *page, int n)
{
    if (!page->labels->modes.of[n][0]) {
        fprintf(to, "Mode %d", n + 1);
        return;
    }
    fputs("<bdi>", to);
    html_text(to, page->labels->modes.of[n], HTML_LABEL);
    fputs("</bdi>", to);
}

void page_index(FILE *to, const struct page *page, int n, uint64_t i)
{
    const char *label = labels_get(page->labels, n, i);
    if (!label) {
        fprintf(to, "%" PRIu64, i + 1);
        return;
    }
    fputs("<bdi", to);
    if (strlen(label) > SURELY_SHOWN) {
        fputs(" title=\"", to);
        html_text(to, label, HTML_LINE);
        fputs("\"", to);
    }
    fputs(">", to);
    html_text(to, label, HTML_LABEL);
    fputs("</bdi>", to);
}

void page_rest(FILE *to, uint64_t rest, bool zeros, int decimals, int columns, bool alone)
{
    fprintf(to, "<tr><td colspan=\"%d\" class=\"rest\">%s%" PRIu64, columns, alone ? "" : "and ",
            rest);
    if (zeros)
        fputs(" zeros", to);
    else
        fprintf(to, " below %.*f", decimals + 1, 0.5 * pow(10, -decimals));
    fputs("</td></tr>\n", to);
}
