#include "report/page.h"

#include <inttypes.h>
#include <string.h>

#include "report/html.h"

enum status page_check_record(const json_t *record, const struct ktensor *model, const char *path,
                              struct error *error)
{
    const char *writer = json_text_at(record, "record");
    if (!writer || strcmp(writer, "cpd") != 0)
        return error_set(error, STATUS_INPUT, "%s: not a record of blco cpd", path);
    const json_t *tensor = json_object_get(record, "tensor");
    const json_t *lengths = json_object_get(tensor, "lengths");
    const json_t *options = json_object_get(record, "options");
    double rank = json_number_at(options, "rank");
    bool same =
        json_array_size(lengths) == (size_t)model->shape.order && rank == (double)model->rank;
    for (int n = 0; same && n < model->shape.order; n++)
        same = json_number_of(json_array_get(lengths, (size_t)n)) == (double)model->shape.dims[n];
    if (!same)
        return error_set(error, STATUS_INPUT,
                         "%s: the record of another model: lengths or rank are not the model's",
                         path);
    return STATUS_OK;
}

const char *page_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

void page_begin(FILE *to, const char *what, const char *stem)
{
    const char *name = page_file_name(stem);
    fputs("<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n"
          "<meta charset=\"utf-8\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n",
          to);
    html_print(to, HTML_LABEL, "<title>%s %s</title>\n<style>\n", what, name);
    fputs(page_style_screen, to);
    fputs(page_style_paper, to);
    html_print(to, HTML_LABEL, "</style>\n</head>\n<body>\n<header>\n<h1>%s %s</h1>\n", what, name);
}

void page_end(FILE *to)
{
    fputs("</main>\n</body>\n</html>\n", to);
}

enum status page_write(FILE *to, const struct page *page, struct error *error)
{
    page_begin(to, "CP model", page->stem);
    fprintf(to,
            "<p class=\"about\">A sum of %" PRIu64 " component%s (CP decomposition). Columns "
            "have norm 1; the weight of a component is its norm.</p>\n</header>\n<main>\n"
            "<div class=\"pair\">\n",
            page->model->rank, page->model->rank == 1 ? "" : "s");
    page_run(to, page);
    TRY(page_convergence(to, page, error));
    fputs("</div>\n", to);
    page_starts(to, page);
    page_weights(to, page);
    page_components(to, page);
    page_times(to, page);
    page_end(to);
    return STATUS_OK;
}
