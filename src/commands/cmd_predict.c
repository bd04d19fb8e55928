/* blco predict: the values of a model at given coordinates, and how far given values are from them.
 */
#include "commands/cmd.h"

#include <math.h>
#include <string.h>

#include "commands/model_residuals.h"
#include "commands/options/cmd_common.h"
#include "commands/tensor_target.h"

struct job {
    struct cmd_common common;
    const char *stem, *output; /* as given; borrowed */
    bool json, force;
    const char *labels_given; /* "--labels", or NULL */
    struct named_model model;
    struct model_residuals residuals; /* residuals.strangest 0: the text lines are wanted */
    struct prediction_file file;
    bool writes; /* `file` is open */
};

static const struct cli_option input_options[] = {
    {"--index-base", 0, "0|1",
     "the number of the first index, in COORDS and in the\noutput "
     "({default}, where COORDS is .npy 0)",
     CMD_INDEX_BASE},
    {"--match", 0, "HOW",
     "how indices of COORDS find those of the model:\n{words}; by names, where there are\nany, "
     "nan where the model lacks one; all: it has to\nhave all; index: they agree ({default})",
     CLI_CHOICE(struct job, residuals.match, match_words), .initial = "names"},
    {.name = NULL}};

static const struct cli_option output_options[] = {
    {"--output", 'o', "FILE",
     "name of the output (standard output, -); FILE.npy:\nan array of the values alone, FILE.gz: "
     "gzip",
     CLI_NAME(struct job, output)},
    {"--force", 0, NULL, "replace FILE if it exists", CLI_FLAG(struct job, force),
     .needs = "--output"},
    {"--labels", 0, "MODE=FILE",
     "write labels in place of indices: text line k of FILE\nis the label of index k of the mode; "
     "for several\nmodes, separate them by commas or repeat the option;\nnone: indices "
     "(STEM.modeN.map, if it exists)",
     CLI_OWN(cmd_set_labels, struct labels, struct job, model.names),
     CLI_GIVEN(struct job, labels_given)},
    {"--residuals", 0, NULL, "a further column: the value in COORDS less that of\nthe model",
     CLI_FLAG(struct job, residuals.wanted)},
    {"--loss", 0, "WHAT",
     "with --residuals:\n{words};\nall but squares have residuals of deviance and of\n"
     "Pearson, and p-values (the model's, else {default})",
     CLI_CHOICE(struct job, common.options.problem.loss, loss_words), .initial = "squares",
     CLI_GIVEN(struct job, residuals.loss_given), .needs = "--residuals"},
    {"--count", 'n', "N",
     "with --residuals: print the N strangest entries and\nslices of each mode in place of all "
     "entries",
     CLI_UNSIGNED(struct job, residuals.strangest, 1, MAX_LENGTH), .needs = "--residuals"},
    {"--unlisted", 0, "WHAT",
     "with -n, of counts: entries that COORDS does not list\nare {words}; zeros are looked at, too "
     "(as the\nmodel has it)",
     CLI_CHOICE(struct job, residuals.unlisted, cmd_unlisted_words),
     CLI_GIVEN(struct job, residuals.unlisted_given), .needs = "--count"},
    {"--json", 0, NULL, "with -n: print JSON in place of tables", CLI_FLAG(struct job, json),
     .needs = "--count"},
    {.name = NULL}};

static const struct cli_section sections[] = {{"Input", input_options},
                                              {"Output", output_options},
                                              {"Machine", cmd_host_options},
                                              {"General", cmd_general_options},
                                              {NULL, NULL}};

/* --- the entries, some at a time --- */

static enum status take(void *context, const struct coo *piece, const struct coo *at,
                        const uint64_t *from, struct error *error)
{
    struct job *job = context;
    TRY(model_residuals_take(&job->residuals, piece, at, from, error));
    double *value = job->residuals.value;
    for (uint64_t i = piece->nnz, k = at->nnz; from && i-- > 0;) /* to their places in the piece */
        value[i] = k > 0 && from[k - 1] == i ? value[--k] : NAN;
    return job->writes ? prediction_file_append(&job->file, piece, value, error) : STATUS_OK;
}

/* --- the result --- */

/* Gives the output file its name when all that may fail is done. */
static enum status finish(struct job *job, struct error *error)
{
    const struct residuals *sums = &job->residuals.sums;
    struct progress *progress = &job->common.progress;
    struct json j = {0};
    char text[RESIDUAL_TEXT];
    TRY(model_residuals_end(&job->residuals, error));
    if (job->json) {
        json_begin(&j, error);
        json_put_object(&j, NULL);
        json_put_string(&j, "model", job->stem);
        json_put_string(&j, "coordinates", job->residuals.path);
        json_put_unsigneds(&j, "lengths", job->model.k.shape.dims,
                           (size_t)job->model.k.shape.order);
        json_put_unsigned(&j, "index_base", (uint64_t)sums->index_base);
        residual_put_json(&j, sums);
        json_end(&j);
        TRY_OR(done, error->status);
    }
    if (job->writes)
        TRY_OR(done, prediction_file_commit(&job->file, error));
    progress_clear(progress);
    if (job->json)
        cmd_print_json(&j);
    else if (job->residuals.strangest)
        residual_print(stdout, sums);
    else if (job->residuals.wanted)
        progress_note(progress, "%s", residual_text(sums, text));
done:
    json_free(&j);
    return error->status;
}

static enum status run(void *settings, const struct cli_line *line, struct error *error)
{
    struct job *job = settings;
    struct model_residuals *m = &job->residuals;
    job->file.array.fd = -1;
    TRY(cli_two_operands(line, "names", "STEM", "COORDS", error));
    job->stem = line->operand[0];
    m->path = line->operand[1];
    m->loss = loss_of(job->common.options.problem.loss);
    m->model = &job->model;
    if (m->strangest && job->output && strcmp(job->output, "-") == 0)
        error_set(error, STATUS_INPUT,
                  "--output: with --count, standard output has the strangest entries: expected the "
                  "name of a file");
    else if (job->output && job->labels_given && !m->strangest &&
             prediction_file_is_array(job->output))
        error_set(error, STATUS_INPUT, "--labels: %s has the values alone", job->output);
    TRY(cli_hint(line, error));
    const char *target = job->output ? job->output : m->strangest ? NULL : "-"; /* of text lines */
    if (target)
        TRY(values_target_check(target, job->stem, &job->model.names, m->path, job->force, error));
    TRY(cmd_read_model(&job->model, job->stem, &job->common, error));
    TRY(model_residuals_begin(m, &job->common, error)); /* the output counts as arrays do */
    const struct prediction_form form = {.order = job->model.k.shape.order,
                                         .labels = model_entries_names(&m->entries),
                                         .index_base = job->common.tns.index_base,
                                         .residuals = m->wanted,
                                         .loss = m->loss};
    job->writes = target != NULL;
    for (int n = 0; job->writes && form.labels != &job->model.names && n < form.order; n++)
        if (job->model.names.mode[n].given)
            return error_set(error, STATUS_INPUT,
                             "--labels %d=%s: %s has names of its own, which are written: expected "
                             "no labels",
                             n + 1, job->model.names.mode[n].path, m->path);
    if (job->writes)
        TRY(prediction_file_open(&job->file, target, &form, error));
    TRY(model_entries_each(&m->entries, take, job, error));
    return finish(job, error);
}

static void free_job(void *settings)
{
    struct job *job = settings;
    if (job->residuals.path)
        prediction_file_free(&job->file);
    model_residuals_free(&job->residuals);
    named_model_free(&job->model);
}

const struct command cmd_predict = {
    .name = "predict",
    .summary = "compute the values of a model at given coordinates",
    .usage =
        "Usage: blco predict STEM COORDS [-o FILE] [OPTION]...\n\nPrints the value of a model at "
        "each of the coordinates in COORDS, in their\norder: text lines i j k value. STEM is the "
        "beginning of the names of a model's\nfiles, as given to blco cpd -o, or a .ktns file. "
        "COORDS is text (.tns), plain or\ngzip, with values or without, a .blco file, COORDS.npy, "
        "COORDS.npy,VALUES.npy,\n- for text from standard input, or CSV with the columns of the "
        "model's table.\nWith --residuals, COORDS has values, and -n shows those that the model\n"
        "explains worst. COORDS may be larger than memory, unless it is CSV.\n",
    .ending =
        "\nExit status: 0 done, 2 usage or input, 3 memory, 5 output. More in\nblco-predict(1).\n",
    .sections = sections,
    .settings = sizeof(struct job),
    .run = run,
    .free = free_job,
    .operands = CMD_MODELS " " CMD_TENSORS,
};
