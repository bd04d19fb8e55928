/* blco cpd: from a tensor file to the files of its model. */
#include "commands/cmd.h"

#include <signal.h>
#include <string.h>

#include "als/cpals.h"
#include "base/clock.h"
#include "base/version.h"
#include "commands/cpd_settings.h"
#include "commands/cpd_summary.h"
#include "formats/tensor_input.h"
#include "model/ktensor_io.h"

static volatile sig_atomic_t interrupted; /* the signal that asked for the end, or 0 */

/* The first signal lets the iteration finish; the second ends the program as if there were no
 * handler. */
static void on_signal(int number)
{
    if (interrupted) {
        signal(number, SIG_DFL);
        raise(number);
    }
    interrupted = number;
}

/* Before this call a signal ends the program at once, for there is nothing to save. A signal that
 * the parent process set to be ignored (nohup, a job in the background) stays ignored. */
static void catch_signals(void)
{
    const int numbers[] = {SIGINT, SIGTERM};
    for (int i = 0; i < 2; i++) {
        struct sigaction now, action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
        sigemptyset(&action.sa_mask);
        if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
}

struct job {
    struct cpd_settings settings;
    const struct backend_kind *kind;
    struct backend backend;
    struct tensor_input input;
    struct ktensor model;
    struct ktensor_files files;
    struct cpals_result result;
    struct cpd_times times;
    struct progress progress;
};

/* Checks all that can be checked before the tensor is read. */
static enum status prepare(struct job *job, struct error *error)
{
    struct cpd_settings *s = &job->settings;
    struct error why_not = {0};
    if (cmd_choose_backend(&s->common, &job->kind, &why_not, error) != STATUS_OK)
        return error->status;
    if (!s->nowrite && ktensor_writable(s->stem, error) != STATUS_OK)
        return error->status;
    if (s->init_stem) {
        if (ktensor_read(&job->model, s->init_stem, 0, error) != STATUS_OK)
            return error->status;
        if (job->model.rank != s->common.options.rank)
            return error_set(
                error, STATUS_INPUT, "--init %s: a model of rank %ju, expected the rank %ju of -r",
                s->init_stem, (uintmax_t)job->model.rank, (uintmax_t)s->common.options.rank);
    }
    int threads = cmd_set_threads(s->common.threads);
    progress_note(&job->progress, "blco %s: backend %s%s%s%s, %d thread%s, rank %ju, seed %ju",
                  version_text, job->kind->name, why_not.status ? " (" : "", why_not.message,
                  why_not.status ? ")" : "", threads, threads == 1 ? "" : "s",
                  (uintmax_t)s->common.options.rank, (uintmax_t)s->seed);
    return STATUS_OK;
}

static enum status open_tensor(struct job *job, struct error *error)
{
    const struct cpd_settings *s = &job->settings;
    if (tensor_input_open(&job->input, s->tensor, &s->common.tns, &job->progress, error) ==
        STATUS_OK)
        cpd_warn_shape(&job->progress, &job->input.x, s->common.options.rank);
    return error->status;
}

/* Refuses a start whose shape is not that of the tensor. */
static enum status check_start(const struct job *job, struct error *error)
{
    const char *stem = job->settings.init_stem;
    const struct ktensor *k = &job->model;
    if (k->shape.order != job->input.x.shape.order)
        return error_set(error, STATUS_INPUT, "--init %s: %d modes, but the tensor has %d", stem,
                         k->shape.order, job->input.x.shape.order);
    for (int n = 0; n < k->shape.order; n++)
        if (k->shape.dims[n] != job->input.x.shape.dims[n])
            return error_set(error, STATUS_INPUT,
                             "--init %s: mode %d has %ju rows, but the tensor's has length %ju",
                             stem, n + 1, (uintmax_t)k->shape.dims[n],
                             (uintmax_t)job->input.x.shape.dims[n]);
    return STATUS_OK;
}

/* Refuses what fits nowhere, before anything large is made. */
static enum status plan_and_read(struct job *job, struct error *error)
{
    if (job->settings.init_stem && check_start(job, error) != STATUS_OK)
        return error->status;
    return backend_prepare(&job->backend, job->kind, &job->input, &job->settings.common.options,
                           NULL, &job->progress, error);
}

static enum status make_start(struct job *job, struct error *error)
{
    const struct cpd_settings *s = &job->settings;
    const struct coo *x = &job->input.x;
    if (!s->init_stem &&
        ktensor_create(&job->model, &x->shape, s->common.options.rank, error) == STATUS_OK)
        ktensor_randomise(&job->model, s->init, s->seed);
    return error->status;
}

static void show_plan(struct job *job)
{
    char text[4096];
    struct backend_built built;
    backend_built(&job->backend, &built);
    plan_describe(&built.plan, &built.groups, text, sizeof text);
    for (char *text_line = strtok(text, "\n"); text_line; text_line = strtok(NULL, "\n"))
        progress_note(&job->progress, "%s", text_line);
}

/* Tells which kernel computed each mode's MTTKRP in the end, if there was a choice. */
static void show_kernels(struct job *job)
{
    char text[96];
    for (int n = 0; n < job->backend.order; n++) {
        backend_describe(&job->backend, n, text, sizeof text);
        if (text[0])
            progress_note(&job->progress, "mode %d: MTTKRP kernel %s", n + 1, text);
    }
}

static enum status decompose(struct job *job, struct error *error)
{
    const struct cpd_settings *s = &job->settings;
    const struct cpals_options options = {
        .max_iterations = s->iterations, .tolerance = s->tolerance, .interrupted = &interrupted};
    struct backend_built built;
    progress_stage(&job->progress, "building");
    if (backend_open_prepared(&job->backend, &job->input, &s->common.options, &job->progress,
                              error) != STATUS_OK)
        return error->status;
    job->times.read = job->input.read_seconds;
    job->times.clean = job->input.clean_seconds;
    tensor_input_close(&job->input); /* the backend has its own copy */
    backend_built(&job->backend, &built);
    int orderings = plan_orderings(&built.plan);
    progress_done(&job->progress, "%d ordering%s", orderings, orderings == 1 ? "" : "s");
    if (s->verbose)
        show_plan(job);
    catch_signals();
    enum status status =
        cpals_run(&job->backend, &job->model, &options, &job->progress, &job->result, error);
    memcpy(job->times.operation, job->backend.seconds, sizeof job->times.operation);
    if (s->verbose)
        show_kernels(job);
    backend_close(&job->backend);
    return status;
}

static enum status write_model(struct job *job, struct error *error)
{
    const struct cpd_settings *s = &job->settings;
    if (s->nowrite)
        return STATUS_OK;
    double start = clock_now();
    progress_stage(&job->progress, "writing");
    if (ktensor_write(&job->model, s->stem, s->formats, &job->files, error) != STATUS_OK)
        return error->status;
    progress_done(&job->progress, "%d files", job->files.count);
    job->times.write = clock_now() - start;
    return STATUS_OK;
}

static enum status run(struct job *job, struct error *error)
{
    if (prepare(job, error) != STATUS_OK || open_tensor(job, error) != STATUS_OK ||
        plan_and_read(job, error) != STATUS_OK || make_start(job, error) != STATUS_OK ||
        decompose(job, error) != STATUS_OK || write_model(job, error) != STATUS_OK)
        return error->status;
    cpd_warn_zeros(&job->progress, &job->model);
    cpd_summarise(&job->progress, &job->result, &job->times, job->model.shape.order,
                  job->settings.verbose, &job->files);
    return STATUS_OK;
}

int cmd_cpd(int argc, char **argv, struct error *error)
{
    struct job job = {.times.start = clock_now()};
    if (cpd_settings_parse(&job.settings, argc, argv, error) == STATUS_OK &&
        !cmd_common_answered(&job.settings.common, cmd_cpd_help)) {
        progress_init(&job.progress, job.settings.common.quiet ? NULL : stderr);
        run(&job, error);
        progress_clear(&job.progress);
    }
    backend_close(&job.backend);
    tensor_input_close(&job.input);
    ktensor_free(&job.model);
    ktensor_files_free(&job.files);
    cpd_settings_free(&job.settings);
    if (error->status == STATUS_OK && interrupted)
        return 128 + interrupted;
    return (int)error->status;
}
