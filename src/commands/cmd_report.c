/* blco report: the page of a model. */
#include "commands/cmd.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/outfile.h"
#include "commands/file_roles.h"
#include "commands/options/cmd_common.h"
#include "formats/ktensor/ktensor_io.h"
#include "report/page.h"

#define MAX_TOP 1000

struct job {
    struct cmd_common common;
    const char *stem, *output, *record; /* as given; borrowed                     */
    char *output_path, *record_path;    /* as given, or by default; record_path NULL: there is no
                                         * record. Owned                          */
    char *ranks_path;                   /* STEM.ranks.json, or NULL where there is none; owned */
    uint64_t top;
    const char *top_given; /* "--top", or NULL */
    enum view_order order[MAX_ORDER];
    struct ktensor model;
    struct labels labels;
    json_t *json; /* the record, or the table of the ranks; owned */
    struct mode_view view[MAX_ORDER];
    struct outfile file;
};

/* The modes separated by commas, or none. */
static enum status set_ordered(const struct cli_option *o, void *to, const char *text,
                               struct error *error)
{
    struct job *job = to;
    bool ordered[MAX_ORDER] = {false}, none = strcmp(text, "none") == 0;
    int most = 0;
    if (!none && cli_modes(o->name, text, ordered, &most, error) != STATUS_OK)
        return error_append(error, ", or none");
    for (int n = 0; n < MAX_ORDER; n++)
        job->order[n] = ordered[n] ? VIEW_ORDERED : VIEW_UNORDERED;
    return STATUS_OK;
}

static const struct cli_option report_options[] = {
    {"--output", 'o', "FILE", "name of the page (STEM.html); -: standard output",
     CLI_NAME(struct job, output)},
    {"--record", 0, "FILE", "record of the run, from blco cpd --record\n(STEM.json, if it exists)",
     CLI_FILE(struct job, record)},
    {"--labels", 0, "MODE=FILE",
     "labels of a mode, one on each text line; for several\nmodes, separate them by commas or "
     "repeat the option;\nnone: indices (STEM.modeN.map, if it exists)",
     CLI_OWN(cmd_set_labels, struct labels, struct job, labels)},
    {"--ordered", 0, "LIST",
     "modes whose indices have an order, as 1,3, or none;\nlong ones are plotted as curves (modes "
     "in which\nneighbours are alike)",
     CLI_SETTINGS(set_ordered)},
    {"--top", 'n', "N",
     "show the N strongest entries of a long mode that has\nno curve ({default})",
     CLI_UNSIGNED(struct job, top, 1, MAX_TOP), .initial = "10", CLI_GIVEN(struct job, top_given)},
    {.name = NULL}};

static const struct cli_section sections[] = {
    {"Page", report_options}, {"General", cmd_general_options}, {NULL, NULL}};

static bool on_standard_output(const struct job *job)
{
    return strcmp(job->output_path, "-") == 0;
}

/* STEM.suffix; of a stem that is the name of a file, without the ending of this name. */
static char *path_beside(const char *stem, const char *suffix, struct error *error)
{
    char *name = ktensor_stem(stem, error);
    char *path = name ? memory_text(error, "%s.%s", name, suffix) : NULL;
    memory_free(name);
    return path;
}

/* The same, or NULL where there is no such file. */
static char *found_beside(const char *stem, const char *suffix, struct error *error)
{
    char *path = path_beside(stem, suffix, error);
    if (!path || access(path, F_OK) == 0)
        return path;
    memory_free(path);
    return NULL;
}

/* Refuses to replace what is read. */
static enum status check_output(const struct job *job, struct error *error)
{
    struct file_roles files = {0};
    file_roles_add_stem(&files, FILE_MODEL_READ, job->stem, error);
    file_roles_add(&files, FILE_RECORD_READ, job->record_path, error);
    file_roles_add(&files, FILE_RANKS_READ, job->ranks_path, error);
    for (int n = 0; n < MAX_ORDER; n++)
        file_roles_add(&files, FILE_LABELS_READ, job->labels.mode[n].path, error);
    file_roles_add(&files, FILE_PAGE, job->output_path, error);
    file_roles_check(&files, error);
    if (error->status != STATUS_OK || on_standard_output(job))
        return error->status;
    return outfile_check(job->output_path, error);
}

/* Reads the table of ranks. What is about one model has no place on the page of several. */
static enum status prepare_ranks(struct job *job, struct error *error)
{
    const char *option = job->record ? "--record" : job->top_given;
    for (int n = 0; n < MAX_ORDER; n++)
        if (job->labels.mode[n].path || job->order[n] != VIEW_FIND_OUT)
            option = job->labels.mode[n].path ? "--labels" : "--ordered";
    if (option)
        return error_set(
            error, STATUS_INPUT,
            "%s is for the page of one model, but %s has several ranks: %s.rR expected", option,
            job->stem, job->stem);
    TRY(json_read(&job->json, job->ranks_path, error));
    return page_ranks_check(job->json, job->ranks_path, error);
}

/* Reads the model, its labels and its record. */
static enum status prepare_model(struct job *job, struct error *error)
{
    progress_stage(&job->common.progress, "reading %s", job->stem);
    TRY(ktensor_read(&job->model, job->stem, 0, error));
    for (int n = job->model.shape.order; n < MAX_ORDER; n++)
        if (job->order[n] == VIEW_ORDERED)
            return error_set(error, STATUS_INPUT, "--ordered: mode %d, but the model has %d mode%s",
                             n + 1, job->model.shape.order, job->model.shape.order == 1 ? "" : "s");
    TRY(ktensor_find_labels(&job->labels, job->stem, job->model.shape.order, error));
    TRY(labels_read(&job->labels, &job->model.shape, error));
    if (job->record_path) {
        TRY(json_read(&job->json, job->record_path, error));
        TRY(page_check_record(job->json, &job->model, job->record_path, error));
    }
    return mode_views_make(job->view, &job->model, &job->labels, job->order, job->top, error);
}

static enum status write_page(struct job *job, struct error *error)
{
    /* Whether the page is in the folder of the models, as far as their names tell. */
    const char *page_end = strrchr(job->output_path, '/'), *stem_end = strrchr(job->stem, '/');
    const size_t length = page_end ? (size_t)(page_end - job->output_path) : 0;
    const bool beside = !page_end == !stem_end &&
                        length == (stem_end ? (size_t)(stem_end - job->stem) : 0) &&
                        strncmp(job->output_path, job->stem, length) == 0;
    const struct page_ranks ranks = {.stem = job->stem, .file = job->json, .beside = beside};
    const struct page page = {.stem = job->stem,
                              .model = &job->model,
                              .labels = &job->labels,
                              .view = job->view,
                              .record = job->json};
    char *text = NULL;
    size_t size = 0;
    const bool to_stdout = on_standard_output(job);
    progress_stage(&job->common.progress, "writing");
    FILE *to = to_stdout ? stdout : memory_hook_fails() ? NULL : open_memstream(&text, &size);
    if (to && job->ranks_path)
        page_ranks_write(to, &ranks, error);
    else if (to)
        page_write(to, &page, error);
    if (to_stdout)
        return error->status;
    if (!to || fclose(to) != 0)
        error_set(error, STATUS_MEMORY, "not enough memory to write a file");
    TRY_OR(done, error->status);
    TRY_OR(done, outfile_open(&job->file, job->output_path, error));
    TRY_OR(done, outfile_write(&job->file, text, size, error));
    outfile_commit(&job->file, error);
done:
    free(text);
    return error->status;
}

static enum status run(void *settings, const struct cli_line *line, struct error *error)
{
    struct job *job = settings;
    job->file.fd = -1;
    TRY(cli_single_operand(line, "model", error));
    job->stem = line->operand[0];
    TRY(cmd_begin(&job->common, error));
    job->output_path =
        job->output ? memory_text(error, "%s", job->output) : path_beside(job->stem, "html", error);
    job->record_path = job->record ? memory_text(error, "%s", job->record)
                                   : found_beside(job->stem, "json", error);
    job->ranks_path = found_beside(job->stem, "ranks.json", error);
    TRY(error->status);
    TRY(check_output(job, error));
    TRY((job->ranks_path ? prepare_ranks : prepare_model)(job, error));
    TRY(write_page(job, error));
    progress_done(&job->common.progress, "%s",
                  on_standard_output(job) ? "standard output" : job->output_path);
    return STATUS_OK;
}

static void free_job(void *settings)
{
    struct job *job = settings;
    if (job->stem)
        outfile_discard(&job->file);
    mode_views_free(job->view);
    json_decref(job->json);
    labels_free(&job->labels);
    ktensor_free(&job->model);
    memory_free(job->output_path);
    memory_free(job->record_path);
    memory_free(job->ranks_path);
}

const struct command cmd_report = {
    .name = "report",
    .summary = "write a page about a model",
    .usage = "Usage: blco report STEM [-o FILE] [OPTION]...\n\nWrites a page (HTML) about the "
             "model whose files begin with STEM: what was run,\nhow the fit converged, the "
             "weights, and each component in each mode.\nFor a range of ranks (blco cpd -r A:B): "
             "how the models compare.\nThe page is one file and needs no network.\n",
    .ending = "\nExit status: 0 done, 2 usage or input, 3 memory, 5 output. See blco-report(1).\n",
    .sections = sections,
    .settings = sizeof(struct job),
    .run = run,
    .free = free_job,
    .operands = CMD_MODELS,
};
