#include "commands/cpd/cpd_output.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/outfile_set.h"
#include "commands/cpd/cpd_ranks_file.h"
#include "commands/cpd/cpd_settings.h"
#include "commands/cpd/cpd_together.h"
#include "commands/file_roles.h"

#define LARGE  UINT64_C(2000000000) /* bytes of text that take long to write and to read */
#define FOLDER "blco-rescue-XXXXXX" /* mkdtemp() makes the last six characters unique */

/* The folders that may take a model that cannot be written at its stem; returns how many. */
static int list_rescues(const struct cpd_settings *s, const char *folder[3])
{
    int count = 0;
    const char *temporary = getenv("TMPDIR");
    if (s->rescue)
        folder[count++] = s->rescue;
    if (temporary && *temporary)
        folder[count++] = temporary;
    folder[count++] = "/tmp";
    return count;
}

/* Refuses a folder of --rescue in which no file can be made. */
static enum status check_rescue(const struct cpd_settings *s, struct error *error)
{
    char *path = s->rescue ? memory_text(error, "%s/" FOLDER, s->rescue) : NULL;
    if (path && outfile_check(path, error) != STATUS_OK)
        error_prefix(error, "--rescue: ");
    memory_free(path);
    return error->status;
}

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
    TRY(check_rescue(s, error));
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
    if (o->together)
        return cpd_write_together(r, o->together, stem, lock, error);
    return ktensor_write(&r->model, &r->names, lock, o->settings->formats, &r->files, error);
}

/* A failure of rank 0 is that of all who write together. */
static enum status agree(const struct output *o, struct error *error)
{
    return o->together ? comm_allreduce_error(o->together, error) : error->status;
}

/* Makes a new folder in `parent`, by rank 0; folder (PATH_MAX) receives its name on every rank. */
static enum status make_folder(const struct output *o, const char *parent, char *folder,
                               struct error *error)
{
    if (leads(o)) {
        int length = snprintf(folder, PATH_MAX, "%s/" FOLDER, parent);
        if (length >= PATH_MAX)
            error_set(error, STATUS_OUTPUT, "%s: the name is too long", parent);
        else if (!mkdtemp(folder))
            error_set(error, STATUS_OUTPUT, "%s: %s", parent, strerror(errno));
    }
    TRY(agree(o, error));
    return o->together ? comm_bcast(o->together, 0, folder, PATH_MAX, error) : STATUS_OK;
}

/* Writes the model into a new folder in `parent`; *stem, which the caller frees, says where. Leaves
 * nothing there where there is no room. */
static enum status rescue_into(const struct output *o, const char *parent, char **stem,
                               struct error *error)
{
    const char *slash = strrchr(o->settings->stem, '/');
    const char *name = slash ? slash + 1 : o->settings->stem;
    char folder[PATH_MAX] = "";
    struct stem_lock lock = {0};
    TRY(make_folder(o, parent, folder, error));
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

/* The model cannot be written at its stem, for the reason in *error: writes it elsewhere, and adds
 * to *error where. */
static void rescue(const struct output *o, struct error *error)
{
    const char *folder[3];
    int count = list_rescues(o->settings, folder);
    struct error last = {0};
    for (int i = 0; i < count; i++) {
        char *stem = NULL;
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

/* Shows how large .npy files would be, where more than 2 GB of text and no .npy files will be
 * written. */
static void note_format(struct progress *progress, const struct ktensor *k, unsigned formats)
{
    char text[160];
    if (formats & KTENSOR_NPY)
        return;
    cpd_format_hint_text(ktensor_text_bytes(k, formats), ktensor_bytes(&k->shape, k->rank), text,
                         sizeof text);
    if (text[0])
        progress_note(progress, "%s", text);
}

enum status cpd_output_write(const struct cpd_settings *s, struct cpd_run *run,
                             struct cpd_results *results, struct error *error)
{
    const struct output o = {s, run->together ? run->world : NULL, results};
    double start = clock_now();
    if (s->nowrite)
        return STATUS_OK;
    note_format(&run->progress, &results->model, s->formats);
    progress_stage(&run->progress, "writing");
    if (write_files(&o, s->stem, &run->lock, error) != STATUS_OK) {
        rescue(&o, error);
        return error->status;
    }
    progress_done(&run->progress, "%d files", results->files.count);
    results->times.write = clock_now() - start;
    return STATUS_OK;
}
