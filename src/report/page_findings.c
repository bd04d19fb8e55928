#include "report/page_parts.h"

#include <string.h>

#include "report/html.h"

static void put_text(FILE *to, const char *text)
{
    html_text(to, text ? text : "", HTML_LINE);
}

static void put_finding(FILE *to, const json_t *finding)
{
    const char *severity = json_string_value(json_object_get(finding, "severity"));
    const char *advice = json_string_value(json_object_get(finding, "advice"));
    if (severity && strcmp(severity, "warning") == 0)
        fputs("<strong>Warning:</strong> ", to);
    put_text(to, json_string_value(json_object_get(finding, "sentence")));
    fputs(advice ? "; " : "", to);
    put_text(to, advice);
}

void page_findings(FILE *to, const struct page *page)
{
    const json_t *findings = page_at(page, "findings", NULL), *finding;
    size_t i;
    if (json_array_size(findings) == 0)
        return;
    fputs("<h3>Warnings and advice</h3>\n<ul>", to);
    json_array_foreach(findings, i, finding) {
        fputs("<li>", to);
        put_finding(to, finding);
        fputs("</li>\n", to);
    }
    fputs("</ul>\n", to);
}
