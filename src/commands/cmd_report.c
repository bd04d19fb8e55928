/* blco report: the page of a model, or those of a range of ranks. */
#include "commands/cmd.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/outfile.h"
#include "commands/file_roles.h"
#include "commands/model_residuals.h"
#include "commands/options/cmd_common.h"
#include "formats/ktensor/ktensor_io.h"
#include "report/page.h"

#define MAX_TOP 1000

struct job {
    struct cmd_common common;
    const char *stem, *output, *record; /* as given; borrowed                              */
    char *output_path;                  /* as given, or by default; owned                  */
    char *ranks_path;                   /* STEM.ranks.json, or NULL where there is none; owned */
    uint64_t top;
    const char *top_given; /* "--top", or NULL */
    enum view_order order[MAX_ORDER];
    struct named_model model;         /* of the present page       */
    struct model_residuals residuals; /* of --residuals: path is NULL where it was not given */
    struct shape shape;               /* of the first model        */
    struct outfile *file; /* (files) the pages, of which the last is at output_path; owned */
    int files;
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
     CLI_OWN(cmd_set_labels, struct labels, struct job, model.names)},
    {"--ordered", 0, "LIST",
     "modes whose indices have an order, as 1,3, or none;\nlong ones are plotted as curves (modes "
     "in which\nneighbours are alike)",
     CLI_SETTINGS(set_ordered)},
    {"--top", 'n', "N",
     "show the N strongest entries of a long mode that has\nno curve ({default})",
     CLI_UNSIGNED(struct job, top, 1, MAX_TOP), .initial = "10", CLI_GIVEN(struct job, top_given)},
    {.name = NULL}};

static const struct cli_option residual_options[] = {
    {"--residuals", 0, "TENSOR", "show the N strangest entries and slices of TENSOR",
     CLI_NAME(struct job, residuals.path)},
    {"--loss", 0, "WHAT", "{words}: all\nbut squares have p-values (the model's, else {default})",
     CLI_CHOICE(struct job, common.options.problem.loss, loss_words), .initial = "squares",
     CLI_GIVEN(struct job, residuals.loss_given), .needs = "--residuals"},
    {"--unlisted", 0, "WHAT",
     "of counts: entries that TENSOR does not list are\n{words}; zeros are looked at, too (as "
     "the\nmodel has it)",
     CLI_CHOICE(struct job, residuals.unlisted, cmd_unlisted_words),
     CLI_GIVEN(struct job, residuals.unlisted_given), .needs = "--residuals"},
    {"--index-base", 0, "0|1",
     "the number of the first index in TENSOR ({default}, where it\nis "
     ".npy 0)",
     CMD_INDEX_BASE, .needs = "--residuals"},
    {"--match", 0, "HOW",
     "how indices of TENSOR find those of the model:\n{words}; by names, where there are\nany; "
     "all: the model has to have all; index: they\nagree ({default})",
     CLI_CHOICE(struct job, residuals.match, match_words), .initial = "names",
     .needs = "--residuals"},
    {.name = NULL}};

static const struct cli_section sections[] = {{"Page", report_options},
                                              {"Residuals", residual_options},
                                              {"Machine", cmd_host_options},
                                              {"General", cmd_general_options},
                                              {NULL, NULL}};

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

/* Whether any file of a model of the stem is there. */
static bool model_exists(const char *stem, struct error *error)
{
    struct ktensor_files files = {0};
    bool found = false;
    ktensor_files_name(&files, 1, stem, KTENSOR_FORMATS, error);
    for (int i = 0; i < files.count; i++)
        found = found || access(files.path[i], F_OK) == 0;
    ktensor_files_free(&files);
    return found;
}

/* Refuses to replace what is read for a page. `record` is NULL where there is none. */
static enum status check_output(const struct job *job, const char *stem, const char *record,
                                const char *path, struct error *error)
{
    struct file_roles files = {0};
    file_roles_add_model(&files, stem, &job->model.names, job->residuals.path, error);
    file_roles_add(&files, FILE_RECORD_READ, record, error);
    file_roles_add(&files, FILE_RANKS_READ, job->ranks_path, error);
    file_roles_add(&files, FILE_PAGE, path, error);
    file_roles_check(&files, error);
    if (error->status != STATUS_OK || strcmp(path, "-") == 0)
        return error->status;
    return outfile_check(path, error);
}

/* A page that is made in memory. */
struct page_text {
    FILE *to;
    char *text;
    size_t size;
};

static enum status begin_text(struct page_text *t, struct error *error)
{
    *t = (struct page_text){.to = NULL};
    if (!memory_hook_fails())
        t->to = open_memstream(&t->text, &t->size);
    return t->to ? STATUS_OK : error_set(error, STATUS_MEMORY, "not enough memory to write a file");
}

/* Writes the page to standard output, or to a new file of the job, which gets its name at the end.
 */
static enum status end_text(struct page_text *t, struct job *job, const char *path,
                            struct error *error)
{
    if (fclose(t->to) != 0 && error->status == STATUS_OK)
        error_set(error, STATUS_MEMORY, "not enough memory to write a file");
    TRY_OR(done, error->status);
    if (strcmp(path, "-") == 0) {
        fwrite(t->text, 1, t->size, stdout);
        goto done;
    }
    TRY_OR(done, memory_resize(&job->file, (size_t)job->files + 1, sizeof *job->file, error));
    TRY_OR(done, outfile_open(&job->file[job->files], path, error));
    TRY_OR(done, outfile_write(&job->file[job->files++], t->text, t->size, error));
done:
    free(t->text);
    return error->status;
}

/* The models of a range of ranks have the same lengths. */
static enum status check_shape(struct job *job, struct error *error)
{
    const struct shape *shape = &job->model.k.shape;
    for (int n = shape->order; n < MAX_ORDER && job->shape.order == 0; n++)
        if (job->order[n] == VIEW_ORDERED)
            return error_set(error, STATUS_INPUT, "--ordered: mode %d, but the model has %d mode%s",
                             n + 1, shape->order, shape->order == 1 ? "" : "s");
    if (job->shape.order == 0)
        job->shape = *shape;
    if (!shape_equal(&job->shape, shape))
        return error_set(error, STATUS_INPUT,
                         "%s: the model has other lengths than those of other ranks",
                         job->model.stem);
    return STATUS_OK;
}

/* The page of the model of a stem. `record_path` is NULL where there is no record. */
static enum status make_page(struct job *job, const char *stem, const char *record_path,
                             const char *path, struct error *error)
{
    struct named_model *model = &job->model;
    struct mode_view view[MAX_ORDER] = {0};
    json_t *record = NULL;
    struct page_text text;
    TRY(check_output(job, stem, record_path, path, error));
    TRY_OR(done, cmd_read_model(model, stem, &job->common, error));
    TRY_OR(done, named_model_drop_means(model, error));
    TRY_OR(done, check_shape(job, error));
    if (record_path) {
        TRY_OR(done, json_read(&record, record_path, error));
        TRY_OR(done, page_check_record(record, &model->k, record_path, error));
    }
    TRY_OR(done, mode_views_make(view, &model->k, &model->names, job->order, job->top, error));
    if (job->residuals.path) {
        TRY_OR(done, model_residuals_begin(&job->residuals, &job->common, error));
        job->residuals.sums.places = true;
        TRY_OR(done, model_entries_each(&job->residuals.entries, model_residuals_take,
                                        &job->residuals, error));
        TRY_OR(done, model_residuals_end(&job->residuals, error));
    }
    progress_stage(&job->common.progress, "writing");
    TRY_OR(done, begin_text(&text, error));
    page_write(
        text.to,
        &(struct page){.stem = stem,
                       .model = &model->k,
                       .labels = &model->names,
                       .facts = &model->facts,
                       .view = view,
                       .record = record,
                       .residuals = job->residuals.path ? &job->residuals.sums : NULL,
                       .tensor = job->residuals.path ? page_file_name(job->residuals.path) : NULL},
        error);
    end_text(&text, job, path, error);
done:
    mode_views_free(view);
    model_residuals_free(&job->residuals);
    json_decref(record);
    ktensor_free(&model->k);
    return error->status;
}

/* What is about one model has no place on the page of several, the only one on standard output; and
 * a record is that of one run. */
static enum status check_range(const struct job *job, bool pages, struct error *error)
{
    const char *option = job->record ? "--record" : pages ? NULL : job->top_given;
    if (job->residuals.path && strcmp(job->residuals.path, "-") == 0)
        return error_set(error, STATUS_INPUT,
                         "--residuals -: is read for each rank, expected the name of a file");
    if (job->residuals.path && !pages)
        option = "--residuals";
    for (int n = 0; n < MAX_ORDER && !pages; n++)
        if (job->model.names.mode[n].path || job->order[n] != VIEW_FIND_OUT)
            option = job->model.names.mode[n].path ? "--labels" : "--ordered";
    if (option)
        return error_set(
            error, STATUS_INPUT,
            "%s is for the page of one model, but %s has several ranks: %s.rR expected", option,
            job->stem, job->stem);
    return STATUS_OK;
}

/* PAGE.rR.html of the model STEM.rR, if it is there; *made says so. */
static enum status make_page_of_rank(struct job *job, const char *base, double rank, bool *made,
                                     struct error *error)
{
    char *path = NULL, *record = NULL;
    char *stem = memory_text(error, "%s.r%.0f", job->stem, rank);
    TRY_OR(done, error->status);
    *made = model_exists(stem, error);
    TRY_OR(done, error->status);
    if (!*made)
        goto done;
    path = memory_text(error, "%s.r%.0f.html", base, rank);
    record = found_beside(stem, "json", error);
    TRY_OR(done, error->status);
    make_page(job, stem, record, path, error);
done:
    memory_free(stem, path, record);
    return error->status;
}

/* The page of a range of ranks, with links to those of the ranks, unless it goes to standard
 * output. */
static enum status make_pages_of_range(struct job *job, struct error *error)
{
    static const char ending[] = ".html";
    const char *path = job->output_path;
    const size_t length = strlen(path), rest = sizeof ending - 1;
    const bool pages = strcmp(path, "-") != 0,
               html = length > rest && strcmp(path + length - rest, ending) == 0;
    /* Whether the page is in the folder of the models, as far as their names tell. */
    const char *page_end = strrchr(path, '/'), *stem_end = strrchr(job->stem, '/');
    const size_t folder = page_end ? (size_t)(page_end - path) : 0;
    const bool beside = !page_end == !stem_end &&
                        folder == (stem_end ? (size_t)(stem_end - job->stem) : 0) &&
                        strncmp(path, job->stem, folder) == 0;
    json_t *file = NULL;
    bool *made = NULL;
    struct page_text text;
    char *base = memory_text(error, "%.*s", (int)(html ? length - rest : length), path);
    TRY_OR(done, error->status);
    TRY_OR(done, check_output(job, job->stem, NULL, path, error));
    TRY_OR(done, check_range(job, pages, error));
    TRY_OR(done, json_read(&file, job->ranks_path, error));
    TRY_OR(done, page_ranks_check(file, job->ranks_path, error));
    const json_t *ranks = json_object_get(file, "ranks"), *rank;
    size_t i;
    made = memory_zeros(json_array_size(ranks), sizeof *made, error);
    TRY_OR(done, error->status);
    json_array_foreach(ranks, i, rank)
        if (pages && !json_text_at(rank, "failure"))
            TRY_OR(done,
                   make_page_of_rank(job, base, json_number_at(rank, "rank"), &made[i], error));
    TRY_OR(done, begin_text(&text, error));
    page_ranks_write(text.to,
                     &(struct page_ranks){.stem = job->stem,
                                          .file = file,
                                          .beside = beside,
                                          .base = page_file_name(base),
                                          .made = made},
                     error);
    end_text(&text, job, path, error);
done:
    json_decref(file);
    memory_free(made, base);
    return error->status;
}

static enum status run(void *settings, const struct cli_line *line, struct error *error)
{
    struct job *job = settings;
    TRY(cli_single_operand(line, "model", error));
    job->stem = line->operand[0];
    job->residuals.model = &job->model;
    job->residuals.loss = loss_of(job->common.options.problem.loss);
    job->residuals.wanted = job->residuals.path != NULL;
    job->residuals.strangest = job->residuals.path ? job->top : 0;
    if (!job->residuals.path && job->common.options.host_memory > 0)
        return error_set(error, STATUS_INPUT, "--host-memory: only with --residuals");
    TRY(cmd_begin(&job->common, error));
    job->output_path =
        job->output ? memory_text(error, "%s", job->output) : path_beside(job->stem, "html", error);
    job->ranks_path = found_beside(job->stem, "ranks.json", error);
    TRY(error->status);
    if (job->ranks_path) {
        TRY(make_pages_of_range(job, error));
    } else {
        char *record = job->record ? memory_text(error, "%s", job->record)
                                   : found_beside(job->stem, "json", error);
        if (error->status == STATUS_OK)
            make_page(job, job->stem, record, job->output_path, error);
        memory_free(record);
        TRY(error->status);
    }
    for (int i = 0; i < job->files; i++) /* the page with the links comes last */
        TRY(outfile_commit(&job->file[i], error));
    if (job->files == 0)
        progress_done(&job->common.progress, "standard output");
    else if (job->files == 1)
        progress_done(&job->common.progress, "%s", job->output_path);
    else
        progress_done(&job->common.progress, "%s and %d pages of its models", job->output_path,
                      job->files - 1);
    return STATUS_OK;
}

static void free_job(void *settings)
{
    struct job *job = settings;
    for (int i = 0; i < job->files; i++)
        outfile_discard(&job->file[i]);
    memory_free(job->file);
    named_model_free(&job->model);
    memory_free(job->output_path, job->ranks_path);
}

const struct command cmd_report = {
    .name = "report",
    .summary = "write a page about a model",
    .usage = "Usage: blco report STEM [-o FILE] [--residuals TENSOR] [OPTION]...\n\nWrites a page "
             "(HTML) about the model whose files begin with STEM: weights, each\ncomponent in "
             "each mode, how good the model is, and what was run; with\n--residuals also the "
             "strangest entries of a tensor. For a range of ranks (blco\ncpd -r A:B): how the "
             "models compare, and a page of each. A page is one file and\nneeds no network.\n",
    .ending = "\nExit status: 0 done, 2 usage or input, 3 memory, 5 output. See blco-report(1).\n",
    .sections = sections,
    .settings = sizeof(struct job),
    .run = run,
    .free = free_job,
    .operands = CMD_MODELS " " CMD_TENSORS,
};
