#include "commands/cpd/cpd_job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/outfile_set.h"
#include "commands/file_roles.h"
#include "ranks/model_collect.h"

#define LARGE  UINT64_C(2000000000) /* bytes of text that take long to write and to read */
#define FOLDER "blco-rescue-XXXXXX" /* mkdtemp() makes the last six characters unique */

enum status cpd_output_check(const struct cpd_settings *s, struct error *error)
{
    struct file_roles files = {0};
    char *lock = s->nowrite ? NULL : memory_text(error, "%s.lock", s->stem);
    char *ranks = cpd_ranks_file_name(s, error);
    file_roles_add_tensor(&files, s->tensor, &s->common.csv, error);
    file_roles_add(&files, FILE_CHECKPOINT_READ, s->resume, error);
    file_roles_add_stem(&files, FILE_START_READ, s->init_stem, error);
    file_roles_add_stem(&files, FILE_MODEL, s->nowrite ? NULL : s->stem, error);
    file_roles_add(&files, FILE_LOCK, lock, error);
    file_roles_add(&files, FILE_RANKS, ranks, error);
    file_roles_add(&files, FILE_CHECKPOINT, s->saving.path, error);
    file_roles_add(&files, FILE_RECORD, s->record, error);
    file_roles_check(&files, error);
    memory_free(lock);
    memory_free(ranks);
    return error->status;
}

enum status cpd_output_open(const struct cpd_settings *s, struct stem_lock *lock,
                            struct error *error)
{
    if (s->nowrite)
        return STATUS_OK;
    TRY(ktensor_writable(s->stem, s->formats, error));
    char *ranks = cpd_ranks_file_name(s, error);
    if (ranks)
        outfile_check(ranks, error);
    memory_free(ranks);
    TRY(error->status);
    char *path = s->rescue ? memory_text(error, "%s/" FOLDER, s->rescue) : NULL;
    if (path && outfile_check(path, error) != STATUS_OK)
        error_prefix(error, "--rescue: ");
    memory_free(path);
    TRY(error->status);
    return outfile_set_lock(lock, s->stem, error);
}

/* Bytes that rank 0 has for the whole model beside the parts of the ranks of its host, as if each
 * were as large as its own. The nonzeros, which take memory now, are freed by then. */
static uint64_t room_for_whole(const struct cpd_settings *s, const struct comm *c,
                               const struct rank_tensor *t)
{
    uint64_t rank = s->common.options.problem.rank, sharers = 1;
    const bool by_rows = cpd_settings_by_rows(s, t->listed.unknown);
    uint64_t part = ktensor_bytes(by_rows ? &t->shape : &t->part.here, rank),
             budget = s->common.options.host_memory;
    if (budget == 0) {
        uint64_t nonzeros = t->input.x.nnz * (4 * (uint64_t)t->shape.order + sizeof(double));
        sharers = (uint64_t)c->local_size;
        budget = machine_memory_budget(0);
        if (budget < UINT64_MAX / 2)
            budget += (uint64_t)(MACHINE_MEMORY_FRACTION * (double)(sharers * nonzeros));
    }
    return budget > sharers * part ? budget - sharers * part : 0;
}

enum status cpd_output_choose_spread(bool *spread, const struct cpd_settings *s, struct comm *c,
                                     const struct rank_tensor *t, struct error *error)
{
    char model[NUMBER_SIZE_TEXT], memory[NUMBER_SIZE_TEXT];
    if (c->shares_memory)
        return STATUS_OK;
    const uint64_t bytes = ktensor_bytes(&t->shape, s->common.options.problem.rank);
    uint64_t room = room_for_whole(s, c, t);
    TRY(comm_bcast(c, 0, &room, sizeof room, error));
    *spread = bytes * (uint64_t)s->runs.starts * (s->runs.halves.mode > 0 ? 3 : 1) > room;
    if (!*spread)
        return STATUS_OK;
    number_size(bytes, model);
    number_size(room, memory);
    if (s->init_stem)
        return error_set(
            error, STATUS_MEMORY,
            "the model of %s does not fit into the %s of host memory that rank 0 has besides its "
            "part: --init %s is impossible, since every rank needs the whole start",
            model, memory, s->init_stem);
    if (s->runs.halves.mode > 0)
        return error_set(
            error, STATUS_MEMORY,
            "models of %s, of the tensor and of two halves (--split-half), do not fit into the %s "
            "of host memory that rank 0 has besides its part",
            model, memory);
    if (s->runs.starts > 1)
        return error_set(
            error, STATUS_MEMORY,
            "%d models of %s, one for each of --starts, do not fit into the %s of host "
            "memory that rank 0 has besides its part",
            s->runs.starts, model, memory);
    return STATUS_OK;
}

/* A model, and where it goes. */
struct output {
    const struct cpd_settings *settings;
    struct ktensor_source model;
    struct cpd_results *results;
};

/* Writes the files of the stem that *lock has locked. */
static enum status write_files(const struct output *o, struct stem_lock *lock, struct error *error)
{
    struct cpd_results *r = o->results;
    ktensor_files_free(&r->files);
    return ktensor_write(&o->model, &r->names, lock, o->settings->formats, &r->files, error);
}

/* Writes the model into a new folder in `parent`; *stem, which the caller frees, says where. Leaves
 * nothing there where there is no room. */
static enum status rescue_into(const struct output *o, const char *parent, char **stem,
                               struct error *error)
{
    const char *slash = strrchr(o->settings->stem, '/');
    const char *name = slash ? slash + 1 : o->settings->stem;
    struct stem_lock lock = {0};
    char *folder = memory_text(error, "%s/" FOLDER, parent);
    if (!folder)
        return error->status;
    if (!mkdtemp(folder)) {
        error_set(error, STATUS_OUTPUT, "%s: %s", parent, strerror(errno));
        goto done;
    }
    *stem = memory_text(error, "%s/%s", folder, name);
    if (*stem && outfile_set_lock(&lock, *stem, error) == STATUS_OK)
        write_files(o, &lock, error);
    stem_lock_release(&lock);
    if (error->status != STATUS_OK)
        rmdir(folder);
done:
    memory_free(folder);
    return error->status;
}

/* The model cannot be written at its stem, for the reason in *error: writes it to the first of the
 * folders that may take it, and adds to *error where. */
static void rescue(const struct output *o, struct error *error)
{
    const char *temporary = getenv("TMPDIR");
    const char *const folder[] = {o->settings->rescue, temporary, "/tmp"};
    struct error last = {0};
    for (int i = 0; i < 3; i++) {
        char *stem = NULL;
        if (!folder[i] || !*folder[i])
            continue;
        last = (struct error){0};
        if (rescue_into(o, folder[i], &stem, &last) == STATUS_OK)
            error_append(error, "; the model went to the stem %s", stem);
        memory_free(stem);
        if (last.status == STATUS_OK)
            return;
    }
    error_append(error, "; the model is lost: %s", last.message);
}

void cpd_format_hint_text(uint64_t text_bytes, uint64_t npy_bytes, char *text, size_t size)
{
    char large[NUMBER_SIZE_TEXT], small[NUMBER_SIZE_TEXT];
    text[0] = '\0';
    if (text_bytes <= LARGE)
        return;
    snprintf(text, size,
             "writing about %s of text: --format npy would take %s, and less time to write and to "
             "read",
             number_size(text_bytes, large), number_size(npy_bytes, small));
}

/* Writes the model at its stem, or rescues it. Where that is more than 2 GB of text, and no .npy
 * files are written, shows how large these would be. */
static enum status write_model(const struct output *o, struct cpd_run *run, struct error *error)
{
    const struct ktensor *rows = &o->results->model;
    const struct cpd_settings *s = o->settings;
    const uint64_t whole = ktensor_bytes(&o->model.k->shape, rows->rank);
    const double share = (double)whole / (double)ktensor_bytes(&rows->shape, rows->rank);
    char text[160] = "";
    if (!(s->formats & KTENSOR_NPY))
        cpd_format_hint_text((uint64_t)(share * (double)ktensor_text_bytes(rows, s->formats)),
                             whole, text, sizeof text);
    if (text[0])
        progress_note(&run->progress, "%s", text);
    progress_stage(&run->progress, "writing");
    if (write_files(o, &run->lock, error) != STATUS_OK)
        rescue(o, error);
    else
        progress_done(&run->progress, "%d files", o->results->files.count);
    return error->status;
}

enum status cpd_output_write(const struct cpd_settings *s, struct cpd_run *run,
                             struct cpd_results *results, struct error *error)
{
    double start = clock_now();
    struct model_rows rows = {0};
    struct ktensor whole = results->model;
    struct output o = {s, {.k = &whole}, results};
    if (s->nowrite)
        return STATUS_OK;
    if (run->spread) {
        whole.shape = run->rows.part.whole;
        o.model.bring = model_rows_bring;
        o.model.context = &rows;
        TRY_OR(done, model_rows_open(&rows, &results->model, &run->rows, error));
    }
    if (run->world->rank == 0)
        write_model(&o, run, error);
    if (run->spread)
        model_rows_end(&rows, error);
    results->times.write = clock_now() - start;
done:
    model_rows_close(&rows);
    return error->status;
}
