#include "formats/ktensor/ktensor_io.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/outfile_set.h"
#include "formats/ktensor/matrix_file.h"

#define MOST_LOOKS 5 /* at files that seem to be replaced */

/* The files of a stem: the log of the stem's lock, and the first of them that was found. */
struct stem_files {
    const char *stem;
    const bool *needed; /* (MAX_ORDER) the modes that must have a file; NULL: all, with no gap */
    char *log;          /* owned */
    char *first;        /* its path, or NULL; owned */
    struct stat opened; /* the first file, before the others were opened */
};

/* *path = the name of STEM.SUFFIX, or NULL where there is no such file. The caller frees *path. */
static enum status find_file(char **path, struct stem_files *files, const char *suffix,
                             struct error *error)
{
    TRY(outfile_set_find(path, files->log, files->stem, suffix, error));
    if (!*path || files->first || stat(*path, &files->opened) != 0)
        return STATUS_OK;
    files->first = memory_text(error, "%s", *path);
    if (!files->first) {
        memory_free(*path);
        *path = NULL;
    }
    return error->status;
}

/* Refuses files that a run has replaced while they were opened one after the other. */
static enum status check_unchanged(const struct stem_files *files, struct error *error)
{
    struct stat now;
    char *log = NULL;
    TRY(stem_lock_read(files->stem, &log, error));
    if (strcmp(log, files->log) != 0 || stat(files->first, &now) != 0 ||
        now.st_ino != files->opened.st_ino || now.st_mtim.tv_sec != files->opened.st_mtim.tv_sec ||
        now.st_mtim.tv_nsec != files->opened.st_mtim.tv_nsec)
        error_set(error, STATUS_INPUT, "%s: another run is replacing the files of this model",
                  files->stem);
    memory_free(log);
    return error->status;
}

/* The files of a model that has one for each matrix, all as text or all as .npy. */
struct matrices {
    struct matrix_file mode[MAX_ORDER], lambda; /* without a path: there is no such file */
    int order; /* the number of the last mode that has a file, 0 if there is none        */
    uint64_t rank;
};

/* Refuses a file without one that a model with this file has, and frees its name. */
static enum status refuse_rest(char *path, const struct stem_files *files, int missing,
                               const struct ktensor_format *format, struct error *error)
{
    error_set(error, STATUS_INPUT,
              "%s: there is no %s.mode%d.%s: files of two models are mixed, or some are missing",
              path, files->stem, missing, format->suffix);
    memory_free(path);
    return error->status;
}

/* Refuses matrices of different numbers of columns; m->rank = the number of all. */
static enum status check_shapes(struct matrices *m, struct error *error)
{
    const struct matrix_file *first = NULL, *lambda = &m->lambda;
    for (int n = 0; n < m->order; n++) {
        const struct matrix_file *mode = &m->mode[n];
        if (!mode->path)
            continue;
        first = first ? first : mode;
        if (mode->cols != first->cols)
            return error_set(error, STATUS_INPUT,
                             "%s: %" PRIu64 " columns, expected %" PRIu64 " as in %s", mode->path,
                             mode->cols, first->cols, first->path);
        if (mode->rows > MAX_LENGTH)
            return error_set(error, STATUS_INPUT, "%s: %" PRIu64 " rows, expected at most %" PRIu64,
                             mode->path, mode->rows, (uint64_t)MAX_LENGTH);
    }
    m->rank = first->cols;
    if (lambda->path && (lambda->rows != m->rank || lambda->cols != 1))
        return error_set(error, STATUS_INPUT,
                         "%s: %" PRIu64 " x %" PRIu64 " numbers, expected %" PRIu64
                         " x 1, one for each column of %s",
                         lambda->path, lambda->rows, lambda->cols, m->rank, first->path);
    return STATUS_OK;
}

/* Opens STEM.mode1.SUFFIX ... and STEM.lambda.SUFFIX; some may be missing only where files->needed
 * says which. m->order is 0 where there are none. */
static enum status open_matrices(struct matrices *m, struct stem_files *files,
                                 const struct ktensor_format *format, struct error *error)
{
    char suffix[KTENSOR_SUFFIX_TEXT], *path;
    *m = (struct matrices){.order = 0};
    for (int n = 0; n < MAX_ORDER; n++) {
        TRY(find_file(&path, files, ktensor_suffix(format, n, MAX_ORDER, suffix), error));
        if (!path)
            continue;
        if (!files->needed && m->order < n)
            return refuse_rest(path, files, m->order + 1, format, error);
        m->mode[n].path = path;
        TRY(format->open(&m->mode[n], error));
        m->order = n + 1;
    }
    TRY(find_file(&path, files, ktensor_suffix(format, MAX_ORDER, MAX_ORDER, suffix), error));
    if (path && !files->needed && m->order == 0)
        return refuse_rest(path, files, 1, format, error);
    m->lambda.path = path;
    if (path)
        TRY(format->open(&m->lambda, error));
    if (m->order == 0)
        return STATUS_OK;
    TRY(check_unchanged(files, error));
    return check_shapes(m, error);
}

static enum status refuse_two(const struct stem_files *files, const char *path, struct error *error)
{
    return error_set(error, STATUS_INPUT, "%s and %s are files of two models: remove those of one",
                     files->first, path);
}

/* Refuses a file whose first `rows` rows are not `expected`. */
static enum status check_rows(const struct matrix_file *f, uint64_t rows, const double *expected,
                              const struct stem_files *files, struct error *error)
{
    size_t bytes = rows * f->cols * sizeof *expected;
    double *found = memory_array(1, bytes, error);
    TRY(error->status);
    TRY_OR(done, matrix_file_read(f, rows, found, error));
    if (memcmp(found, expected, bytes) != 0)
        refuse_two(files, f->path, error);
done:
    memory_free(found);
    return error->status;
}

/* Refuses files of another model than *k, which was read in another format: of one with another
 * shape, other weights, or other numbers in the first row of a mode. */
static enum status check_same(const struct ktensor *k, const struct matrices *m,
                              const struct stem_files *files, struct error *error)
{
    const struct matrix_file *last = &m->mode[m->order - 1];
    bool same = m->rank == k->rank && (m->order == k->shape.order || files->needed);
    for (uint64_t r = 0; r < k->rank && !m->lambda.path; r++)
        same = same && k->lambda[r] == 1;
    if (!same)
        return refuse_two(files, last->path, error);
    if (m->lambda.path)
        TRY(check_rows(&m->lambda, m->rank, k->lambda, files, error));
    for (int n = 0; n < m->order && n < k->shape.order; n++) {
        if (!m->mode[n].path || k->shape.dims[n] == 0)
            continue;
        if (m->mode[n].rows != k->shape.dims[n])
            return refuse_two(files, m->mode[n].path, error);
        TRY(check_rows(&m->mode[n], 1, k->factor[n], files, error));
    }
    return STATUS_OK;
}

/* Reads the files of one format, unless *k is read already: then they must be of the same model. */
static enum status read_format(struct ktensor *k, struct stem_files *files,
                               const struct ktensor_format *format, struct error *error)
{
    struct matrices m;
    char *path;
    if (format->read) {
        TRY(find_file(&path, files, format->suffix, error));
        if (path)
            format->read(k, path, error);
        memory_free(path);
        return error->status;
    }
    TRY_OR(done, open_matrices(&m, files, format, error));
    if (m.order == 0)
        goto done;
    if (k->shape.order > 0) {
        check_same(k, &m, files, error);
        goto done;
    }
    for (int n = 0; files->needed && n < m.order; n++)
        if (files->needed[n] && !m.mode[n].path) {
            error_set(error, STATUS_INPUT, "%s: no file of mode %d: %s.mode%d.%s expected",
                      files->stem, n + 1, files->stem, n + 1, format->suffix);
            goto done;
        }
    uint64_t dims[MAX_ORDER];
    for (int n = 0; n < m.order; n++)
        dims[n] = m.mode[n].rows;
    TRY_OR(done, ktensor_create(k, SHAPE(m.order, dims), m.rank, error));
    for (int n = 0; n < m.order; n++)
        if (m.mode[n].path)
            TRY_OR(done, matrix_file_read(&m.mode[n], dims[n], k->factor[n], error));
    if (m.lambda.path)
        matrix_file_read(&m.lambda, m.rank, k->lambda, error);
done:
    for (int n = 0; n < MAX_ORDER; n++)
        matrix_file_close(&m.mode[n]);
    matrix_file_close(&m.lambda);
    return error->status;
}

/* The stem of a range of ranks has no model of its own. */
static enum status refuse_absent(const char *stem, struct error *error)
{
    char ranks[512], suffix[KTENSOR_SUFFIX_TEXT];
    if (stem_ranks(stem, ranks, sizeof ranks)[0])
        return error_set(error, STATUS_INPUT,
                         "%s: no model of that name, but models of several ranks: %s", stem, ranks);
    error_set(error, STATUS_INPUT, "%s: no model of that name: neither", stem);
    for (int i = KTENSOR_FORMAT_COUNT - 1; i >= 0; i--)
        error_append(error, " %s.%s%s", stem, ktensor_suffix(&ktensor_formats[i], 0, 1, suffix),
                     i > 0 ? " nor" : "");
    return error->status;
}

/* folder = the folder of the stem's files, "." after a slash. Returns what their names begin with.
 */
static const char *folder_of(const char *stem, char folder[PATH_MAX])
{
    const char *slash = strrchr(stem, '/'), *name = slash ? slash + 1 : stem;
    snprintf(folder, PATH_MAX, "%.*s.", (int)(name - stem), stem);
    return name;
}

/* When names in the stem's folder changed last. */
static struct timespec folder_time(const char *stem)
{
    char folder[PATH_MAX];
    struct stat s;
    folder_of(stem, folder);
    return stat(folder, &s) == 0 ? s.st_mtim : (struct timespec){0};
}

/* Reads what is beside the model, which may have been replaced since. */
static enum status read_beside(struct named_model *m, const struct stem_files *files,
                               struct error *error)
{
    struct error changed = {0};
    labels_forget(&m->names);
    model_facts_read(&m->facts, &m->k, &m->names, files->stem, error);
    if (error->status != STATUS_MEMORY && files->first &&
        check_unchanged(files, &changed) != STATUS_OK)
        *error = changed;
    return error->status;
}

/* Reads the file, or the files of the stem in the last format that there is. */
static enum status read_once(struct named_model *m, const bool *needed, struct error *error)
{
    struct stem_files files = {.stem = m->stem, .needed = needed};
    const struct ktensor_format *format = ktensor_file_format(m->stem);
    m->k = (struct ktensor){0};
    if (format) {
        TRY_OR(done, format->read(&m->k, m->stem, error));
    } else {
        TRY_OR(done, stem_lock_read(m->stem, &files.log, error));
        for (int i = KTENSOR_FORMAT_COUNT - 1; i >= 0; i--)
            TRY_OR(done, read_format(&m->k, &files, &ktensor_formats[i], error));
        TRY_OR(done, m->k.shape.order == 0 ? refuse_absent(m->stem, error) : STATUS_OK);
    }
    read_beside(m, &files, error);
done:
    memory_free(files.log, files.first);
    if (error->status != STATUS_OK)
        ktensor_free(&m->k);
    return error->status;
}

/* Files that are refused while names in the folder change may be those of a run that replaces them:
 * they are read again. */
enum status named_model_read(struct named_model *m, const bool *needed, struct error *error)
{
    for (int looks = MOST_LOOKS; looks > 0; looks--) {
        struct timespec before = folder_time(m->stem);
        if (read_once(m, needed, error) != STATUS_INPUT)
            return error->status;
        struct timespec after = folder_time(m->stem);
        if (before.tv_sec == after.tv_sec && before.tv_nsec == after.tv_nsec)
            return error->status;
        if (looks > 1)
            *error = (struct error){0};
    }
    return error->status;
}

enum status named_model_drop_means(struct named_model *m, struct error *error)
{
    const int means = model_facts_means(&m->facts);
    return means > 0 ? ktensor_set_rank(&m->k, m->k.rank - (uint64_t)means, error) : STATUS_OK;
}

void named_model_free(struct named_model *m)
{
    ktensor_free(&m->k);
    labels_free(&m->names);
}

#define SHOWN 8

/* The rank of a file NAME.rR.SUFFIX that every model has one of; 0 of any other file. */
static uint64_t rank_of(const char *file, const char *name)
{
    size_t length = strlen(name);
    char suffix[KTENSOR_SUFFIX_TEXT];
    uint64_t rank = 0;
    if (strncmp(file, name, length) != 0 || strncmp(file + length, ".r", 2) != 0)
        return 0;
    const char *end = number_parse_unsigned(file + length + 2, file + strlen(file), &rank);
    if (!end || *end != '.')
        return 0;
    for (int i = 0; i < KTENSOR_FORMAT_COUNT; i++)
        if (strcmp(end + 1, ktensor_suffix(&ktensor_formats[i], 0, 1, suffix)) == 0)
            return rank;
    return 0;
}

/* The smallest rank above `before` that a file of the folder has; 0 where there is none. */
static uint64_t rank_after(const char *folder, const char *name, uint64_t before)
{
    uint64_t least = 0;
    DIR *files = opendir(folder);
    for (struct dirent *file; files && (file = readdir(files));) {
        const uint64_t rank = rank_of(file->d_name, name);
        if (rank > before && (least == 0 || rank < least))
            least = rank;
    }
    if (files)
        closedir(files);
    return least;
}

const char *stem_ranks(const char *stem, char *text, size_t size)
{
    char folder[PATH_MAX];
    const char *name = folder_of(stem, folder);
    uint64_t rank = rank_after(folder, name, 0);
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; rank > 0 && i < SHOWN && used < size; i++) {
        const uint64_t next = rank_after(folder, name, rank);
        used += (size_t)snprintf(text + used, size - used, "%s%s.r%ju",
                                 i == 0      ? ""
                                 : next == 0 ? " and "
                                             : ", ",
                                 stem, (uintmax_t)rank);
        rank = next;
    }
    if (rank > 0 && used < size)
        snprintf(text + used, size - used, " and others");
    return text;
}
