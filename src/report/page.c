#include "report/page.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "model/fit_text.h"
#include "report/html.h"

#define NORM_TOLERANCE 1e-4 /* numbers in single precision, too */
#define TOGETHER       8    /* columns that are read together: what a cache line has */

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

enum columns_norm { COLUMNS_ANY, COLUMNS_SUM, COLUMNS_LENGTH };

/* What all columns but those of zeros have in common: 2-norm 1; the sum 1; nothing. Columns of
 * fixed modes may have another norm than STEM.model.json says. */
static enum columns_norm columns_norm(const struct ktensor *k)
{
    bool length = true, total = true;
    for (int n = 0; n < k->shape.order; n++)
        for (uint64_t first = 0; first < k->rank && (length || total); first += TOGETHER) {
            const uint64_t count = k->rank - first < TOGETHER ? k->rank - first : TOGETHER;
            double sum[TOGETHER] = {0}, squares[TOGETHER] = {0};
            for (uint64_t i = 0; i < k->shape.dims[n]; i++)
                for (uint64_t c = 0; c < count; c++) {
                    const double a = k->factor[n][i * k->rank + first + c];
                    sum[c] += a;
                    squares[c] += a * a;
                }
            for (uint64_t c = 0; c < count; c++) {
                length = length && (squares[c] == 0 || fabs(squares[c] - 1) < 2 * NORM_TOLERANCE);
                total = total && (squares[c] == 0 || fabs(sum[c] - 1) < NORM_TOLERANCE);
            }
        }
    return length ? COLUMNS_LENGTH : total ? COLUMNS_SUM : COLUMNS_ANY;
}

/* What the page is about, in two paragraphs. */
static void put_about(FILE *to, const struct page *page)
{
    static const char *const norms[] = {
        [COLUMNS_ANY] = "Columns and weights are those of the model&#8217;s files; the columns "
                        "have no norm in common, so that a weight alone does not tell how large "
                        "its component is.",
        [COLUMNS_SUM] = ("Columns add up to 1; the weight of a component is the sum of its values "
                         "over all cells."),
        [COLUMNS_LENGTH] = "Columns have norm 1; the weight of a component is its norm."};
    const char *tensor = page_text_at(page, "tensor", "name");
    const double fit = page_number_at(page, "result", "fit");
    char share[SHARE_TEXT];
    fprintf(to, "<p class=\"about\">A sum of %" PRIu64 " component%s (CP decomposition)",
            page->model->rank, page->model->rank == 1 ? "" : "s");
    if (isfinite(fit))
        html_print(to, HTML_LABEL, tensor ? ", which explains %s of %s" : ", which explains %s",
                   fit_share_text(fit, page_has_likelihood(page), share),
                   tensor ? page_file_name(tensor) : NULL);
    fprintf(to, ".</p>\n<p class=\"about\">%s</p>\n", norms[columns_norm(page->model)]);
}

enum status page_write(FILE *to, const struct page *page, struct error *error)
{
    page_begin(to, "CP model", page->stem);
    put_about(to, page);
    fputs("</header>\n<main>\n", to);
    page_residuals(to, page);
    page_weights(to, page);
    page_components(to, page);
    page_trust(to, page);
    page_starts(to, page);
    fputs("<div class=\"pair\">\n", to);
    page_run(to, page);
    TRY(page_convergence(to, page, error));
    fputs("</div>\n", to);
    page_times(to, page);
    page_end(to);
    return STATUS_OK;
}
