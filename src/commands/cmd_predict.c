/* blco predict: the values of a model at given coordinates, and how far given values are from them.
 */
#include "commands/cmd.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "commands/model_entries.h"
#include "commands/options/cmd_common.h"
#include "commands/tensor_target.h"
#include "formats/npy/npy_tensor.h"
#include "model/ktensor.h"
#include "report/residuals.h"

#define ENTRY_OVERHEAD 24 /* bytes of an entry for the model's value and a row */

struct job {
    struct cmd_common common;
    const char *stem, *coordinates, *output; /* as given; borrowed              */
    bool residuals, json, force;
    uint64_t count;           /* of what is strangest; 0: the text lines are wanted */
    const char *labels_given; /* "--labels", or NULL */
    const char *loss_given;   /* "--loss", or NULL   */
    int unlisted;             /* 1: entries that are not in COORDS are zeros; 0: unknown */
    const char *unlisted_given;
    enum match match;
    struct named_model model;
    struct model_entries entries;
    const struct loss *loss; /* borrowed */
    struct prediction_file file;
    bool writes; /* `file` is open */
    struct residuals sums;
    double *value; /* (room) the model's values; owned */
    uint64_t room;
};

static const struct cli_option input_options[] = {
    {"--index-base", 0, "0|1",
     "the number of the first index, in COORDS and in the\noutput "
     "({default}, where COORDS is .npy 0)",
     CMD_INDEX_BASE},
    {"--match", 0, "HOW",
     "how indices of COORDS find those of the model:\n{words}; by names, where there are\nany, "
     "nan where the model lacks one; all: it has to\nhave all; index: they agree ({default})",
     CLI_CHOICE(struct job, match, match_words), .initial = "names"},
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
     CLI_FLAG(struct job, residuals)},
    {"--loss", 0, "WHAT",
     "with --residuals: {words}; poisson is for\ncounts, with residuals of deviance and of "
     "Pearson,\nand p-values (the model's, else {default})",
     CLI_CHOICE(struct job, common.options.problem.loss, loss_words), .initial = "squares",
     CLI_GIVEN(struct job, loss_given), .needs = "--residuals"},
    {"--count", 'n', "N",
     "with --residuals: print the N strangest entries and\nslices of each mode in place of all "
     "entries",
     CLI_UNSIGNED(struct job, count, 1, MAX_LENGTH), .needs = "--residuals"},
    {"--unlisted", 0, "WHAT",
     "with -n, of counts: entries that COORDS does not list\nare {words}; zeros are looked at, too "
     "(as the\nmodel has it)",
     CLI_CHOICE(struct job, unlisted, cmd_unlisted_words), CLI_GIVEN(struct job, unlisted_given),
     .needs = "--count"},
    {"--json", 0, NULL, "with -n: print JSON in place of tables", CLI_FLAG(struct job, json),
     .needs = "--count"},
    {.name = NULL}};

static const struct cli_section sections[] = {{"Input", input_options},
                                              {"Output", output_options},
                                              {"Machine", cmd_host_options},
                                              {"General", cmd_general_options},
                                              {NULL, NULL}};

/* --- the entries, some at a time --- */

/* Refuses a value that the loss does not take. */
static enum status check_values(const struct job *job, const struct coo *piece, struct error *error)
{
    const struct loss *loss = job->loss;
    uint64_t i = 0;
    while (i < piece->nnz && (isnan(piece->value[i]) || loss->takes(piece->value[i])))
        i++;
    if (i == piece->nnz)
        return STATUS_OK;
    error_set(error, STATUS_INPUT, "%s: the value %g is %s; %s (at coordinates", job->coordinates,
              piece->value[i], loss->refused, loss->reason);
    for (int n = 0; n < piece->shape.order; n++)
        error_append(error, " %ju",
                     (uintmax_t)piece->index[n][i] + (uintmax_t)job->common.tns.index_base);
    return error_append(error, ")");
}

static enum status take(void *context, const struct coo *piece, const struct coo *at,
                        const uint64_t *from, struct error *error)
{
    struct job *job = context;
    if (piece->nnz > job->room) {
        TRY(memory_resize(&job->value, piece->nnz, sizeof *job->value, error));
        job->room = piece->nnz;
    }
    if (job->loss->rates)
        TRY(check_values(job, piece, error));
    ktensor_at(job->value, &job->model.k, at);
    if (job->residuals)
        TRY(residuals_add(&job->sums, at, job->value, error));
    for (uint64_t i = piece->nnz, k = at->nnz; from && i-- > 0;) /* to their places in the piece */
        job->value[i] = k > 0 && from[k - 1] == i ? job->value[--k] : NAN;
    return job->writes ? prediction_file_append(&job->file, piece, job->value, error) : STATUS_OK;
}

/* --- the result --- */

/* Gives the output file its name when all that may fail is done. */
static enum status finish(struct job *job, struct error *error)
{
    struct top_entries slices[MAX_ORDER] = {{0}};
    struct json j = {0};
    char text[RESIDUAL_TEXT];
    const struct residual_view view = {.residuals = &job->sums,
                                       .slices = slices,
                                       .labels = &job->model.names,
                                       .index_base = job->common.tns.index_base};
    TRY(residuals_rank(&job->sums, &job->model.k, &job->common.progress, error));
    for (int n = 0; job->count && n < job->model.k.shape.order; n++)
        TRY_OR(done, residuals_slices(&slices[n], &job->sums, n, error));
    if (job->json) {
        json_begin(&j, error);
        json_put_object(&j, NULL);
        json_put_string(&j, "model", job->stem);
        json_put_string(&j, "coordinates", job->coordinates);
        json_put_unsigneds(&j, "lengths", job->model.k.shape.dims,
                           (size_t)job->model.k.shape.order);
        json_put_unsigned(&j, "index_base", (uint64_t)view.index_base);
        residual_put_json(&j, &view);
        json_end(&j);
        TRY_OR(done, error->status);
    }
    if (job->writes)
        TRY_OR(done, prediction_file_commit(&job->file, error));
    progress_clear(&job->common.progress);
    if (job->count && !job->unlisted_given)
        residual_note(&job->sums, &job->model.facts, job->coordinates, &job->common.progress);
    if (job->json)
        cmd_print_json(&j);
    else if (job->count)
        residual_print(stdout, &view);
    else if (job->residuals)
        progress_note(&job->common.progress, "%s", residual_text(&job->sums, text));
done:
    for (int n = 0; n < MAX_ORDER; n++)
        top_entries_free(&slices[n]);
    json_free(&j);
    return error->status;
}

static enum status run(void *settings, const struct cli_line *line, struct error *error)
{
    static const char *const names[] = {"STEM", "COORDS"};
    struct job *job = settings;
    job->file.array.fd = -1;
    TRY(cli_two_operands(line, "names", names, error));
    job->stem = line->operand[0];
    job->coordinates = line->operand[1];
    job->loss = loss_of(job->common.options.problem.loss);
    if (job->count && job->output && strcmp(job->output, "-") == 0)
        error_set(error, STATUS_INPUT,
                  "--output: with --count, standard output has the strangest entries: expected the "
                  "name of a file");
    else if (job->output && job->labels_given && !job->count &&
             prediction_file_is_array(job->output))
        error_set(error, STATUS_INPUT, "--labels: %s has the values alone", job->output);
    else if (job->output && tensor_format_named(job->output) == &tensor_blco)
        error_set(error, STATUS_INPUT,
                  "%s: the output is text or an array, expected another name than of a .blco file",
                  job->output);
    TRY(cli_hint(line, error));
    job->match = job->model.names.none ? MATCH_INDEX : job->match;
    const char *target = job->output ? job->output : job->count ? NULL : "-"; /* of text lines */
    struct tns_options *tns = &job->common.tns;
    struct file_roles files = {0};
    struct model_entries *entries = &job->entries;
    *entries = (struct model_entries){.reader = {.path = job->coordinates,
                                                 .tns = tns,
                                                 .memory = cmd_host_memory(&job->common),
                                                 .overhead = ENTRY_OVERHEAD,
                                                 .progress = &job->common.progress},
                                      .model = &job->model,
                                      .match = job->match,
                                      .values_optional = !job->residuals};
    TRY(tensor_file_find_format(&entries->reader, error));
    const bool arrays = entries->reader.format == &tensor_npy;
    if (arrays) /* the output counts as the arrays do */
        tns->index_base = npy_tensor_index_base(tns);
    if (arrays && job->residuals && !npy_tensor_has_values(job->coordinates))
        return error_set(error, STATUS_INPUT,
                         "%s: no values, which --residuals needs: expected COORDS.npy,VALUES.npy",
                         job->coordinates);
    file_roles_add_stem(&files, FILE_MODEL_READ, job->stem, error);
    file_roles_add(&files, FILE_TENSOR_READ, job->coordinates, error);
    for (int n = 0; n < MAX_ORDER; n++)
        file_roles_add(&files, FILE_LABELS_READ, job->model.names.mode[n].path, error);
    if (target)
        tensor_target_check(target, &files, job->force, error);
    else
        file_roles_free(&files);
    TRY(error->status);
    TRY(cmd_read_model(&job->model, job->stem, &job->common, error));
    if (!job->loss_given && job->model.facts.known)
        job->loss = loss_of_word(job->model.facts.loss);
    TRY(model_entries_find_format(entries, error));
    TRY(model_entries_open(entries, error));
    const struct prediction_form form = {.order = job->model.k.shape.order,
                                         .labels = model_entries_names(entries),
                                         .index_base = tns->index_base,
                                         .residuals = job->residuals,
                                         .loss = job->loss};
    job->writes = target != NULL;
    for (int n = 0; job->writes && form.labels != &job->model.names && n < form.order; n++)
        if (job->model.names.mode[n].given)
            return error_set(error, STATUS_INPUT,
                             "--labels %d=%s: %s has names of its own, which are written: expected "
                             "no labels",
                             n + 1, job->model.names.mode[n].path, job->coordinates);
    if (job->unlisted_given && !job->loss->log_p)
        return error_set(error, STATUS_INPUT, "--unlisted: only with --loss poisson");
    if (!job->unlisted_given)
        job->unlisted = job->model.facts.unlisted == 1;
    if (job->residuals)
        TRY(residuals_begin(&job->sums, &job->model.k.shape, job->loss, job->count, job->unlisted,
                            error));
    if (job->writes)
        TRY(prediction_file_open(&job->file, target, &form, error));
    TRY(model_entries_each(entries, take, job, error));
    if (entries->alone > 0)
        progress_note(&job->common.progress, "%ju entr%s a name that the model lacks: nan",
                      (uintmax_t)entries->alone, entries->alone == 1 ? "y has" : "ies have");
    return finish(job, error);
}

static void free_job(void *settings)
{
    struct job *job = settings;
    if (job->coordinates)
        prediction_file_free(&job->file);
    residuals_free(&job->sums);
    memory_free(job->value);
    model_entries_close(&job->entries);
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
