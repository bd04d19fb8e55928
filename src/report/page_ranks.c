#include <math.h>
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

static double holdout_error(const json_t *rank)
{
    const double rmse = json_number_at(rank, "held_out_rmse");
    return isfinite(rmse) ? rmse : json_number_at(rank, "held_out_deviance");
}

/* The score of the two halves of the tensor, and the median score of other replicates. */
static double halves(const json_t *rank)
{
    return json_number_at(rank, "split_half_score");
}

static double replicates(const json_t *rank)
{
    return json_number_at(rank, "replication_score");
}

static double core(const json_t *rank)
{
    return json_number_at(rank, "core_consistency");
}

/* Whether some rank has such a number. */
static bool any(const struct page_ranks *page, double (*value)(const json_t *rank))
{
    const json_t *ranks = at(page, "ranks"), *rank;
    bool found = false;
    size_t i;
    json_array_foreach(ranks, i, rank)
        found = found || isfinite(value(rank));
    return found;
}

/* How many per cent of the other starts agree; NaN where there is one start. */
static double agreement(const json_t *rank)
{
    return 100 * json_number_at(rank, "agreeing_starts") / json_number_at(rank, "other_starts");
}

/* --- the suggestion, and what was run --- */

static void put_suggestion(FILE *to, const struct page_ranks *page)
{
    const char *suggestion = json_string_value(at(page, "suggestion"));
    const json_t *complete = at(page, "complete");
    const bool sought = any(page, halves) || any(page, replicates) || any(page, agreement);
    html_print(to, HTML_LINE, "<section>\n<h2>Which rank?</h2>\n<p><strong>%s</strong></p>\n",
               suggestion);
    if (complete && !json_is_true(complete))
        fputs("<p>Not all ranks were tried before the end of the run.</p>\n", to);
    fprintf(
        to,
        "<p>The fit grows with every component, so that it cannot tell the right rank alone. "
        "%s%s</p>\n</section>\n",
        sought ? "A model that is not found again, by other starts, in both halves of the tensor "
                 "or where some slices are left out, may be an accident, and its rank is not "
                 "suggested. "
               : "",
        any(page, holdout_error)
            ? "The suggestion follows the held-out error, at entries that did not make the "
              "models."
        : sought          ? ""
        : any(page, core) ? "The suggestion follows the core consistency; sparse counts often have "
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

static double fit(const json_t *rank)
{
    return json_number_at(rank, "fit");
}

/* A quantity of a rank that is drawn against it. */
struct quantity {
    double (*value)(const json_t *rank);
    const char *title, *meaning;
    double top;         /* the axis reaches from 0 to this; 0: as far as the numbers do */
    const char *points; /* the name of an array of a rank, whose numbers are points; NULL: none */
};

static const struct quantity quantities[] = {
    {fit, "Fit against rank", "A fit of 1 is an exact model.", 0, NULL},
    {holdout_error, "Held-out error against rank",
     "The error (RMSE, or of counts the mean deviance) at entries that did not make the model. It "
     "grows where a model overfits.",
     0, NULL},
    {halves, "Score of the halves against rank",
     "How alike the components of two halves of the tensor are: 1 is the same. It falls where some "
     "of them are not in both.",
     1, NULL},
    {replicates, "Scores of the replicates against rank",
     "How alike the components of two replicates are, each of which lacks another part of the "
     "slices of a mode: 1 is the same. A point is a pair; the line goes through the medians. It "
     "falls where some components are not found again.",
     1, "replication_scores"},
    {core, "Core consistency against rank",
     "Near 100, each component is meaningful on its own; about 50 is doubtful; near 0 or below, "
     "they only describe the tensor together, mostly because there are too many of them. Values "
     "below 0 are drawn at 0.",
     100, NULL},
    {agreement, "Starts that agree with the best, in per cent, against rank",
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
        value[i] = q->value(rank);
        known += isfinite(value[i]) != 0;
        plot_scale_add(&scale, q->top > 0 ? 0 : value[i]);
    }
    if (known == 0)
        return STATUS_OK;
    struct plot_point *point = NULL;
    size_t points = 0;
    json_array_foreach(ranks, i, rank)
        points += q->points ? json_array_size(json_object_get(rank, q->points)) : 0;
    point = memory_array(points, sizeof *point, error);
    TRY(error->status);
    points = 0;
    json_array_foreach(ranks, i, rank) {
        const json_t *of_rank = q->points ? json_object_get(rank, q->points) : NULL, *number;
        size_t k;
        json_array_foreach(of_rank, k, number)
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

/* A link to the page of the model if there is one, or the command that makes it. */
static enum status put_page(FILE *to, const struct page_ranks *page, double rank, bool made,
                            struct error *error)
{
    char word[SHELL_WORD_ROOM(HTML_LINE)];
    char *path = NULL, *model = memory_text(error, "%s.r%.0f", page->stem, rank);
    if (!model)
        goto done;
    path = memory_text(error, "%s.r%.0f.html", made ? page->base : "", rank);
    if (!path)
        goto done;
    if (made) {
        put_link(to, path, page_file_name(model));
    } else {
        html_print(to, HTML_LINE, "<code>blco report %s</code>",
                   shell_word(model, word, sizeof word));
    }
done:
    memory_free(path, model);
    return error->status;
}

static bool has_core_column(const struct page_ranks *page)
{
    return any(page, core) || !any(page, holdout_error);
}

/* A row of the table: fit, held-out error, core consistency, the starts that agree, the
 * halves ("0.9929, 3 alike") or the replicates, page and files. */
static enum status put_rank(FILE *to, const struct page_ranks *page, const json_t *rank, bool made,
                            struct error *error)
{
    const double number = json_number_at(rank, "rank"), noise = json_number_at(rank, "fit_noise"),
                 ridge = json_number_at(rank, "ridge"),
                 rmse_error = json_number_at(rank, "held_out_rmse_error"),
                 agree = json_number_at(rank, "agreeing_starts"),
                 others = json_number_at(rank, "other_starts");
    char text[FIT_TEXT];
    const bool suggested = json_number_of(at(page, "suggested")) == number;
    const bool errors = any(page, holdout_error), cores = has_core_column(page);
    const char *failure = json_text_at(rank, "failure");
    fprintf(to, "<tr><th scope=\"row\" class=\"n\">%.0f%s</th>", number,
            suggested ? ", <strong>suggested</strong>" : "");
    if (failure) {
        fprintf(to, "<td colspan=\"%d\" class=\"why\">",
                4 + errors + cores + (any(page, halves) || any(page, replicates)));
        html_print(to, HTML_LINE, "failed: %s</td></tr>\n", failure);
        return STATUS_OK;
    }
    fputs("<td class=\"n\">", to);
    if (isfinite(fit(rank)))
        fputs(fit_text(fit(rank), noise, 6, text), to);
    if (errors) {
        fputs("</td><td class=\"n\">", to);
        if (isfinite(holdout_error(rank)))
            fprintf(to, "%.4g &#177; %.1g", holdout_error(rank),
                    isfinite(rmse_error) ? rmse_error
                                         : json_number_at(rank, "held_out_deviance_error"));
        else
            fputs("not known", to);
        if (isfinite(ridge))
            fprintf(to, ", ridge %g", ridge);
    }
    if (cores) {
        fputs("</td><td class=\"n\">", to);
        if (isfinite(core(rank)))
            page_core(to, core(rank), json_number_at(rank, "core_consistency_error"));
        else
            fputs("not known", to);
    }
    fputs("</td><td class=\"n\">", to);
    if (others > 0 && isfinite(agree))
        fprintf(to, "%g of %g", agree, others);
    if (any(page, halves) || any(page, replicates)) {
        const double found = json_number_at(rank, "replication_alike");
        fputs("</td><td class=\"n\">", to);
        if (isfinite(halves(rank)))
            fprintf(to, "%.4f, %.0f alike", halves(rank), json_number_at(rank, "split_half_alike"));
        else if (isfinite(replicates(rank)) && isfinite(found))
            fprintf(to, "%.4f, %.0f found again", replicates(rank), found);
        else
            fputs("not known", to);
    }
    fputs("</td><td>", to);
    TRY(put_page(to, page, number, made, error));
    fputs("</td><td class=\"why\">", to);
    const json_t *files = json_object_get(rank, "files"), *file;
    size_t i;
    json_array_foreach(files, i, file) {
        const char *path = json_string_value(file), *name = page_file_name(path ? path : "");
        fputs(i > 0 ? " " : "", to);
        if (page->beside)
            put_link(to, name, name);
        else
            html_text(to, name, HTML_LABEL);
    }
    fputs("</td></tr>\n", to);
    return STATUS_OK;
}

enum status page_ranks_write(FILE *to, const struct page_ranks *page, struct error *error)
{
    const json_t *ranks = at(page, "ranks"), *rank;
    size_t i;
    page_begin(to, "Ranks of", page->stem);
    fputs("<p class=\"about\">Models of several ranks of one tensor, side by side (CP "
          "decomposition).</p>\n</header>\n<main>\n",
          to);
    put_suggestion(to, page);
    double *value = memory_array(json_array_size(ranks), sizeof *value, error);
    TRY(error->status);
    fprintf(to, "<section>\n<h2>Fit%s and agreement</h2>\n<div class=\"modes\">\n",
            any(page, holdout_error) ? ", held-out error"
            : any(page, core)        ? ", core consistency"
                                     : "");
    for (i = 0; i < sizeof quantities / sizeof *quantities; i++)
        draw(to, ranks, &quantities[i], value, error);
    fputs("</div>\n</section>\n", to);
    memory_free(value);
    TRY(error->status);
    fprintf(
        to,
        "<section>\n<h2>The ranks</h2>\n<div class=\"wide\"><table><caption>The best model of each "
        "rank, and how many of the other starts lead to its components</caption>\n<thead><tr><th "
        "scope=\"col\" class=\"n\">Rank</th><th scope=\"col\" class=\"n\">Fit</th>%s%s<th "
        "scope=\"col\" class=\"n\">Starts that "
        "agree</th>%s<th scope=\"col\">Page</th><th "
        "scope=\"col\">Files</th></tr></thead>\n<tbody>",
        any(page, holdout_error) ? "<th scope=\"col\" class=\"n\">Held-out error</th>" : "",
        has_core_column(page) ? "<th scope=\"col\" class=\"n\">Core consistency</th>" : "",
        any(page, halves)       ? "<th scope=\"col\" class=\"n\">Halves</th>"
        : any(page, replicates) ? "<th scope=\"col\" class=\"n\">Replicates</th>"
                                : "");
    json_array_foreach(ranks, i, rank)
        TRY(put_rank(to, page, rank, page->made && page->made[i], error));
    fputs("</tbody></table></div>\n", to);
    if (any(page, holdout_error) && isfinite(json_number_of(at(page, "baseline_slices"))))
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
