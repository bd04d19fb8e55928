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

enum status cpd_output_open(struct cpd_job *job, struct error *error)
{
    const struct cpd_settings *s = &job->inputs.settings;
    struct cpd_run *run = &job->run;
    struct file_roles files = {0};
    char *lock = s->nowrite ? NULL : memory_text(error, "%s.lock", s->stem);
    char *rescue = s->rescue ? memory_text(error, "%s/" FOLDER, s->rescue) : NULL;
    file_roles_add_tensor(&files, s->tensor, &s->common.csv, error);
    file_roles_add(&files, FILE_CHECKPOINT_READ, s->resume, error);
    file_roles_add_stem(&files, FILE_START_READ, s->init_stem, error);
    file_roles_add_stem(&files, FILE_MODEL, s->nowrite ? NULL : s->stem, error);
    file_roles_add(&files, FILE_LOCK, lock, error);
    file_roles_add(&files, FILE_RANKS, s->ranks_path, error);
    file_roles_add(&files, FILE_CHECKPOINT, s->saving.path, error);
    file_roles_add(&files, FILE_RECORD, s->record, error);
    TRY_OR(done, file_roles_check(&files, error));
    if (!s->nowrite)
        TRY_OR(done, ktensor_writable(s->stem, s->formats, error));
    if (s->ranks_path)
        TRY_OR(done, outfile_check(s->ranks_path, error));
    if (rescue && outfile_check(rescue, error) != STATUS_OK)
        TRY_OR(done, error_prefix(error, "--rescue: "));
    if (!s->nowrite)
        TRY_OR(done, outfile_set_lock(&run->lock, s->stem, error));
    if (s->record && outfile_check(s->record, error) == STATUS_OK)
        outfile_open(&run->record, s->record, error);
done:
    memory_free(lock, rescue);
    return error->status;
}

enum status cpd_output_choose_spread(bool *spread, const struct cpd_settings *s, struct comm *c,
                                     const struct rank_tensor *t, struct error *error)
{
    const uint64_t means = s->center ? (uint64_t)t->shape.order + 1 : 0; /* at most */
    const uint64_t rank = s->common.options.problem.rank + means;
    const uint64_t bytes = ktensor_bytes(&t->shape, rank);
    if (c->shares_memory)
        return STATUS_OK;
    /* What rank 0 has beside the parts of the ranks of its host, as if each were as large as its
     * own. The nonzeros, which take memory now, are freed by then. */
    const bool by_rows = cpd_settings_by_rows(s, t->listed.unknown);
    uint64_t taken = ktensor_bytes(by_rows ? &t->shape : &t->part.here, rank),
             budget = s->common.options.host_memory;
    if (budget == 0) {
        const uint64_t nonzeros = (uint64_t)c->local_size * t->input.x.nnz *
                                  (4 * (uint64_t)t->shape.order + sizeof(double));
        taken *= (uint64_t)c->local_size;
        budget = machine_memory_budget(0);
        if (budget < UINT64_MAX / 2)
            budget += (uint64_t)(MACHINE_MEMORY_FRACTION * (double)nonzeros);
    }
    uint64_t room = budget > taken ? budget - taken : 0;
    TRY(comm_bcast(c, 0, &room, sizeof room, error));
    *spread = bytes * run_list_models(&s->runs) > room;
    if (!*spread)
        return STATUS_OK;
    if (s->init_stem)
        return error_set(
            error, STATUS_MEMORY,
            "the model of %s does not fit into the %s of host memory that rank 0 has besides its "
            "part: --init %s is impossible, since every rank needs the whole start",
            NUMBER_SIZE(bytes), NUMBER_SIZE(room), s->init_stem);
    if (s->runs.parts.mode > 0)
        return error_set(
            error, STATUS_MEMORY,
            "models of %s, of the tensor and of %d %s, do not fit into the %s of host memory that "
            "rank 0 has besides its part",
            NUMBER_SIZE(bytes), slice_parts_replicates(&s->runs.parts),
            slice_parts_are_halves(&s->runs.parts) ? "halves (--split-half)"
                                                   : "replicates (--replicate)",
            NUMBER_SIZE(room));
    if (s->runs.starts > 1)
        return error_set(
            error, STATUS_MEMORY,
            "%ju models of %s, so many wait with --starts, do not fit into the %s of host memory "
            "that rank 0 has besides its part",
            (uintmax_t)run_list_models(&s->runs), NUMBER_SIZE(bytes), NUMBER_SIZE(room));
    return STATUS_OK;
}

/* Writes the files of the stem that *lock has locked. */
static enum status write_files(struct cpd_job *job, const struct ktensor_source *model,
                               struct stem_lock *lock, struct error *error)
{
    struct cpd_results *r = &job->results;
    ktensor_files_free(&r->files);
    return ktensor_write(model, &r->names, &r->facts, lock, job->inputs.settings.formats, &r->files,
                         error);
}

/* The model cannot be written at its stem, for the reason in *error: writes it into a new folder in
 * the first of the folders that has room for it, and adds to *error where. */
static void rescue(struct cpd_job *job, const struct ktensor_source *model, struct error *error)
{
    const char *const parent[] = {job->inputs.settings.rescue, getenv("TMPDIR"), "/tmp"};
    const char *own = job->inputs.settings.stem, *slash = strrchr(own, '/');
    struct error last = {0};
    for (int i = 0; i < 3; i++) {
        struct stem_lock lock = {0};
        char *stem = NULL;
        if (!parent[i] || !*parent[i])
            continue;
        last = (struct error){0};
        char *folder = memory_text(&last, "%s/" FOLDER, parent[i]);
        if (folder && !mkdtemp(folder))
            error_set(&last, STATUS_OUTPUT, "%s: %s", parent[i], strerror(errno));
        if (last.status == STATUS_OK)
            stem = memory_text(&last, "%s/%s", folder, slash ? slash + 1 : own);
        if (stem && outfile_set_lock(&lock, stem, &last) == STATUS_OK)
            write_files(job, model, &lock, &last);
        stem_lock_release(&lock);
        if (last.status == STATUS_OK)
            error_append(error, "; the model went to the stem %s", stem);
        else if (folder)
            rmdir(folder);
        memory_free(folder, stem);
        if (last.status == STATUS_OK)
            return;
    }
    error_append(error, "; the model is lost: %s", last.message);
}

void cpd_format_hint_text(uint64_t text_bytes, uint64_t npy_bytes, char *text, size_t size)
{
    text[0] = '\0';
    if (text_bytes <= LARGE)
        return;
    snprintf(text, size,
             "writing about %s of text: --format npy would take %s, and less time to write and to "
             "read",
             NUMBER_SIZE(text_bytes), NUMBER_SIZE(npy_bytes));
}

/* Where the model is more than 2 GB of text, and no .npy files are written, shows how large these
 * would be. */
enum status cpd_output_write(struct cpd_job *job, struct error *error)
{
    const struct cpd_settings *s = &job->inputs.settings;
    struct cpd_run *run = &job->run;
    const struct ktensor *here = &job->results.model;
    const double start = clock_now();
    struct model_rows rows = {0};
    struct ktensor whole = *here;
    struct ktensor_source model = {.k = &whole};
    char text[160] = "";
    if (s->nowrite)
        return STATUS_OK;
    if (run->spread) {
        whole.shape = run->rows.part.whole;
        model.bring = model_rows_bring;
        model.context = &rows;
        TRY_OR(done, model_rows_open(&rows, here, &run->rows, error));
    }
    if (run->world->rank == 0) {
        const uint64_t bytes = ktensor_bytes(&whole.shape, here->rank);
        const double share = (double)bytes / (double)ktensor_bytes(&here->shape, here->rank);
        if (!(s->formats & KTENSOR_NPY))
            cpd_format_hint_text((uint64_t)(share * (double)ktensor_text_bytes(here, s->formats)),
                                 bytes, text, sizeof text);
        if (text[0])
            progress_note(&run->progress, "%s", text);
        progress_stage(&run->progress, "writing");
        if (write_files(job, &model, &run->lock, error) != STATUS_OK)
            rescue(job, &model, error);
        else
            progress_done(&run->progress, "%d files", job->results.files.count);
    }
    if (run->spread)
        model_rows_end(&rows, error);
    job->results.times.write = clock_now() - start;
done:
    model_rows_close(&rows);
    return error->status;
}
