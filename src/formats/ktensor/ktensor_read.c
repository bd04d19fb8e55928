#include "formats/ktensor/ktensor_io.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/outfile_set.h"
#include "formats/ktensor/ktns.h"
#include "formats/ktensor/model_text.h"
#include "formats/ktensor/npy.h"
#include "formats/ktensor/stem_ranks.h"

#define MOST_LOOKS 5 /* at files that seem to be replaced */

/* A file that has one matrix, as text or as .npy. */
struct matrix_file {
    char *path; /* owned */
    bool npy;
    struct model_text text;
    struct npy array;
    uint64_t rows, cols;
};

static enum status open_text(struct matrix_file *f, struct error *error)
{
    if (model_text_open(&f->text, f->path, error) != STATUS_OK)
        return error->status;
    if (f->text.items == 0)
        return error_set(error, STATUS_INPUT, "%s: empty, expected rows of numbers", f->path);
    struct text_line line = model_text_item(&f->text, 0);
    f->rows = f->text.items;
    f->cols = model_text_count(&line);
    return STATUS_OK;
}

static enum status open_npy(struct matrix_file *f, struct error *error)
{
    if (npy_open(&f->array, f->path, error) != STATUS_OK)
        return error->status;
    f->rows = f->array.rows;
    f->cols = f->array.cols;
    if (f->rows == 0 || f->cols == 0)
        return error_set(error, STATUS_INPUT, "%s: empty, expected a matrix", f->path);
    return STATUS_OK;
}

/* Opens the file and finds the shape of its matrix. *f takes `path` over, after a failure too. */
static enum status matrix_file_open(struct matrix_file *f, char *path, bool npy,
                                    struct error *error)
{
    *f = (struct matrix_file){.path = path, .npy = npy};
    return npy ? open_npy(f, error) : open_text(f, error);
}

/* Reads the first `rows` rows. */
static enum status matrix_file_read(const struct matrix_file *f, uint64_t rows, double *matrix,
                                    struct error *error)
{
    if (f->npy)
        return npy_matrix(&f->array, rows, matrix, error);
    return model_text_matrix(&f->text, 0, rows, f->cols, matrix, error);
}

static void matrix_file_close(struct matrix_file *f)
{
    npy_close(&f->array);
    model_text_close(&f->text);
    memory_free(f->path);
}

/* Also true if the file exists but cannot be read, which must be reported. */
static bool exists(const char *path)
{
    return access(path, F_OK) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

/* The files of a stem: what the log of the stem's lock says of them, and the first one of them. */
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
    if (outfile_set_find(path, files->log, files->stem, suffix, error) == STATUS_OK && *path &&
        !exists(*path)) {
        memory_free(*path);
        *path = NULL;
    }
    if (*path && !files->first && stat(*path, &files->opened) == 0)
        files->first = memory_text(error, "%s", *path);
    if (error->status != STATUS_OK) {
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
    if (stem_lock_read(files->stem, &log, error) != STATUS_OK)
        return error->status;
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

static const char *extension(bool npy)
{
    return npy ? "npy" : "mat";
}

/* Refuses a file without one that a model with this file has, and frees its name. */
static enum status refuse_rest(char *path, const struct stem_files *files, int missing, bool npy,
                               struct error *error)
{
    error_set(error, STATUS_INPUT,
              "%s: there is no %s.mode%d.%s: files of two models, or not all of one", path,
              files->stem, missing, extension(npy));
    memory_free(path);
    return error->status;
}

/* Opens STEM.mode1.EXT ...; some may be missing only where files->needed says which. */
static enum status open_modes(struct matrices *m, struct stem_files *files, bool npy,
                              struct error *error)
{
    for (int n = 0; n < MAX_ORDER; n++) {
        char suffix[32], *path;
        snprintf(suffix, sizeof suffix, "mode%d.%s", n + 1, extension(npy));
        if (find_file(&path, files, suffix, error) != STATUS_OK)
            return error->status;
        if (!path)
            continue;
        if (!files->needed && m->order < n)
            return refuse_rest(path, files, m->order + 1, npy, error);
        if (matrix_file_open(&m->mode[n], path, npy, error) != STATUS_OK)
            return error->status;
        m->order = n + 1;
    }
    return STATUS_OK;
}

/* Opens STEM.lambda.EXT. */
static enum status open_lambda(struct matrices *m, struct stem_files *files, bool npy,
                               struct error *error)
{
    char *path;
    if (find_file(&path, files, npy ? "lambda.npy" : "lambda.mat", error) != STATUS_OK || !path)
        return error->status;
    if (!files->needed && m->order == 0)
        return refuse_rest(path, files, 1, npy, error);
    return matrix_file_open(&m->lambda, path, npy, error);
}

static enum status check_order(const char *name, int order, int expected, struct error *error)
{
    if (expected == 0 || order == 0 || order == expected)
        return STATUS_OK;
    return error_set(error, STATUS_INPUT, "%s: a model of %d modes, expected %d", name, order,
                     expected);
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

/* Opens the files; m->order is 0 where there are none. */
static enum status open_matrices(struct matrices *m, struct stem_files *files, bool npy,
                                 struct error *error)
{
    *m = (struct matrices){.order = 0};
    if (open_modes(m, files, npy, error) != STATUS_OK ||
        open_lambda(m, files, npy, error) != STATUS_OK || m->order == 0 ||
        check_unchanged(files, error) != STATUS_OK)
        return error->status;
    return check_shapes(m, error);
}

static void close_matrices(struct matrices *m)
{
    for (int n = 0; n < MAX_ORDER; n++)
        matrix_file_close(&m->mode[n]);
    matrix_file_close(&m->lambda);
}

static enum status check_needed(const struct matrices *m, const struct stem_files *files, bool npy,
                                struct error *error)
{
    for (int n = 0; files->needed && n < m->order; n++)
        if (files->needed[n] && !m->mode[n].path)
            return error_set(error, STATUS_INPUT, "%s: no file of mode %d: %s.mode%d.%s expected",
                             files->stem, n + 1, files->stem, n + 1, extension(npy));
    return STATUS_OK;
}

static enum status read_matrices(struct ktensor *k, const struct matrices *m, struct error *error)
{
    uint64_t dims[MAX_ORDER];
    for (int n = 0; n < m->order; n++)
        dims[n] = m->mode[n].rows;
    if (ktensor_create(k, SHAPE(m->order, dims), m->rank, error) != STATUS_OK)
        return error->status;
    for (int n = 0; n < m->order; n++)
        if (m->mode[n].path &&
            matrix_file_read(&m->mode[n], dims[n], k->factor[n], error) != STATUS_OK)
            return error->status;
    return m->lambda.path ? matrix_file_read(&m->lambda, m->rank, k->lambda, error) : STATUS_OK;
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
    if (found && matrix_file_read(f, rows, found, error) == STATUS_OK &&
        memcmp(found, expected, bytes) != 0)
        refuse_two(files, f->path, error);
    memory_free(found);
    return error->status;
}

static bool all_one(const double *a, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        if (a[i] != 1)
            return false;
    return true;
}

/* Refuses files of another model than *k, which was read in another format: of one with another
 * shape, other weights, or other numbers in the first row of a mode. */
static enum status check_same(const struct ktensor *k, const struct matrices *m,
                              const struct stem_files *files, struct error *error)
{
    const struct matrix_file *last = &m->mode[m->order - 1];
    if (m->rank != k->rank || (m->order != k->shape.order && !files->needed) ||
        (!m->lambda.path && !all_one(k->lambda, k->rank)))
        return refuse_two(files, last->path, error);
    if (m->lambda.path && check_rows(&m->lambda, m->rank, k->lambda, files, error) != STATUS_OK)
        return error->status;
    for (int n = 0; n < m->order && n < k->shape.order; n++) {
        if (!m->mode[n].path || k->shape.dims[n] == 0)
            continue;
        if (m->mode[n].rows != k->shape.dims[n])
            return refuse_two(files, m->mode[n].path, error);
        if (check_rows(&m->mode[n], 1, k->factor[n], files, error) != STATUS_OK)
            return error->status;
    }
    return STATUS_OK;
}

/* Reads the files of one format, unless *k is read already: then they must be of the same model. */
static enum status read_format(struct ktensor *k, struct stem_files *files, bool npy,
                               struct error *error)
{
    struct matrices m;
    if (open_matrices(&m, files, npy, error) == STATUS_OK && m.order > 0) {
        if (k->shape.order > 0)
            check_same(k, &m, files, error);
        else if (check_needed(&m, files, npy, error) == STATUS_OK)
            read_matrices(k, &m, error);
    }
    close_matrices(&m);
    return error->status;
}

/* The stem of a range of ranks has no model of its own. */
static void refuse_absent(const char *stem, struct error *error)
{
    char ranks[512];
    if (stem_ranks(stem, ranks, sizeof ranks)[0])
        error_set(error, STATUS_INPUT, "%s: no model of that name, but models of several ranks: %s",
                  stem, ranks);
    else
        error_set(error, STATUS_INPUT,
                  "%s: no model of that name: neither %s.ktns nor %s.mode1.npy nor %s.mode1.mat",
                  stem, stem, stem, stem);
}

/* Reads the files of the stem in the first format that there is. */
static enum status read_files(struct ktensor *k, struct stem_files *files, int order,
                              struct error *error)
{
    const char *stem = files->stem;
    char *path = NULL;
    if (stem_lock_read(stem, &files->log, error) != STATUS_OK ||
        find_file(&path, files, "ktns", error) != STATUS_OK)
        return error->status;
    if ((!path || ktns_read(k, path, error) == STATUS_OK) &&
        read_format(k, files, true, error) == STATUS_OK &&
        read_format(k, files, false, error) == STATUS_OK)
        check_order(path ? path : stem, k->shape.order, order, error);
    if (error->status == STATUS_OK && k->shape.order == 0)
        refuse_absent(stem, error);
    memory_free(path);
    return error->status;
}

bool ktensor_is_file(const char *stem)
{
    size_t length = strlen(stem);
    return length >= 5 && strcmp(stem + length - 5, ".ktns") == 0;
}

/* When names in the stem's folder changed last. */
static struct timespec folder_time(const char *stem)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(stem, '/');
    struct stat s;
    snprintf(folder, sizeof folder, "%.*s.", slash ? (int)(slash + 1 - stem) : 0, stem);
    return stat(folder, &s) == 0 ? s.st_mtim : (struct timespec){0};
}

static enum status read_once(struct ktensor *k, const char *stem, int order, const bool *needed,
                             struct error *error)
{
    struct stem_files files = {.stem = stem, .needed = needed};
    *k = (struct ktensor){0};
    if (!ktensor_is_file(stem))
        read_files(k, &files, order, error);
    else if (ktns_read(k, stem, error) == STATUS_OK)
        check_order(stem, k->shape.order, order, error);
    memory_free(files.log);
    memory_free(files.first);
    if (error->status != STATUS_OK)
        ktensor_free(k);
    return error->status;
}

/* What is refused while names in the folder change may be files that a run is replacing: a second
 * look tells. */
static enum status read_stem(struct ktensor *k, const char *stem, int order, const bool *needed,
                             struct error *error)
{
    for (int looks = MOST_LOOKS; looks > 0; looks--) {
        struct timespec before = folder_time(stem);
        if (read_once(k, stem, order, needed, error) != STATUS_INPUT)
            break;
        struct timespec after = folder_time(stem);
        if (before.tv_sec == after.tv_sec && before.tv_nsec == after.tv_nsec)
            break;
        if (looks > 1)
            *error = (struct error){0};
    }
    return error->status;
}

enum status ktensor_read(struct ktensor *k, const char *stem, int order, struct error *error)
{
    return read_stem(k, stem, order, NULL, error);
}

enum status ktensor_read_some(struct ktensor *k, const char *stem, const bool *needed,
                              struct error *error)
{
    return read_stem(k, stem, 0, needed, error);
}
