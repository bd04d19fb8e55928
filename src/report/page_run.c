#include "report/page_parts.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/shell_word.h"
#include "model/fit_text.h"
#include "problem/loss.h"
#include "report/html.h"
#include "report/plot.h"

void page_starts(FILE *to, const struct page *page)
{
    static const char *const heading[] = {"#Seed", "#Iterations", "#Fit", "#Score"};
    const json_t *starts = page_at(page, "starts", NULL);
    const json_t *start;
    size_t i;
    if (json_array_size(starts) < 2)
        return;
    fputs("<section>\n<h2>Agreement of the starts</h2>\n", to);
    page_table_begin(
        to, "wide",
        "The model of each start, and how alike it is to the best one: a score of 1 is "
        "the same model",
        heading, 4);
    json_array_foreach(starts, i, start) { /* fit and score, or why it has no model */
        const double seed = json_number_at(start, "seed");
        const double fit = json_number_at(start, "fit");
        const double score = json_number_at(start, "score_with_best");
        const char *breakdown = json_text_at(start, "breakdown");
        char text[FIT_TEXT];
        fputs("<tr><th scope=\"row\" class=\"n\">", to);
        if (isfinite(seed))
            fprintf(to, "%.0f", seed);
        fputs("</th>", to);
        page_cell(to, json_number_at(start, "iterations"), 0);
        if (breakdown) {
            html_print(to, HTML_LINE, "<td colspan=\"2\" class=\"why\">broke down: %s</td></tr>\n",
                       breakdown);
            continue;
        }
        fputs("<td class=\"n\">", to);
        if (isfinite(fit))
            fputs(fit_text(fit, json_number_at(start, "fit_noise"), 6, text), to);
        else
            html_number(to, fit);
        fputs("</td>", to);
        if (score == 1 && fit == page_number_at(page, "result", "fit"))
            fputs("<td class=\"n\"><strong>the best</strong></td>", to);
        else
            page_cell(to, score, 6);
        fputs("</tr>\n", to);
    }
    page_table_end(to);
    fputs("</section>\n", to);
}

/* --- facts --- */

static void put_seconds(FILE *to, double seconds)
{
    fprintf(to, seconds < 1 ? "%.3g s" : "%.2f s", seconds);
}

/* A number as printf writes it; nothing where there is none. */
static void put_known(FILE *to, const char *format, double x)
{
    if (isfinite(x))
        fprintf(to, format, x);
}

/* Time, machine, memory, date, program and command. */
static void put_machine(FILE *to, const struct page *page)
{
    const double total = page_number_at(page, "seconds", "total"),
                 iterations = page_number_at(page, "seconds", "iterations"),
                 threads = page_number_at(page, "threads", NULL),
                 peak = page_number_at(page, "memory", "peak_bytes");
    const char *device = page_text_at(page, "device", "name"),
               *processor = page_text_at(page, "processor", NULL),
               *version = page_text_at(page, "version", NULL),
               *commit = page_text_at(page, "commit", NULL);
    const json_t *command = page_at(page, "command", NULL), *word;
    char size[NUMBER_SIZE_TEXT], shown[SHELL_WORD_ROOM(HTML_LINE)];
    size_t i;
    if (isfinite(total) && isfinite(iterations)) {
        page_fact_begin(to, "Time");
        put_seconds(to, total);
        fputs(", of which iterations ", to);
        put_seconds(to, iterations);
        page_fact_end(to);
    }
    page_fact_begin(to, "Machine"); /* "NVIDIA H200, 2 ranks, backend cuda" */
    html_text(to, device ? device : processor ? processor : "unknown", HTML_LABEL);
    if (!device && isfinite(threads))
        fprintf(to, ", %g thread%s", threads, threads == 1 ? "" : "s");
    put_known(to, ", %g ranks", page_number_at(page, "ranks", "count"));
    html_print(to, HTML_LABEL, page_at(page, "backend", NULL) ? ", backend %s" : "%s",
               page_text_at(page, "backend", NULL));
    page_fact_end(to);
    if (peak >= 0 && peak < 0x1p63)
        page_fact(to, "Peak memory", number_size((uint64_t)peak, size));
    page_fact(to, "Date", page_text_at(page, "date", NULL));
    if (version) {
        page_fact_begin(to, "Program");
        html_print(to, HTML_LABEL, commit ? "blco %s (%s)" : "blco %s%s", version, commit);
        page_fact_end(to);
    }
    if (!command)
        return;
    page_fact_begin(to, "Command");
    fputs("<code>", to);
    json_array_foreach(command, i, word) { /* those with blanks in quotes */
        const char *text = json_string_value(word);
        html_print(to, HTML_LINE, i > 0 ? " <span>%s</span>" : "<span>%s</span>",
                   shell_word(text ? text : "", shown, sizeof shown));
    }
    fputs("</code>", to);
    page_fact_end(to);
}

/* "0.852, 0.976, 0.9 (modes 1 to 3)": of held-out entries, among the indices of each mode. */
static void put_places(FILE *to, const json_t *holdout, const char *name, const char *member)
{
    const json_t *numbers = json_object_get(holdout, member), *number;
    size_t i;
    if (json_array_size(numbers) == 0)
        return;
    page_fact_begin(to, name);
    json_array_foreach(numbers, i, number)
        fprintf(to, "%s%.4f", i > 0 ? ", " : "", json_number_of(number));
    fputs(" (of held-out entries in each mode)", to);
    page_fact_end(to);
}

/* "0.542 &#177; 0.008 (RMSE of 2394 entries), mean magnitude 0.433, AUC 0.98", or of counts "1.06
 * &#177; 0.02 (mean deviance of 2394 entries), log-likelihood -1234, mean magnitude ..." */
static void put_holdout_error(FILE *to, const struct page *page)
{
    const json_t *holdout = page_at(page, "result", "held_out");
    const double rmse = json_number_at(holdout, "rmse");
    const double deviance = json_number_at(holdout, "mean_deviance");
    const bool counts = isfinite(deviance);
    if (!isfinite(rmse))
        return;
    page_fact_begin(to, "Held-out error");
    fprintf(to, "<strong>%.4g</strong> &#177; %.1g (%s of %.0f entries)", counts ? deviance : rmse,
            json_number_at(holdout, counts ? "mean_deviance_error" : "rmse_error"),
            counts ? "mean deviance" : "RMSE", json_number_at(holdout, "entries"));
    put_known(to, ", log-likelihood %.6g", json_number_at(holdout, "log_likelihood"));
    fprintf(to, ", mean magnitude %.4g", json_number_at(holdout, "mae"));
    put_known(to, "; without a model %.4g of the mean", json_number_at(holdout, "baseline_mean"));
    put_known(to, ", %.4g of the means of slices", json_number_at(holdout, "baseline_slices"));
    put_known(to, ", AUC %.4f", json_number_at(holdout, "auc"));
    put_known(to, ", log-loss %.4g", json_number_at(holdout, "log_loss"));
    page_fact_end(to);
    put_places(to, holdout, "Mean reciprocal rank", "mean_reciprocal_rank");
    put_places(to, holdout, "Hits at 10", "hits_at_10");
}

bool page_has_likelihood(const struct page *page)
{
    return isfinite(page_number_at(page, "result", "log_likelihood"));
}

/* Fit, and what else tells how good the model is. */
static void put_fit(FILE *to, const struct page *page)
{
    const double fit = page_number_at(page, "result", "fit"),
                 noise = page_number_at(page, "result", "fit_noise"),
                 core = page_number_at(page, "result", "core_consistency"),
                 core_error = page_number_at(page, "result", "core_consistency_error"),
                 halves = page_number_at(page, "split_half", "score"),
                 replicates = page_number_at(page, "replication", "score");
    char text[FIT_TEXT], share[SHARE_TEXT];
    if (isfinite(fit)) {
        page_fact_print(to, "Fit", "<strong>%s</strong>", fit_text(fit, noise, 9, text));
        page_fact(to, "Explained", fit_share_text(fit, page_has_likelihood(page), share));
        page_fact_number(to, page, "Log-likelihood", "%.10g", "result", "log_likelihood");
        page_fact_number(to, page, "Deviance", "%.10g", "result", "deviance");
    }
    put_holdout_error(to, page);
    if (isfinite(core)) { /* "98.5", or of an estimate "87.2 &#177; 3.1, estimated" */
        page_fact_begin(to, "Core consistency");
        page_core(to, core, core_error);
        fputs(isfinite(core_error) ? ", estimated" : "", to);
        put_known(to, ", %.3g %% of the tensor taken from the model",
                  100 * page_number_at(page, "result", "core_consistency_imputed"));
        page_fact_end(to);
    }
    if (isfinite(halves))
        page_fact_print(to, "Halves",
                        "mode %.0f: score %.4f, %.0f of %" PRIu64 " components are alike in both",
                        page_number_at(page, "split_half", "mode"), halves,
                        page_number_at(page, "split_half", "alike"), page->model->rank);
    if (isfinite(replicates))
        page_fact_print(to, "Replicates",
                        "mode %.0f, %.0f parts: median score %.4f, %.0f of %" PRIu64
                        " components are found again",
                        page_number_at(page, "replication", "mode"),
                        page_number_at(page, "replication", "parts"), replicates,
                        page_number_at(page, "replication", "alike"), page->model->rank);
}

/* What the fit of a likelihood compares with. */
static const char *null_model(const struct page *page)
{
    const char *name = page_text_at(page, "options", "loss");
    const struct loss *loss = loss_of_word(name ? name : "");
    return loss && loss->rates ? loss->null_model : "all rates are equal";
}

void page_trust(FILE *to, const struct page *page)
{
    const json_t *findings = page_at(page, "findings", NULL), *finding;
    const bool fit = isfinite(page_number_at(page, "result", "fit"));
    size_t i;
    if (!page->record)
        return;
    fputs("<section>\n<h2>How good is the model?</h2>\n", to);
    if (json_array_size(findings) > 0)
        fputs("<ul>", to);
    json_array_foreach(findings, i, finding) {
        const char *severity = json_text_at(finding, "severity");
        const char *advice = json_text_at(finding, "advice");
        fputs("<li>", to);
        if (severity && strcmp(severity, "warning") == 0)
            fputs("<strong>Warning:</strong> ", to);
        html_print(to, HTML_LINE, advice ? "%s; %s</li>\n" : "%s%s</li>\n",
                   json_text_at(finding, "sentence"), advice);
    }
    fputs(json_array_size(findings) > 0 ? "</ul>\n" : "<p>The run has no warnings.</p>\n", to);
    fputs("<table class=\"facts\"><caption>Fit and tests of the model</caption><tbody>\n", to);
    put_fit(to, page);
    fputs("</tbody></table>\n", to);
    if (fit && page_has_likelihood(page))
        fprintf(to,
                "<p class=\"about\">Fit is the part that the model explains of the deviance of the "
                "simplest model, in which %s.</p>\n",
                null_model(page));
    else if (fit)
        fputs(
            "<p class=\"about\">Fit is 1 &#8722; &#8214;X &#8722; model&#8214; / &#8214;X&#8214;, "
            "with X the tensor and &#8214;&#183;&#8214; the square root of the sum of squares. "
            "The part of the squared values that the model explains is 1 &#8722; (1 &#8722; "
            "fit)&#178;.</p>\n",
            to);
    fputs("</section>\n", to);
}

/* "27, converged; the last one changed the fit by 1.3e-06" */
static void put_iterations(FILE *to, const struct page *page)
{
    static const char *const stops[][2] = {
        {"converged", "converged"},
        {"early", "stopped early"},
        {"iteration_limit", "stopped at the limit of iterations"},
        {"interrupted", "interrupted by a signal"},
        {"time_limit", "stopped at the time limit"}};
    const double iterations = page_number_at(page, "result", "iterations");
    const char *stop = page_text_at(page, "result", "stop");
    if (!isfinite(iterations))
        return;
    page_fact_begin(to, "Iterations");
    fprintf(to, "%.0f", iterations);
    for (size_t i = 0; stop && i < sizeof stops / sizeof stops[0]; i++)
        if (strcmp(stop, stops[i][0]) == 0)
            fprintf(to, ", %s", stops[i][1]);
    put_known(to, "; the last one changed the fit by <span class=\"n\">%.1e</span>",
              page_number_at(page, "result", "change") + 0.0);
    page_fact_end(to);
}

/* What STEM.model.json says of the tensor and the run, where there is no record. */
static void put_facts(FILE *to, const struct page *page)
{
    const struct model_facts *facts = page->facts;
    const struct mode_names *modes = &page->labels->modes;
    if (!facts->known)
        return;
    page_fact_print(to, "Entries", "%" PRIu64, facts->nnz);
    if (facts->unknown > 0)
        page_fact_print(to, "Unknown", "%" PRIu64, facts->unknown);
    page_fact(to, "Loss", facts->loss);
    if (facts->unlisted < 1)
        page_fact_print(to, "Unlisted entries",
                        facts->unlisted > 0 ? "zeros of weight %g" : "unknown", facts->unlisted);
    if (modes->value[0])
        page_fact(to, "Column of values", modes->value);
    if (modes->change[0])
        page_fact(to, "Values", modes->change);
}

/* "1, 2; shrinkage 10" of centred values. */
static void put_centred(FILE *to, const struct model_facts *facts)
{
    bool any = false;
    if (model_facts_means(facts) == 0)
        return;
    page_fact_begin(to, "Means taken off first, of modes");
    for (int n = 0; n < MAX_ORDER; n++)
        if (facts->centred[n]) {
            fprintf(to, "%s%d", any ? ", " : "", n + 1);
            any = true;
        }
    fprintf(to, "; shrinkage %g", facts->shrinkage);
    page_fact_end(to);
}

void page_run(FILE *to, const struct page *page)
{
    const struct ktensor *k = page->model;
    fputs("<section>\n<h2>The run</h2>\n<table class=\"facts\"><caption>What was run, and "
          "where</caption><tbody>\n",
          to);
    page_fact(to, "Tensor", page_text_at(page, "tensor", "name"));
    page_fact_begin(to, "Lengths");
    for (int n = 0; n < k->shape.order; n++)
        fprintf(to, "%s%" PRIu64, n > 0 ? " &#215; " : "", k->shape.dims[n]);
    page_fact_end(to);
    page_fact_number(to, page, "Nonzeros", "%.0f", "tensor", "nonzeros");
    page_fact_print(to, "Components", "%" PRIu64, k->rank);
    put_centred(to, page->facts);
    if (page->record) {
        put_iterations(to, page);
        put_machine(to, page);
    } else {
        put_facts(to, page);
        page_fact(to, "Record", "none: blco cpd --record FILE writes one");
    }
    fputs("</tbody></table>\n</section>\n", to);
}

/* --- times --- */

static void put_ranks(FILE *to, const struct page *page)
{
    static const char *const heading[] = {"#Rank",    "Host",      "#GPU",
                                          "#Threads", "#Nonzeros", "#Moving"};
    static const char *const names[] = {"gpu", "threads", "nonzeros"};
    const json_t *each = page_at(page, "ranks", "each"), *rank;
    struct number_column moving = {.digits = PAGE_DIGITS};
    size_t number;
    if (json_array_size(each) == 0)
        return;
    json_array_foreach(each, number, rank)
        number_column_add(&moving, json_number_at(rank, "communication"));
    page_table_begin(to, "wide below", "The ranks, and their seconds of moving rows and sums",
                     heading, 6);
    json_array_foreach(each, number, rank) {
        fprintf(to, "<tr><th scope=\"row\" class=\"n\">%zu</th>", number);
        const double seconds = json_number_at(rank, "communication");
        html_print(to, HTML_LABEL, "<td>%s</td>", json_text_at(rank, "host"));
        for (int i = 0; i < 3; i++) {
            fputs("<td class=\"n\">", to);
            put_known(to, "%.0f", json_number_at(rank, names[i]));
            fputs("</td>", to);
        }
        fputs("<td class=\"n\">", to);
        if (isfinite(seconds))
            html_number_of(to, &moving, seconds);
        fputs("</td></tr>\n", to);
    }
    page_table_end(to);
}

void page_times(FILE *to, const struct page *page)
{
    json_t *stages = page_at(page, "seconds", "stages");
    const json_t *seconds;
    const char *name;
    struct page_bars bars;
    if (json_object_size(stages) == 0)
        return;
    page_bars_begin(&bars);
    json_object_foreach(stages, name, seconds)
        page_bars_add(&bars, json_number_of(seconds));
    plot_scale_finish(&bars.scale);
    fputs("<section>\n<h2>Time</h2>\n<div class=\"wide\"><table><caption>Seconds of each "
          "stage</caption><tbody>\n",
          to);
    json_object_foreach(stages, name, seconds) {
        html_print(to, HTML_LABEL, "<tr><th scope=\"row\">%s</th>", name);
        page_bar(to, &bars, json_number_of(seconds), -1);
        fputs("</tr>\n", to);
    }
    fputs("</tbody></table></div>\n", to);
    put_ranks(to, page);
    fputs("</section>\n", to);
}
