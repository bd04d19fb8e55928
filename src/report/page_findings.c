#include "report/page_findings.h"

#include <string.h>

#include "report/html.h"
#include "report/page_record.h"

static void put_text(FILE *to, const char *text)
{
    html_text(to, text ? text : "", HTML_LINE);
}

static void put_finding(FILE *to, const struct page *page, const struct json_value *finding)
{
    const char *severity = json_text_of(json_member(page->record, finding, "severity"));
    const char *advice = json_text_of(json_member(page->record, finding, "advice"));
    if (severity && strcmp(severity, "warning") == 0)
        fputs("<strong>Warning:</strong> ", to);
    put_text(to, json_text_of(json_member(page->record, finding, "sentence")));
    fputs(advice ? "; " : "", to);
    put_text(to, advice);
}

void page_findings(FILE *to, const struct page *page)
{
    const struct json_value *findings = page_at(page, "findings", NULL);
    const struct json_value *list = findings ? findings : page_at(page, "notes", NULL);
    const struct json_value *of = list ? json_first(page->record, list) : NULL;
    if (!of)
        return;
    fputs("<h3>Warnings and advice</h3>\n<ul>", to);
    for (; of; of = json_next(page->record, of)) {
        fputs("<li>", to);
        if (findings)
            put_finding(to, page, of);
        else
            put_text(to, json_text_of(of));
        fputs("</li>\n", to);
    }
    fputs("</ul>\n", to);
}
