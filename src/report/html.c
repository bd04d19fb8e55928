#include "report/html.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/utf8.h"

#define UTF8_LONGEST 4 /* bytes of a character */

/* As wide as a figure and as a point. */
#define FIGURE_SPACE "\u2007"
#define POINT_SPACE  "\u2008"

void html_text(FILE *to, const char *text, size_t most)
{
    static const char special[] = "<>&\"'";
    static const char *const reference[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&#39;"};
    char shown[PRINTABLE_ROOM(UTF8_LONGEST * HTML_LINE)];
    printable(text, shown, sizeof shown); /* has room for more columns than `most` */
    size_t end = utf8_fit(shown, most);
    for (size_t i = 0; i < end; i++) {
        const char *at = strchr(special, shown[i]);
        if (at)
            fputs(reference[at - special], to);
        else
            fputc(shown[i], to);
    }
    if (shown[end])
        fputs("\u2026", to);
}

void html_print(FILE *to, size_t most, const char *markup, ...)
{
    va_list texts;
    va_start(texts, markup);
    for (const char *hole; (hole = strstr(markup, "%s")); markup = hole + strlen("%s")) {
        const char *text = va_arg(texts, const char *);
        fwrite(markup, 1, (size_t)(hole - markup), to);
        if (text)
            html_text(to, text, most);
    }
    va_end(texts);
    fputs(markup, to);
}

void html_number(FILE *to, double x)
{
    if (isfinite(x))
        fprintf(to, fabs(x) >= 1e4 && fabs(x) < 1e7 ? "%.0f" : "%.4g", x + 0.0); /* no -0 */
    else
        fputs(isnan(x) ? "not a number" : x < 0 ? "-infinite" : "infinite", to);
}

void html_number_of(FILE *to, const struct number_column *c, double x)
{
    char text[NUMBER_SHOWN_ROOM];
    if (!isfinite(x) && !(c->logarithms && x < 0)) {
        html_number(to, x);
        return;
    }
    number_column_show(c, x, text);
    const size_t shown = strcspn(text, " ");
    fprintf(to, "%.*s", (int)shown, text);
    for (const char *blank = text + shown; *blank; blank++)
        fputs(blank == text + shown && !strchr(text, '.') ? POINT_SPACE : FIGURE_SPACE, to);
}

void html_decimals(FILE *to, double x, int decimals)
{
    char text[DECIMALS_ROOM];
    if (isfinite(x))
        fputs(decimals_show(x, decimals, text), to);
    else
        html_number(to, x);
}
