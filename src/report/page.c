#include "report/page.h"

#include <inttypes.h>
#include <string.h>

#include "report/html.h"
#include "report/page_components.h"
#include "report/page_run.h"
#include "report/page_starts.h"

static const char style[] =
    ":root{--paper:#fff;--ink:#1b1f24;--soft:#57606a;--rule:#d8dee4;--line:#0a58a8}\n"
    "@media screen and (prefers-color-scheme:dark){"
    ":root{--paper:#12161b;--ink:#e6edf3;--soft:#9fabb7;--rule:#343b43;--line:#62b3ff}}\n"
    ":root{color-scheme:light dark}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;max-width:82rem;padding:1.5rem;background:var(--paper);color:var(--ink);"
    "font:16px/1.5 system-ui,sans-serif}\n"
    "h1{margin:0;font-size:1.7rem;line-height:1.25;overflow-wrap:anywhere}\n"
    "h2{margin:2.5rem 0 .75rem;font-size:1.3rem}\n"
    "h3{margin:1.25rem 0 .75rem;font-size:1.05rem}\n"
    "h3 span{margin-left:1rem;color:var(--soft);font-weight:normal}\n"
    "a{color:var(--line)}\n"
    ".about{margin:.25rem 0 0;color:var(--soft)}\n"
    "table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}\n"
    "caption,figcaption{padding-bottom:.35rem;text-align:left;color:var(--soft);font-size:.9rem}\n"
    "th,td{padding:.15rem .9rem .15rem 0;text-align:left;vertical-align:top;font-weight:normal;"
    "overflow-wrap:anywhere}\n"
    "thead th{border-bottom:1px solid var(--rule);font-weight:600;vertical-align:bottom;"
    "overflow-wrap:normal;white-space:nowrap}\n"
    "thead td{border-bottom:1px solid var(--rule)}\n"
    ".facts th{white-space:nowrap;color:var(--soft)}\n"
    ".n{text-align:right;white-space:nowrap;overflow-wrap:normal}\n"
    ".bar{width:9rem;min-width:4rem;padding-right:0}\n"
    ".wide{overflow-x:auto}\n"
    ".wide .bar{padding-right:.9rem}\n"
    ".wide tbody td,.wide thead th{max-width:16rem;min-width:max-content}\n"
    ".wide td{white-space:nowrap;overflow:hidden;text-overflow:ellipsis}\n"
    ".wide tbody .why{max-width:24rem;white-space:normal}\n"
    ".below{margin-top:1.5rem}\n"
    "@media(max-width:40rem){body{padding:1rem}.wide .bar{display:none}}\n"
    ".bar svg{display:block;width:100%;height:.9rem;margin:.25rem 0;overflow:visible}\n"
    ".pair{display:grid;column-gap:2.5rem;grid-template-columns:"
    "repeat(auto-fit,minmax(min(100%,28rem),1fr))}\n"
    ".modes{display:grid;gap:1.5rem 2.5rem;grid-template-columns:"
    "repeat(auto-fill,minmax(min(100%,22rem),1fr));align-items:start}\n"
    ".mode{width:100%;margin:0}\n"
    ".mode .bar{width:45%}\n"
    ".mode p{margin:.25rem 0 0;font-size:.9rem;overflow-wrap:anywhere}\n"
    ".component{margin-top:1.25rem;border-top:1px solid var(--rule)}\n"
    "figure{margin:0;max-width:32rem}\n"
    ".plot{display:block;width:100%;height:auto}\n"
    "svg{fill:var(--line)}\n"
    "svg text{fill:var(--soft);font:20px system-ui,sans-serif}\n"
    ".line{fill:none;stroke:var(--line);stroke-width:2.5;stroke-linejoin:round;"
    "stroke-linecap:round}\n"
    ".area{fill:var(--line);stroke-width:1.5}\n"
    ".axis,.grid{stroke:var(--rule);stroke-width:1.5}\n"
    ".axis{stroke:var(--soft)}\n"
    "code{font-size:.85rem;overflow-wrap:anywhere}\n"
    "@media print{body{padding:0;max-width:none;font-size:10pt}a{color:inherit;"
    "text-decoration:none}section.component,figure,tr{break-inside:avoid}h2{break-after:avoid}}\n";

enum status page_check_record(const struct json_tree *record, const struct ktensor *model,
                              const char *path, struct error *error)
{
    const struct json_value *root = &record->value[0];
    const char *writer = json_text_of(json_member(record, root, "record"));
    if (!writer || strcmp(writer, "cpd") != 0)
        return error_set(error, STATUS_INPUT, "%s: not a record of blco cpd", path);
    const struct json_value *tensor = json_member(record, root, "tensor");
    const struct json_value *lengths = json_member(record, tensor, "lengths");
    const struct json_value *options = json_member(record, root, "options");
    double rank = json_number_of(json_member(record, options, "rank"));
    bool same =
        lengths && lengths->count == (size_t)model->shape.order && rank == (double)model->rank;
    const struct json_value *length = lengths ? json_first(record, lengths) : NULL;
    for (int n = 0; same && n < model->shape.order; n++) {
        same = json_number_of(length) == (double)model->shape.dims[n];
        length = json_next(record, length);
    }
    if (!same)
        return error_set(error, STATUS_INPUT,
                         "%s: the record of another model: lengths or rank are not the model's",
                         path);
    return STATUS_OK;
}

/* What follows the last slash. */
static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static void put_title(FILE *to, const char *what, const char *stem)
{
    fprintf(to, "%s ", what);
    html_text(to, name_of(stem), HTML_LABEL);
}

void page_begin(FILE *to, const char *what, const char *stem)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n"
          "<meta charset=\"utf-8\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>",
          to);
    put_title(to, what, stem);
    fprintf(to, "</title>\n<style>\n%s</style>\n</head>\n<body>\n<header>\n<h1>", style);
    put_title(to, what, stem);
    fputs("</h1>\n", to);
}

void page_end(FILE *to)
{
    fputs("</main>\n</body>\n</html>\n", to);
}

static void put_head(FILE *to, const struct page *page)
{
    page_begin(to, "CP model", page->stem);
    fprintf(to,
            "<p class=\"about\">A sum of %" PRIu64 " component%s (CP decomposition). Columns "
            "have norm 1; the weight of a component is its norm.</p>\n</header>\n<main>\n",
            page->model->rank, page->model->rank == 1 ? "" : "s");
}

enum status page_write(FILE *to, const struct page *page, struct error *error)
{
    put_head(to, page);
    fputs("<div class=\"pair\">\n", to);
    page_run(to, page);
    if (page_fits(to, page, error) != STATUS_OK)
        return error->status;
    fputs("</div>\n", to);
    page_starts(to, page);
    page_weights(to, page);
    page_components(to, page);
    page_times(to, page);
    page_end(to);
    return STATUS_OK;
}
