#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/memory.h"
#include "base/shell_word.h"
#include "model/fit_text.h"
#include "report/html.h"
#include "report/page.h"
#include "report/page_parts.h"
#include "report/plot.h"

static const json_t *at(const struct page_ranks *page, const char *name)
{
    return json_object_get(page->file, name);
}

enum status page_ranks_check(const json_t *file, const char *path, struct error *error)
{
    const char *writer = json_text_at(file, "record");
    const json_t *ranks = json_object_get(file, "ranks"), *rank;
    size_t i;
    if (!writer || strcmp(writer, "ranks") != 0 || json_array_size(ranks) == 0)
        return error_set(error, STATUS_INPUT, "%s: not the table of a range of ranks", path);
    json_array_foreach(ranks, i, rank) {
        double number = json_number_at(rank, "rank");
        if (!(number >= 1 && number < 0x1p53 && number == floor(number)))
            return error_set(error, STATUS_INPUT, "%s: a row of the table names no rank", path);
    }
    return STATUS_OK;
}

#define AGREEMENT "" /* the number of a rank that the file has no name for */

/* A number of a rank, NaN where it has none. AGREEMENT: how many per cent of the other starts
 * agree. */
static double number_of(const json_t *rank, const char *name)
{
    return *name ? json_number_at(rank, name)
                 : 100 * json_number_at(rank, "agreeing_starts") /
                       json_number_at(rank, "other_starts");
}

/* Whether some rank has such a number. */
static bool any(const struct page_ranks *page, const char *name)
{
    const json_t *ranks = at(page, "ranks"), *rank;
    bool found = false;
    size_t i;
    json_array_foreach(ranks, i, rank)
        found = found || isfinite(number_of(rank, name));
    return found;
}

/* What the file says of the ranks, and with it the columns of the table. */
struct known {
    const char *error;       /* the name of held-out errors, or NULL        */
    bool core, core_column;  /* core consistencies, and a column for them   */
    bool halves, replicates; /* scores of the halves, of other replicates   */
};

static struct known find_known(const struct page_ranks *page)
{
    struct known k = {.error = any(page, "held_out_rmse")       ? "held_out_rmse"
                               : any(page, "held_out_deviance") ? "held_out_deviance"
                                                                : NULL,
                      .core = any(page, "core_consistency"),
                      .halves = any(page, "split_half_score"),
                      .replicates = any(page, "replication_score")};
    k.core_column = k.core || !k.error;
    return k;
}

/* --- the suggestion, and what was run --- */

static void put_suggestion(FILE *to, const struct page_ranks *page, const struct known *known)
{
    const char *suggestion = json_string_value(at(page, "suggestion"));
    const json_t *complete = at(page, "complete");
    const bool sought = known->halves || known->replicates || any(page, AGREEMENT);
    html_print(to, HTML_LINE, "<section>\n<h2>Which rank?</h2>\n<p><strong>%s</strong></p>\n",
               suggestion);
    if (complete && !json_is_true(complete))
        fputs("<p>Not all ranks were tried before the end of the run.</p>\n", to);
    fprintf(to,
            "<p>The fit grows with every component, so that it cannot tell the right rank alone. "
            "%s%s</p>\n</section>\n",
            sought
                ? "A model that is not found again, by other starts, in both halves of the tensor "
                  "or where some slices are left out, may be an accident, and its rank is not "
                  "suggested. "
                : "",
            known->error
                ? "The suggestion follows the held-out error, at entries that did not make the "
                  "models."
            : sought      ? ""
            : known->core ? "The suggestion follows the core consistency; sparse counts often have "
                            "components that mean something although it is low."
                          : "The core consistency is not known, which a suggestion could follow.");
}

static void put_run(FILE *to, const struct page_ranks *page)
{
    const json_t *lengths = json_object_get(at(page, "tensor"), "lengths");
    const size_t order = json_array_size(lengths);
    fputs("<section>\n<h2>The run</h2>\n<table class=\"facts\"><caption>What was "
          "run</caption><tbody>\n",
          to);
    page_fact(to, "Tensor", json_text_at(at(page, "tensor"), "name"));
    if (order > 0)
        page_fact_begin(to, "Lengths");
    for (size_t n = 0; n < order; n++) {
        fputs(n > 0 ? " &#215; " : "", to);
        html_number(to, json_number_of(json_array_get(lengths, n)));
    }
    if (order > 0)
        page_fact_end(to);
    page_fact(to, "Date", json_string_value(at(page, "date")));
    page_fact(to, "Program", json_string_value(at(page, "version")));
    fputs("</tbody></table>\n</section>\n", to);
}

/* --- plots --- */

#define ERROR_TITLE "Held-out error against rank"
#define ERROR_MEANING                                                                              \
    "The error (RMSE, or of counts the mean deviance) at entries that did not make the model. It " \
    "grows where a model overfits."

/* A number of the ranks that is drawn against them. */
struct quantity {
    const char *name, *title, *meaning;
    double top;         /* the axis reaches from 0 to this; 0: as far as the numbers do */
    const char *points; /* the name of an array of a rank, whose numbers are points; NULL: none */
};

static const struct quantity quantities[] = {
    {"fit", "Fit against rank", "A fit of 1 is an exact model.", 0, NULL},
    {"held_out_rmse", ERROR_TITLE, ERROR_MEANING, 0, NULL},
    {"held_out_deviance", ERROR_TITLE, ERROR_MEANING, 0, NULL},
    {"split_half_score", "Score of the halves against rank",
     "How alike the components of two halves of the tensor are: 1 is the same. It falls where some "
     "of them are not in both.",
     1, NULL},
    {"replication_score", "Scores of the replicates against rank",
     "How alike the components of two replicates are, each of which lacks another part of the "
     "slices of a mode: 1 is the same. A point is a pair; the line goes through the medians. It "
     "falls where some components are not found again.",
     1, "replication_scores"},
    {"core_consistency", "Core consistency against rank",
     "Near 100, each component is meaningful on its own; about 50 is doubtful; near 0 or below, "
     "they only describe the tensor together, mostly because there are too many of them. Values "
     "below 0 are drawn at 0.",
     100, NULL},
    {AGREEMENT, "Starts that agree with the best, in per cent, against rank",
     "Where few agree, the result depends on the start.", 100, NULL}};

static enum status draw(FILE *to, const json_t *ranks, const struct quantity *q, double *value,
                        struct error *error)
{
    const size_t count = json_array_size(ranks);
    const json_t *rank;
    double lowest = json_number_at(json_array_get(ranks, 0), "rank");
    char ends[2][32];
    struct plot_scale scale = q->top > 0 ? (struct plot_scale){0, q->top} : plot_scale_none();
    size_t i, known = 0;
    json_array_foreach(ranks, i, rank) {
        value[i] = number_of(rank, q->name);
        known += isfinite(value[i]) != 0;
        plot_scale_add(&scale, q->top > 0 ? 0 : value[i]);
    }
    if (known == 0)
        return STATUS_OK;
    size_t points = 0;
    json_array_foreach(ranks, i, rank)
        points += q->points ? json_array_size(json_object_get(rank, q->points)) : 0;
    struct plot_point *point = memory_array(points, sizeof *point, error);
    TRY(error->status);
    points = 0;
    json_array_foreach(ranks, i, rank) {
        const json_t *numbers = q->points ? json_object_get(rank, q->points) : NULL, *number;
        size_t k;
        json_array_foreach(numbers, k, number)
            point[points++] = (struct plot_point){i, json_number_of(number)};
    }
    plot_scale_finish(&scale);
    snprintf(ends[0], sizeof ends[0], "rank %.0f", lowest);
    snprintf(ends[1], sizeof ends[1], "rank %.0f",
             json_number_at(json_array_get(ranks, count - 1), "rank"));
    struct plot_tick tick[PLOT_TICKS];
    const struct plot_line plot = {.title = q->title,
                                   .about = "The table below has the numbers.",
                                   .first = ends[0],
                                   .last = ends[1],
                                   .count = count,
                                   .stride = 1,
                                   .low = value,
                                   .high = value,
                                   .marks = 1,
                                   .point = point,
                                   .points = points,
                                   .scale = scale,
                                   .tick = tick,
                                   .ticks = plot_inner_ticks(tick, lowest, 1, count, count)};
    fprintf(to, "<figure><figcaption>%s</figcaption>\n", q->title);
    plot_line(to, &plot);
    fprintf(to, "<p class=\"about\">%s</p>\n</figure>\n", q->meaning);
    memory_free(point);
    return STATUS_OK;
}

/* --- the table --- */

/* A file beside the page; in a link, a name that begins like "a:" would be an address. */
static void put_link(FILE *to, const char *name, const char *shown)
{
    fputs("<a href=\"./", to);
    for (const char *c = name; *c; c++)
        if ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
            *c == '.' || *c == '-' || *c == '_')
            fputc(*c, to);
        else
            fprintf(to, "%%%02X", (unsigned char)*c);
    html_print(to, HTML_LABEL, "\">%s</a>", shown);
}

/* The cell of a number that is written as by printf, or not known. */
static void put_cell(FILE *to, bool known, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void put_cell(FILE *to, bool known, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("<td class=\"n\">", to);
    vfprintf(to, known ? format : "not known", args);
    fputs("</td>", to);
    va_end(args);
}

/* A row of the table: fit, held-out error, core consistency, the starts that agree, the halves
 * ("0.9929, 3 alike") or the replicates; a link to the page of the model if there is one, or the
 * command that makes it; files. */
static enum status put_rank(FILE *to, const struct page_ranks *page, const struct known *known,
                            const json_t *rank, bool made, struct error *error)
{
    const double number = json_number_at(rank, "rank"), fit = json_number_at(rank, "fit"),
                 ridge = json_number_at(rank, "ridge"),
                 core = json_number_at(rank, "core_consistency"),
                 agree = json_number_at(rank, "agreeing_starts"),
                 others = json_number_at(rank, "other_starts"),
                 halves = json_number_at(rank, "split_half_score"),
                 replicates = json_number_at(rank, "replication_score"),
                 again = json_number_at(rank, "replication_alike");
    char text[FIT_TEXT], word[SHELL_WORD_ROOM(HTML_LINE)];
    const char *failure = json_text_at(rank, "failure");
    fprintf(to, "<tr><th scope=\"row\" class=\"n\">%.0f%s</th>", number,
            json_number_of(at(page, "suggested")) == number ? ", <strong>suggested</strong>" : "");
    if (failure) {
        fprintf(to, "<td colspan=\"%d\" class=\"why\">",
                4 + !!known->error + known->core_column + (known->halves || known->replicates));
        html_print(to, HTML_LINE, "failed: %s</td></tr>\n", failure);
        return STATUS_OK;
    }
    put_cell(to, true, "%s",
             isfinite(fit) ? fit_text(fit, json_number_at(rank, "fit_noise"), 6, text) : "");
    if (known->error) {
        const bool rmse = strcmp(known->error, "held_out_rmse") == 0;
        const double holdout_error = json_number_at(rank, known->error);
        text[0] = '\0';
        if (isfinite(ridge))
            snprintf(text, sizeof text, ", ridge %g", ridge);
        put_cell(to, isfinite(holdout_error), "%.4g &#177; %.1g%s", holdout_error,
                 json_number_at(rank, rmse ? "held_out_rmse_error" : "held_out_deviance_error"),
                 text);
    }
    if (known->core_column && isfinite(core)) {
        fputs("<td class=\"n\">", to);
        page_core(to, core, json_number_at(rank, "core_consistency_error"));
        fputs("</td>", to);
    } else if (known->core_column) {
        put_cell(to, false, "%s", "");
    }
    if (others > 0 && isfinite(agree))
        put_cell(to, true, "%g of %g", agree, others);
    else
        put_cell(to, true, "%s", "");
    if (known->halves)
        put_cell(to, isfinite(halves), "%.4f, %.0f alike", halves,
                 json_number_at(rank, "split_half_alike"));
    else if (known->replicates)
        put_cell(to, isfinite(replicates) && isfinite(again), "%.4f, %.0f found again", replicates,
                 again);
    char *path = memory_text(error, "%s.r%.0f.html", made ? page->base : "", number);
    char *model = memory_text(error, "%s.r%.0f", page->stem, number);
    TRY_OR(done, error->status);
    fputs("<td>", to);
    if (made)
        put_link(to, path, page_file_name(model));
    else
        html_print(to, HTML_LINE, "<code>blco report %s</code>",
                   shell_word(model, word, sizeof word));
    fputs("</td><td class=\"why\">", to);
    const json_t *files = json_object_get(rank, "files"), *file;
    size_t i;
    json_array_foreach(files, i, file) {
        const char *name = page_file_name(json_is_string(file) ? json_string_value(file) : "");
        fputs(i > 0 ? " " : "", to);
        if (page->beside)
            put_link(to, name, name);
        else
            html_text(to, name, HTML_LABEL);
    }
    fputs("</td></tr>\n", to);
done:
    memory_free(path, model);
    return error->status;
}

enum status page_ranks_write(FILE *to, const struct page_ranks *page, struct error *error)
{
    const json_t *ranks = at(page, "ranks"), *rank;
    const struct known known = find_known(page);
    const char *heading[8] = {"#Rank", "#Fit"};
    int headings = 2;
    size_t i;
    page_begin(to, "Ranks of", page->stem);
    fputs("<p class=\"about\">Models of several ranks of one tensor, side by side (CP "
          "decomposition).</p>\n</header>\n<main>\n",
          to);
    put_suggestion(to, page, &known);
    double *value = memory_array(json_array_size(ranks), sizeof *value, error);
    TRY(error->status);
    fprintf(to, "<section>\n<h2>Fit%s and agreement</h2>\n<div class=\"modes\">\n",
            known.error  ? ", held-out error"
            : known.core ? ", core consistency"
                         : "");
    for (i = 0; i < sizeof quantities / sizeof *quantities; i++)
        draw(to, ranks, &quantities[i], value, error);
    fputs("</div>\n</section>\n", to);
    memory_free(value);
    TRY(error->status);
    if (known.error)
        heading[headings++] = "#Held-out error";
    if (known.core_column)
        heading[headings++] = "#Core consistency";
    heading[headings++] = "#Starts that agree";
    if (known.halves || known.replicates)
        heading[headings++] = known.halves ? "#Halves" : "#Replicates";
    heading[headings++] = "Page";
    heading[headings++] = "Files";
    fputs("<section>\n<h2>The ranks</h2>\n", to);
    page_table_begin(to, "wide",
                     "The best model of each rank, and how many of the other starts lead to its "
                     "components",
                     heading, headings);
    json_array_foreach(ranks, i, rank)
        TRY(put_rank(to, page, &known, rank, page->made && page->made[i], error));
    page_table_end(to);
    if (known.error && isfinite(json_number_of(at(page, "baseline_slices"))))
        fprintf(
            to,
            "<p class=\"about\">Without a model, the held-out error is %.4g of the mean, and %.4g "
            "of the means of slices.</p>\n",
            json_number_of(at(page, "baseline_mean")), json_number_of(at(page, "baseline_slices")));
    fputs("</section>\n", to);
    put_run(to, page);
    page_end(to);
    return STATUS_OK;
}
