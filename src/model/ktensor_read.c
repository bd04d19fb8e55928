#include "model/ktensor_io.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/outfile_set.h"
#include "model/npy.h"
#include "model/model_text.h"
#include "model/stem_ranks.h"

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

static enum status matrix_file_read(const struct matrix_file *f, double *matrix,
                                    struct error *error)
{
    if (f->npy)
        return npy_matrix(&f->array, matrix, error);
    return model_text_matrix(&f->text, 0, f->rows, f->cols, matrix, error);
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

/* Opens STEM.mode1.EXT ..., up to the first that is missing, or all that there are, where some may
 * be missing. *order is the number of the last mode that has a file, 0 if there is none. */
static enum status open_modes(struct matrix_file *mode, int *order, struct stem_files *files,
                              bool npy, struct error *error)
{
    char suffix[32], *path = NULL;
    *order = 0;
    for (int n = 0; n < MAX_ORDER && (n == 0 || path || files->needed); n++) {
        snprintf(suffix, sizeof suffix, "mode%d.%s", n + 1, npy ? "npy" : "mat");
        if (find_file(&path, files, suffix, error) != STATUS_OK ||
            (path && matrix_file_open(&mode[n], path, npy, error) != STATUS_OK))
            return error->status;
        if (path)
            *order = n + 1;
    }
    for (int n = 0; files->needed && n < *order; n++)
        if (files->needed[n] && !mode[n].path)
            return error_set(error, STATUS_INPUT, "%s: no file of mode %d: %s.mode%d.%s expected",
                             files->stem, n + 1, files->stem, n + 1, npy ? "npy" : "mat");
    return STATUS_OK;
}

/* Opens the files of the modes (open_modes) and STEM.lambda.EXT. */
static enum status open_matrix_files(struct matrix_file *mode, struct matrix_file *lambda,
                                     int *order, struct stem_files *files, bool npy,
                                     struct error *error)
{
    char *path;
    if (open_modes(mode, order, files, npy, error) != STATUS_OK || *order == 0 ||
        find_file(&path, files, npy ? "lambda.npy" : "lambda.mat", error) != STATUS_OK ||
        (path && matrix_file_open(lambda, path, npy, error) != STATUS_OK))
        return error->status;
    return check_unchanged(files, error);
}

static enum status check_order(const char *name, int order, int expected, struct error *error)
{
    if (expected == 0 || order == expected)
        return STATUS_OK;
    return error_set(error, STATUS_INPUT, "%s: a model of %d modes, expected %d", name, order,
                     expected);
}

/* Refuses matrices of different numbers of columns; *rank = the number of all. */
static enum status check_shapes(const struct matrix_file *mode, const struct matrix_file *lambda,
                                int order, uint64_t *rank, struct error *error)
{
    const struct matrix_file *first = NULL;
    for (int n = 0; n < order; n++) {
        if (!mode[n].path)
            continue;
        first = first ? first : &mode[n];
        if (mode[n].cols != first->cols)
            return error_set(error, STATUS_INPUT,
                             "%s: %" PRIu64 " columns, expected %" PRIu64 " as in %s", mode[n].path,
                             mode[n].cols, first->cols, first->path);
        if (mode[n].rows > MAX_LENGTH)
            return error_set(error, STATUS_INPUT, "%s: %" PRIu64 " rows, expected at most %" PRIu64,
                             mode[n].path, mode[n].rows, (uint64_t)MAX_LENGTH);
    }
    *rank = first->cols;
    if (lambda->path && (lambda->rows != *rank || lambda->cols != 1))
        return error_set(error, STATUS_INPUT,
                         "%s: %" PRIu64 " x %" PRIu64 " numbers, expected %" PRIu64
                         " x 1, one for each column of %s",
                         lambda->path, lambda->rows, lambda->cols, *rank, first->path);
    return STATUS_OK;
}

/* Reads a model that has one file for each matrix; leaves *k empty if there are no such files. */
static enum status read_matrices(struct ktensor *k, struct stem_files *files, bool npy,
                                 int expected, struct error *error)
{
    struct matrix_file mode[MAX_ORDER] = {0}, lambda = {0};
    uint64_t dims[MAX_ORDER], rank = 0;
    int order = 0;
    if (open_matrix_files(mode, &lambda, &order, files, npy, error) != STATUS_OK || order == 0)
        goto end;
    if (check_order(files->stem, order, expected, error) != STATUS_OK ||
        check_shapes(mode, &lambda, order, &rank, error) != STATUS_OK)
        goto end;
    for (int n = 0; n < order; n++)
        dims[n] = mode[n].rows;
    if (ktensor_create(k, SHAPE(order, dims), rank, error) != STATUS_OK)
        goto end;
    for (int n = 0; n < order; n++)
        if (mode[n].path && matrix_file_read(&mode[n], k->factor[n], error) != STATUS_OK)
            goto end;
    if (lambda.path)
        matrix_file_read(&lambda, k->lambda, error);
end:
    for (int n = 0; n < MAX_ORDER; n++)
        matrix_file_close(&mode[n]);
    matrix_file_close(&lambda);
    return error->status;
}

/* A .ktns file that is read item by item. */
struct ktns {
    struct model_text text;
    uint64_t next; /* number of the next item */
};

static enum status next_item(struct ktns *f, struct text_line *line, const char *expected,
                             struct error *error)
{
    if (f->text.items == 0)
        return error_set(error, STATUS_INPUT, "%s: is empty, expected %s", f->text.path, expected);
    if (f->next >= f->text.items)
        return error_set(error, STATUS_INPUT, "%s:%" PRIu64 ": the file ends, expected %s",
                         f->text.path, f->text.lines, expected);
    *line = model_text_item(&f->text, f->next++);
    return STATUS_OK;
}

static enum status take_word(struct ktns *f, const char *word, struct error *error)
{
    struct text_line line;
    char expected[32];
    snprintf(expected, sizeof expected, "the word \"%s\"", word);
    if (next_item(f, &line, expected, error) != STATUS_OK)
        return error->status;
    size_t length = strlen(word);
    if ((size_t)(line.end - line.begin) == length && memcmp(line.begin, word, length) == 0)
        return STATUS_OK;
    return model_text_refuse(&f->text, &line, expected, error);
}

/* Reads a text line of `count` whole numbers, each from 1 to `most`. */
static enum status take_sizes(struct ktns *f, uint64_t *size, uint64_t count, uint64_t most,
                              const char *expected, struct error *error)
{
    struct text_line line;
    if (next_item(f, &line, expected, error) != STATUS_OK)
        return error->status;
    for (uint64_t i = 0; i < count; i++) {
        if (model_text_unsigned(&f->text, &line, &size[i], error) != STATUS_OK)
            return error->status;
        if (size[i] < 1 || size[i] > most)
            return error_set(error, STATUS_INPUT,
                             "%s:%" PRIu64 ": %" PRIu64 ", expected %s from 1 to %" PRIu64,
                             f->text.path, line.number, size[i], expected, most);
    }
    return model_text_line_end(&f->text, &line, count, error);
}

/* Reads order, lengths and rank. Refuses a file that is too short for these before memory is taken.
 */
static enum status take_header(struct ktns *f, uint64_t *order, uint64_t *dims, uint64_t *rank,
                               struct error *error)
{
    if (take_word(f, "ktensor", error) != STATUS_OK ||
        take_sizes(f, order, 1, MAX_ORDER, "the number of modes", error) != STATUS_OK ||
        take_sizes(f, dims, *order, MAX_LENGTH, "the lengths of the modes", error) != STATUS_OK ||
        take_sizes(f, rank, 1, UINT64_MAX - 1, "the rank", error) != STATUS_OK)
        return error->status;

    uint64_t rows = 1, numbers; /* the weights are a row too */
    for (uint64_t n = 0; n < *order; n++)
        rows += dims[n];
    uint64_t items = f->next + rows + 3 * *order;
    if (f->text.items != items)
        return error_set(error, STATUS_INPUT,
                         "%s: %" PRIu64 " lines that are not blank, expected %" PRIu64
                         " for these lengths",
                         f->text.path, f->text.items, items);
    if (__builtin_mul_overflow(rows, *rank, &numbers) || numbers > f->text.size / 2)
        return error_set(error, STATUS_INPUT, "%s: too short for rank %" PRIu64, f->text.path,
                         *rank);
    return STATUS_OK;
}

static enum status take_matrix(struct ktns *f, double *matrix, uint64_t rows, uint64_t rank,
                               struct error *error)
{
    uint64_t dimensions, shape[2];
    struct text_line line;
    if (take_word(f, "matrix", error) != STATUS_OK ||
        take_sizes(f, &dimensions, 1, 2, "the number of dimensions, 2,", error) != STATUS_OK ||
        take_sizes(f, shape, 2, UINT64_MAX - 1, "the shape of the matrix", error) != STATUS_OK)
        return error->status;
    line = model_text_item(&f->text, f->next - 1);
    if (dimensions != 2)
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64 ": the matrix before has 1 dimension, expected 2",
                         f->text.path, line.number);
    if (shape[0] != rows || shape[1] != rank)
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64 ": a matrix of %" PRIu64 " x %" PRIu64 ", expected %" PRIu64
                         " x %" PRIu64,
                         f->text.path, line.number, shape[0], shape[1], rows, rank);
    uint64_t first = f->next;
    f->next += rows;
    return model_text_matrix(&f->text, first, rows, rank, matrix, error);
}

static enum status read_ktns(struct ktensor *k, const char *path, int expected, struct error *error)
{
    struct ktns f = {0};
    uint64_t order, rank, dims[MAX_ORDER];
    if (model_text_open(&f.text, path, error) != STATUS_OK ||
        take_header(&f, &order, dims, &rank, error) != STATUS_OK ||
        check_order(path, (int)order, expected, error) != STATUS_OK ||
        ktensor_create(k, SHAPE((int)order, dims), rank, error) != STATUS_OK ||
        model_text_matrix(&f.text, f.next++, 1, rank, k->lambda, error) != STATUS_OK)
        goto end;
    for (int n = 0; n < k->shape.order; n++)
        if (take_matrix(&f, k->factor[n], k->shape.dims[n], rank, error) != STATUS_OK)
            goto end;
end:
    model_text_close(&f.text);
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
    if (path)
        read_ktns(k, path, order, error);
    else if (read_matrices(k, files, true, order, error) == STATUS_OK && k->shape.order == 0 &&
             read_matrices(k, files, false, order, error) == STATUS_OK && k->shape.order == 0)
        refuse_absent(stem, error);
    memory_free(path);
    return error->status;
}

static bool ends_with(const char *text, const char *suffix)
{
    size_t length = strlen(text), tail = strlen(suffix);
    return length >= tail && strcmp(text + length - tail, suffix) == 0;
}

static enum status read_stem(struct ktensor *k, const char *stem, int order, const bool *needed,
                             struct error *error)
{
    struct stem_files files = {.stem = stem, .needed = needed};
    *k = (struct ktensor){0};
    if (ends_with(stem, ".ktns"))
        read_ktns(k, stem, order, error);
    else
        read_files(k, &files, order, error);
    memory_free(files.log);
    memory_free(files.first);
    if (error->status != STATUS_OK)
        ktensor_free(k);
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
