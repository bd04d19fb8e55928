#include "commands/cpd/cpd_output.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/machine.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/outfile_set.h"
#include "commands/cpd/cpd_ranks_file.h"
#include "commands/cpd/cpd_settings.h"
#include "commands/file_roles.h"
#include "ranks/model_write.h"

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
    file_roles_add(&files, FILE_CHECKPOINT, s->checkpoint, error);
    file_roles_add(&files, FILE_RECORD, s->record, error);
    file_roles_check(&files, error);
    file_roles_free(&files);
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
    TRY(cpd_ranks_file_check(s, error));
    char *path = s->rescue ? memory_text(error, "%s/" FOLDER, s->rescue) : NULL;
    if (path && outfile_check(path, error) != STATUS_OK)
        error_prefix(error, "--rescue: ");
    memory_free(path);
    TRY(error->status);
    return outfile_set_lock(lock, s->stem, error);
}

enum status cpd_output_try(const struct cpd_settings *s, int order, const struct labels *names,
                           struct error *error)
{
    if (s->nowrite)
        return STATUS_OK;
    TRY(ktensor_openable(s->stem, order, s->formats, error));
    return ktensor_check_maps(s->stem, names, error);
}

/* --- the model, which rank 0 writes, or all processes together --- */

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

/* Refuses what needs the whole model on one rank. */
static enum status check_settings(const struct cpd_settings *s, uint64_t bytes, uint64_t room,
                                  struct error *error)
{
    char model[NUMBER_SIZE_TEXT], memory[NUMBER_SIZE_TEXT];
    number_size(bytes, model);
    number_size(room, memory);
    if (s->init_stem)
        return error_set(
            error, STATUS_MEMORY,
            "the model of %s does not fit into the %s of host memory that rank 0 has besides its "
            "part: --init %s is impossible, since every rank needs the whole start",
            model, memory, s->init_stem);
    if (s->halves.mode > 0)
        return error_set(
            error, STATUS_MEMORY,
            "models of %s, of the tensor and of two halves (--split-half), do not fit into the %s "
            "of host memory that rank 0 has besides its part",
            model, memory);
    if (s->starts > 1)
        return error_set(
            error, STATUS_MEMORY,
            "%d models of %s, one for each of --starts, do not fit into the %s of host "
            "memory that rank 0 has besides its part",
            s->starts, model, memory);
    if (!s->nowrite && s->formats != KTENSOR_NPY)
        return error_set(
            error, STATUS_MEMORY,
            "the model of %s does not fit into the %s of host memory that rank 0 has besides its "
            "part: use --format npy, in which the ranks write the model together",
            model, memory);
    return STATUS_OK;
}

enum status cpd_choose_together(bool *together, const struct cpd_settings *s, struct comm *c,
                                const struct rank_tensor *t, struct error *error)
{
    if (c->shares_memory)
        return STATUS_OK;
    uint64_t bytes = ktensor_bytes(&t->shape, s->common.options.problem.rank);
    uint64_t room = room_for_whole(s, c, t);
    TRY(comm_bcast(c, 0, &room, sizeof room, error));
    *together = bytes * (uint64_t)s->starts * (s->halves.mode > 0 ? 3 : 1) > room;
    if (!*together)
        return STATUS_OK;
    TRY(check_settings(s, bytes, room, error));
    if (s->nowrite)
        return STATUS_OK;
    return model_writable_together(t->shape.order, s->stem, c, error);
}

/* The model, where it goes, and who writes it. */
struct output {
    const struct cpd_settings *settings;
    struct comm *together; /* of the ranks that write together; NULL: rank 0 writes alone */
    struct cpd_results *results;
};

static bool leads(const struct output *o)
{
    return !o->together || o->together->rank == 0;
}

/* Writes the files of `stem`, which *lock has locked on rank 0. */
static enum status write_files(const struct output *o, const char *stem, struct stem_lock *lock,
                               struct error *error)
{
    struct cpd_results *r = o->results;
    ktensor_files_free(&r->files);
    if (!o->together)
        return ktensor_write(&r->model, &r->names, lock, o->settings->formats, &r->files, error);
    const struct ktensor_rows all = ktensor_rows_all(&r->model);
    const struct model_rows rows = {&r->model, &all, &r->tensor.shape, &r->names};
    return model_write_together(&rows, o->together, stem, lock, &r->files, error);
}

/* A failure of rank 0 is that of all who write together. */
static enum status agree(const struct output *o, struct error *error)
{
    return o->together ? comm_allreduce_error(o->together, error) : error->status;
}

/* Writes the model into a new folder in `parent`, which rank 0 makes; *stem, which the caller
 * frees, says where. Leaves nothing there where there is no room. */
static enum status rescue_into(const struct output *o, const char *parent, char **stem,
                               struct error *error)
{
    const char *slash = strrchr(o->settings->stem, '/');
    const char *name = slash ? slash + 1 : o->settings->stem;
    char folder[PATH_MAX] = "";
    struct stem_lock lock = {0};
    if (leads(o)) {
        int length = snprintf(folder, sizeof folder, "%s/" FOLDER, parent);
        if (length >= PATH_MAX)
            error_set(error, STATUS_OUTPUT, "%s: the name is too long", parent);
        else if (!mkdtemp(folder))
            error_set(error, STATUS_OUTPUT, "%s: %s", parent, strerror(errno));
    }
    TRY(agree(o, error));
    if (o->together)
        TRY(comm_bcast(o->together, 0, folder, sizeof folder, error));
    *stem = memory_text(error, "%s/%s", folder, name);
    if (*stem && leads(o))
        outfile_set_lock(&lock, *stem, error);
    if (agree(o, error) == STATUS_OK)
        write_files(o, *stem, &lock, error);
    stem_lock_release(&lock);
    if (error->status != STATUS_OK && leads(o))
        rmdir(folder);
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

enum status cpd_output_write(const struct cpd_settings *s, struct cpd_run *run,
                             struct cpd_results *results, struct error *error)
{
    const struct output o = {s, run->together ? run->world : NULL, results};
    const struct ktensor *k = &results->model;
    double start = clock_now();
    char hint[160] = "";
    if (s->nowrite)
        return STATUS_OK;
    if (!(s->formats & KTENSOR_NPY))
        cpd_format_hint_text(ktensor_text_bytes(k, s->formats), ktensor_bytes(&k->shape, k->rank),
                             hint, sizeof hint);
    if (hint[0])
        progress_note(&run->progress, "%s", hint);
    progress_stage(&run->progress, "writing");
    if (write_files(&o, s->stem, &run->lock, error) != STATUS_OK) {
        rescue(&o, error);
        return error->status;
    }
    progress_done(&run->progress, "%d files", results->files.count);
    results->times.write = clock_now() - start;
    return STATUS_OK;
}
