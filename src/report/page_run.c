#include "report/page_run.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "model/fit_text.h"
#include "report/html.h"
#include "report/page_findings.h"
#include "report/page_record.h"
#include "report/plot.h"

/* The numbers of an array become value[0..count); what is no number is NaN. */
static enum status take_numbers(const struct json_tree *record, const struct json_value *array,
                                double **value, struct error *error)
{
    *value = memory_array(array->count, sizeof **value, error);
    if (!*value)
        return error->status;
    size_t i = 0;
    for (const struct json_value *v = json_first(record, array); v; v = json_next(record, v))
        (*value)[i++] = json_number_of(v);
    return STATUS_OK;
}

/* --- facts --- */

static void begin_fact(FILE *to, const char *name)
{
    fprintf(to, "<tr><th scope=\"row\">%s</th><td>", name);
}

static void end_fact(FILE *to)
{
    fputs("</td></tr>\n", to);
}

/* A fact that is a text of the record's; nothing where it is not there. */
static void put_fact(FILE *to, const char *name, const char *text)
{
    if (!text)
        return;
    begin_fact(to, name);
    html_text(to, text, HTML_LINE);
    end_fact(to);
}

static void put_seconds(FILE *to, double seconds)
{
    fprintf(to, seconds < 1 ? "%.3g s" : "%.2f s", seconds);
}

/* "27, converged" */
static void put_iterations(FILE *to, const struct page *page)
{
    static const char *const stops[][2] = {
        {"converged", "converged"},
        {"iteration_limit", "stopped at the limit of iterations"},
        {"interrupted", "interrupted by a signal"},
        {"time_limit", "stopped at the time limit"}};
    const char *stop = page_text_at(page, "result", "stop");
    double iterations = page_number_at(page, "result", "iterations");
    if (!isfinite(iterations))
        return;
    begin_fact(to, "Iterations");
    fprintf(to, "%.0f", iterations);
    for (size_t i = 0; stop && i < sizeof stops / sizeof stops[0]; i++)
        if (strcmp(stop, stops[i][0]) == 0)
            fprintf(to, ", %s", stops[i][1]);
    end_fact(to);
}

static void put_time(FILE *to, const struct page *page)
{
    double total = page_number_at(page, "seconds", "total");
    double iterations = page_number_at(page, "seconds", "iterations");
    if (!isfinite(total) || !isfinite(iterations))
        return;
    begin_fact(to, "Time");
    put_seconds(to, total);
    fputs(", of which iterations ", to);
    put_seconds(to, iterations);
    end_fact(to);
}

/* "backend cuda: NVIDIA H200, 2 ranks" */
static void put_machine(FILE *to, const struct page *page)
{
    const char *backend = page_text_at(page, "backend", NULL);
    const char *device = page_text_at(page, "device", "name");
    const char *processor = page_text_at(page, "processor", NULL);
    double threads = json_number_of(page_at(page, "threads", NULL));
    double ranks = page_number_at(page, "ranks", "count");
    begin_fact(to, "Machine");
    html_text(to, device ? device : processor ? processor : "unknown", HTML_LABEL);
    if (!device && isfinite(threads))
        fprintf(to, ", %g thread%s", threads, threads == 1 ? "" : "s");
    if (isfinite(ranks))
        fprintf(to, ", %g ranks", ranks);
    if (backend) {
        fputs(", backend ", to);
        html_text(to, backend, HTML_LABEL);
    }
    end_fact(to);
}

static void put_memory(FILE *to, const struct page *page)
{
    char size[NUMBER_SIZE_TEXT];
    double peak = page_number_at(page, "memory", "peak_bytes");
    if (peak >= 0 && peak < 0x1p63)
        put_fact(to, "Peak memory", number_size((uint64_t)peak, size));
}

/* The arguments, those with blanks in quotes. */
static void put_command(FILE *to, const struct page *page)
{
    const struct json_value *command = page_at(page, "command", NULL);
    if (!command)
        return;
    begin_fact(to, "Command");
    fputs("<code>", to);
    for (const struct json_value *v = json_first(page->record, command); v;
         v = json_next(page->record, v)) {
        const char *text = json_text_of(v);
        bool quoted = text && (!*text || strpbrk(text, " \t\n\"'$*?<>|&;()\\"));
        fputs(quoted ? "&quot;" : "", to);
        html_text(to, text ? text : "", HTML_LINE);
        fputs(quoted ? "&quot;" : "", to);
        fputs(json_next(page->record, v) ? " " : "", to);
    }
    fputs("</code>", to);
    end_fact(to);
}

static void put_model(FILE *to, const struct page *page)
{
    const struct ktensor *k = page->model;
    begin_fact(to, "Lengths");
    for (int n = 0; n < k->shape.order; n++)
        fprintf(to, "%s%" PRIu64, n > 0 ? " &#215; " : "", k->shape.dims[n]);
    end_fact(to);
    double nonzeros = page_number_at(page, "tensor", "nonzeros");
    if (isfinite(nonzeros)) {
        begin_fact(to, "Nonzeros");
        fprintf(to, "%.0f", nonzeros);
        end_fact(to);
    }
    begin_fact(to, "Components");
    fprintf(to, "%" PRIu64, k->rank);
    end_fact(to);
}

/* "98.5", or of an estimate "87.2 &#177; 3.1, estimated" */
static void put_core(FILE *to, const struct page *page)
{
    double core = page_number_at(page, "result", "core_consistency");
    double error = page_number_at(page, "result", "core_consistency_error");
    if (!isfinite(core))
        return;
    begin_fact(to, "Core consistency");
    fprintf(to, core > -1000 ? "%.1f" : "%.1e", core);
    if (isfinite(error))
        fprintf(to, " &#177; %.2g, estimated", error);
    end_fact(to);
}

static void put_fit(FILE *to, const struct page *page)
{
    double fit = page_number_at(page, "result", "fit"),
           change = page_number_at(page, "result", "change"),
           noise = page_number_at(page, "result", "fit_noise");
    char text[FIT_TEXT];
    if (isfinite(fit) && isfinite(change)) {
        begin_fact(to, "Fit");
        fprintf(to, "<strong>%s</strong>, last change %.1e", fit_text(fit, noise, 9, text), change);
        end_fact(to);
    }
    put_iterations(to, page);
    put_core(to, page);
}

static void put_program(FILE *to, const struct page *page)
{
    const char *version = page_text_at(page, "version", NULL),
               *commit = page_text_at(page, "commit", NULL);
    if (!version)
        return;
    begin_fact(to, "Program");
    fputs("blco ", to);
    html_text(to, version, HTML_LABEL);
    if (commit) {
        fputs(" (", to);
        html_text(to, commit, HTML_LABEL);
        fputs(")", to);
    }
    end_fact(to);
}

void page_run(FILE *to, const struct page *page)
{
    fputs(
        "<section>\n<h2>The run</h2>\n<table class=\"facts\"><caption>What was run, and what came "
        "of it</caption><tbody>\n",
        to);
    put_fact(to, "Tensor", page_text_at(page, "tensor", "name"));
    put_model(to, page);
    if (page->record) {
        put_fit(to, page);
        put_time(to, page);
        put_machine(to, page);
        put_memory(to, page);
        put_fact(to, "Date", page_text_at(page, "date", NULL));
        put_program(to, page);
        put_command(to, page);
    } else {
        put_fact(to, "Record", "none: blco cpd --record FILE writes one");
    }
    fputs("</tbody></table>\n", to);
    page_findings(to, page);
    fputs("</section>\n", to);
}

/* --- fits --- */

static void plot_fits(FILE *to, const struct page *page, const double *fit, size_t count,
                      const struct profile *p)
{
    double number = page_number_at(page, "trace", "first_iteration");
    double every = page_number_at(page, "trace", "every");
    char first[48], last[48], about[256];
    struct plot_line plot = {.title = "Fit after each iteration",
                             .about = about,
                             .first = first,
                             .last = last,
                             .count = p->columns,
                             .stride = 1,
                             .low = p->low,
                             .high = p->high,
                             .marks = p->columns <= VIEW_LEAST_COLUMNS,
                             .scale = plot_scale_none()};
    for (size_t i = 0; i < count; i++)
        plot_scale_add(&plot.scale, fit[i]);
    plot_scale_finish(&plot.scale);
    if (!isfinite(number) || !isfinite(every))
        number = every = 1;
    snprintf(first, sizeof first, "iteration %.0f", number);
    snprintf(last, sizeof last, "iteration %.0f", number + every * (double)(count - 1));
    if (isfinite(fit[0]) && isfinite(fit[count - 1]))
        snprintf(about, sizeof about, "A line from fit %.6g after %s to %.6g after %s.", fit[0],
                 first, fit[count - 1], last);
    else
        snprintf(about, sizeof about, "A line from %s to %s, with gaps.", first, last);
    fputs("<figure><figcaption>Fit after each iteration</figcaption>\n", to);
    plot_line(to, &plot);
    fputs("</figure>\n", to);
}

enum status page_fits(FILE *to, const struct page *page, struct error *error)
{
    const struct json_value *array = page_at(page, "trace", "fit");
    double *fit = NULL;
    struct profile p = {0};
    if (!array || array->count < 2)
        return STATUS_OK;
    if (take_numbers(page->record, array, &fit, error) == STATUS_OK &&
        profile_take(&p, fit, array->count, 1, VIEW_MOST_COLUMNS, error) == STATUS_OK) {
        fputs("<section>\n<h2>Convergence</h2>\n", to);
        plot_fits(to, page, fit, array->count, &p);
        fputs("</section>\n", to);
    }
    profile_free(&p);
    memory_free(fit);
    return error->status;
}

/* --- times --- */

static void put_stages(FILE *to, const struct page *page, const struct json_value *stages)
{
    struct plot_scale scale = plot_scale_none();
    plot_scale_add(&scale, 0);
    for (const struct json_value *s = json_first(page->record, stages); s;
         s = json_next(page->record, s))
        plot_scale_add(&scale, json_number_of(s));
    plot_scale_finish(&scale);
    fputs("<table><caption>Seconds of each stage</caption><tbody>\n", to);
    for (const struct json_value *s = json_first(page->record, stages); s;
         s = json_next(page->record, s)) {
        fputs("<tr><th scope=\"row\">", to);
        html_text(to, s->name ? s->name : "", HTML_LABEL);
        fputs("</th><td class=\"n\">", to);
        html_number(to, json_number_of(s));
        fputs("</td><td class=\"bar\">", to);
        plot_bar(to, &scale, json_number_of(s));
        fputs("</td></tr>\n", to);
    }
    fputs("</tbody></table>\n", to);
}

static void put_rank(FILE *to, const struct page *page, const struct json_value *rank, int number)
{
    static const char *const names[] = {"gpu", "threads", "nonzeros", "communication"};
    const char *host = json_text_of(json_member(page->record, rank, "host"));
    fprintf(to, "<tr><th scope=\"row\" class=\"n\">%d</th><td>", number);
    html_text(to, host ? host : "", HTML_LABEL);
    fputs("</td>", to);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        double x = json_number_of(json_member(page->record, rank, names[i]));
        fputs("<td class=\"n\">", to);
        if (isfinite(x))
            fprintf(to, i < 3 ? "%.0f" : "%.4g", x);
        fputs("</td>", to);
    }
    fputs("</tr>\n", to);
}

static void put_ranks(FILE *to, const struct page *page)
{
    const struct json_value *each = page_at(page, "ranks", "each");
    int number = 0;
    if (!each || each->count == 0)
        return;
    fputs(
        "<div class=\"wide below\"><table><caption>The ranks, and their seconds of moving rows and "
        "sums</caption>\n<thead>"
        "<tr><th scope=\"col\" class=\"n\">Rank</th><th scope=\"col\">Host</th><th scope=\"col\" "
        "class=\"n\">GPU</th><th scope=\"col\" class=\"n\">Threads</th><th scope=\"col\" "
        "class=\"n\">Nonzeros</th><th scope=\"col\" class=\"n\">Moving</th></tr></thead>\n<tbody>",
        to);
    for (const struct json_value *r = json_first(page->record, each); r;
         r = json_next(page->record, r))
        put_rank(to, page, r, number++);
    fputs("</tbody></table></div>\n", to);
}

void page_times(FILE *to, const struct page *page)
{
    const struct json_value *stages = page_at(page, "seconds", "stages");
    if (!stages || stages->count == 0)
        return;
    fputs("<section>\n<h2>Time</h2>\n<div class=\"modes\">\n", to);
    put_stages(to, page, stages);
    fputs("</div>\n", to);
    put_ranks(to, page);
    fputs("</section>\n", to);
}
