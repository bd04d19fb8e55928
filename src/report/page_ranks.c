#include "report/page_ranks.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "model/fit_text.h"
#include "report/html.h"
#include "report/page.h"
#include "report/plot.h"

static const struct json_value *at(const struct page_ranks *page, const char *name)
{
    return json_member(page->tree, &page->tree->value[0], name);
}

static double number_of(const struct page_ranks *page, const struct json_value *rank,
                        const char *name)
{
    return json_number_of(json_member(page->tree, rank, name));
}

static const char *text_of(const struct page_ranks *page, const struct json_value *rank,
                           const char *name)
{
    return json_text_of(json_member(page->tree, rank, name));
}

enum status page_ranks_check(const struct json_tree *tree, const char *path, struct error *error)
{
    const char *writer = json_text_of(json_member(tree, &tree->value[0], "record"));
    const struct json_value *ranks = json_member(tree, &tree->value[0], "ranks");
    if (!writer || strcmp(writer, "ranks") != 0 || !ranks || ranks->kind != JSON_ARRAY ||
        ranks->count == 0)
        return error_set(error, STATUS_INPUT, "%s: not the table of a range of ranks", path);
    for (const struct json_value *r = json_first(tree, ranks); r; r = json_next(tree, r)) {
        double rank = json_number_of(json_member(tree, r, "rank"));
        if (!(rank >= 1 && rank < 0x1p53 && rank == floor(rank)))
            return error_set(error, STATUS_INPUT, "%s: a row of the table names no rank", path);
    }
    return STATUS_OK;
}

/* --- what was run --- */

static void put_fact(FILE *to, const char *name, const char *text)
{
    if (!text)
        return;
    fprintf(to, "<tr><th scope=\"row\">%s</th><td>", name);
    html_text(to, text, HTML_LINE);
    fputs("</td></tr>\n", to);
}

static void put_lengths(FILE *to, const struct page_ranks *page)
{
    const struct json_value *lengths = json_member(page->tree, at(page, "tensor"), "lengths");
    if (!lengths || lengths->count == 0)
        return;
    fputs("<tr><th scope=\"row\">Lengths</th><td>", to);
    for (const struct json_value *v = json_first(page->tree, lengths); v;
         v = json_next(page->tree, v)) {
        html_number(to, json_number_of(v));
        fputs(json_next(page->tree, v) ? " &#215; " : "", to);
    }
    fputs("</td></tr>\n", to);
}

static void put_suggestion(FILE *to, const struct page_ranks *page)
{
    const char *suggestion = json_text_of(at(page, "suggestion"));
    const struct json_value *complete = at(page, "complete");
    fputs("<section>\n<h2>Which rank?</h2>\n<p><strong>", to);
    html_text(to, suggestion ? suggestion : "", HTML_LINE);
    fputs("</strong></p>\n", to);
    if (complete && !json_is_true(complete))
        fputs("<p>Not all ranks were tried before the end of the run.</p>\n", to);
    fputs("<p>The fit grows with every component and says nothing of the rank by itself. The "
          "suggestion follows the core consistency; sparse counts often have components that mean "
          "something although it is low.</p>\n<table class=\"facts\"><caption>What was "
          "run</caption><tbody>\n",
          to);
    put_fact(to, "Tensor", text_of(page, at(page, "tensor"), "name"));
    put_lengths(to, page);
    put_fact(to, "Date", json_text_of(at(page, "date")));
    put_fact(to, "Program", json_text_of(at(page, "version")));
    fputs("</tbody></table>\n</section>\n", to);
}

/* --- plots --- */

/* The share of the other starts that agree, in per cent; NaN of one start. */
static double agreement(const struct page_ranks *page, const struct json_value *rank)
{
    return 100 * number_of(page, rank, "agreeing_starts") / number_of(page, rank, "other_starts");
}

static double fit(const struct page_ranks *page, const struct json_value *rank)
{
    return number_of(page, rank, "fit");
}

static double core(const struct page_ranks *page, const struct json_value *rank)
{
    return number_of(page, rank, "core_consistency");
}

/* A quantity of a rank that is drawn against it. */
struct quantity {
    double (*value)(const struct page_ranks *page, const struct json_value *rank);
    const char *title, *meaning;
    bool percent; /* the axis reaches from 0 to 100 */
};

static const struct quantity quantities[] = {
    {fit, "Fit against rank", "A fit of 1 is an exact model.", false},
    {core, "Core consistency against rank",
     "Near 100, the components stand for themselves; about 50 is doubtful; near 0 or below it, "
     "they only describe the tensor together, mostly because there are too many of them. Values "
     "below 0 stand at 0.",
     true},
    {agreement, "Starts that agree with the best, in per cent, against rank",
     "Where few agree, the result depends on the start.", true}};

static void draw(FILE *to, const struct page_ranks *page, const struct quantity *q, double *value)
{
    const struct json_value *ranks = at(page, "ranks");
    const struct json_value *rank = json_first(page->tree, ranks), *last = rank;
    double lowest = number_of(page, rank, "rank");
    char ends[2][32];
    struct plot_scale scale = q->percent ? (struct plot_scale){0, 100} : plot_scale_none();
    size_t count = 0, known = 0;
    for (; rank; rank = json_next(page->tree, last = rank)) {
        value[count] = q->value(page, rank);
        known += isfinite(value[count]) != 0;
        plot_scale_add(&scale, q->percent ? 0 : value[count]);
        count++;
    }
    if (known == 0)
        return;
    plot_scale_finish(&scale);
    snprintf(ends[0], sizeof ends[0], "rank %.0f", lowest);
    snprintf(ends[1], sizeof ends[1], "rank %.0f", number_of(page, last, "rank"));
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
                                   .scale = scale,
                                   .tick = tick,
                                   .ticks = plot_inner_ticks(tick, lowest, 1, count, count)};
    fprintf(to, "<figure><figcaption>%s</figcaption>\n", q->title);
    plot_line(to, &plot);
    fprintf(to, "<p class=\"about\">%s</p>\n</figure>\n", q->meaning);
}

static enum status put_plots(FILE *to, const struct page_ranks *page, struct error *error)
{
    double *value = memory_array(at(page, "ranks")->count, sizeof *value, error);
    if (!value)
        return error->status;
    fputs("<section>\n<h2>Fit, core consistency and agreement</h2>\n<div class=\"modes\">\n", to);
    for (size_t i = 0; i < sizeof quantities / sizeof *quantities; i++)
        draw(to, page, &quantities[i], value);
    fputs("</div>\n</section>\n", to);
    memory_free(value);
    return STATUS_OK;
}

/* --- the table --- */

/* What follows the last slash. */
static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

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
    fputs("\">", to);
    html_text(to, shown, HTML_LABEL);
    fputs("</a>", to);
}

/* The page of the model where there is one, or how to make it. */
static enum status put_page(FILE *to, const struct page_ranks *page, double rank,
                            struct error *error)
{
    char *model = memory_text(error, "%s.r%.0f", page->stem, rank);
    char *path = model ? memory_text(error, "%s.html", model) : NULL;
    if (path && page->beside && access(path, F_OK) == 0) {
        put_link(to, name_of(path), name_of(model));
    } else if (path) {
        fputs("<code>blco report ", to);
        html_text(to, model, HTML_LABEL);
        fputs("</code>", to);
    }
    memory_free(path);
    memory_free(model);
    return error->status;
}

static void put_files(FILE *to, const struct page_ranks *page, const struct json_value *rank)
{
    const struct json_value *files = json_member(page->tree, rank, "files");
    for (const struct json_value *f = files ? json_first(page->tree, files) : NULL; f;
         f = json_next(page->tree, f)) {
        const char *path = json_text_of(f), *name = name_of(path ? path : "");
        if (page->beside)
            put_link(to, name, name);
        else
            html_text(to, name, HTML_LABEL);
        fputs(json_next(page->tree, f) ? " " : "", to);
    }
}

static void put_core(FILE *to, double percent, double error)
{
    if (!isfinite(percent)) {
        fputs("not known", to);
        return;
    }
    html_decimals(to, percent, percent > -1000 ? 1 : -2);
    if (isfinite(error))
        fprintf(to, " &#177; %.2g", error);
}

static void put_numbers(FILE *to, const struct page_ranks *page, const struct json_value *rank)
{
    char text[FIT_TEXT];
    double of = fit(page, rank), agree = number_of(page, rank, "agreeing_starts");
    double others = number_of(page, rank, "other_starts");
    fputs("<td class=\"n\">", to);
    if (isfinite(of))
        fputs(fit_text(of, number_of(page, rank, "fit_noise"), 6, text), to);
    fputs("</td><td class=\"n\">", to);
    put_core(to, core(page, rank), number_of(page, rank, "core_consistency_error"));
    fputs("</td><td class=\"n\">", to);
    if (others > 0 && isfinite(agree))
        fprintf(to, "%g of %g", agree, others);
    fputs("</td>", to);
}

static enum status put_rank(FILE *to, const struct page_ranks *page, const struct json_value *rank,
                            struct error *error)
{
    double number = number_of(page, rank, "rank");
    bool suggested = json_number_of(at(page, "suggested")) == number;
    const char *failure = text_of(page, rank, "failure");
    fprintf(to, "<tr><th scope=\"row\" class=\"n\">%.0f%s</th>", number,
            suggested ? ", <strong>suggested</strong>" : "");
    if (failure) {
        fputs("<td colspan=\"5\" class=\"why\">failed: ", to);
        html_text(to, failure, HTML_LINE);
        fputs("</td></tr>\n", to);
        return STATUS_OK;
    }
    put_numbers(to, page, rank);
    fputs("<td>", to);
    if (put_page(to, page, number, error) != STATUS_OK)
        return error->status;
    fputs("</td><td class=\"why\">", to);
    put_files(to, page, rank);
    fputs("</td></tr>\n", to);
    return STATUS_OK;
}

static enum status put_table(FILE *to, const struct page_ranks *page, struct error *error)
{
    fputs("<section>\n<h2>The ranks</h2>\n<div class=\"wide\"><table><caption>The best model of "
          "each rank; of the other starts, so many lead to its components</caption>\n<thead><tr>"
          "<th scope=\"col\" class=\"n\">Rank</th><th scope=\"col\" class=\"n\">Fit</th>"
          "<th scope=\"col\" class=\"n\">Core consistency</th><th scope=\"col\" class=\"n\">Starts "
          "that agree</th><th scope=\"col\">Page</th><th scope=\"col\">Files</th></tr></thead>\n"
          "<tbody>",
          to);
    const struct json_value *rank = json_first(page->tree, at(page, "ranks"));
    for (; rank && put_rank(to, page, rank, error) == STATUS_OK;)
        rank = json_next(page->tree, rank);
    fputs("</tbody></table></div>\n</section>\n", to);
    return error->status;
}

enum status page_ranks_write(FILE *to, const struct page_ranks *page, struct error *error)
{
    page_begin(to, "Ranks of", page->stem);
    fputs("<p class=\"about\">Models of several ranks of one tensor, side by side (CP "
          "decomposition).</p>\n</header>\n<main>\n",
          to);
    put_suggestion(to, page);
    if (put_plots(to, page, error) == STATUS_OK)
        put_table(to, page, error);
    page_end(to);
    return error->status;
}
