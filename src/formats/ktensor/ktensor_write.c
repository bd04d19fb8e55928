#include "formats/ktensor/ktensor_io.h"

#include <inttypes.h>
#include <omp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/number.h"
#include "formats/ktensor/npy.h"

/* So many numbers, or one row, a thread formats before it writes them. */
#define SECTION_NUMBERS 16384

/* So many bytes of a file the disk is told to begin with at a time. */
#define SYNC_BYTES ((size_t)8 << 20)

/* Formats each row of a (rows x cols) as a text line, numbers separated by blanks. Returns the end
 * of the text. */
static char *format_rows(const double *a, uint64_t rows, uint64_t cols, char *text)
{
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t r = 0; r < cols; r++) {
            text = number_format(a[i * cols + r], text);
            *text++ = r + 1 < cols ? ' ' : '\n';
        }
    return text;
}

/* A matrix that is written to a file in sections of rows, which threads take in turn. */
struct matrix_writer {
    struct outfile *file;
    const double *a; /* (rows x cols) */
    uint64_t rows, cols;
    uint64_t step, sections; /* rows of a section; number of sections        */
    uint64_t taken;          /* sections that a thread has taken             */
    uint64_t placed;         /* sections whose position in the file is known */
    size_t position;         /* in the file, behind the placed sections      */
    pthread_mutex_t lock;    /* of `placed` and `position`                   */
    pthread_cond_t turn;
    struct error *error;
};

/* Returns the position of a section in the file, which is known once all earlier sections are
 * formatted. Until then the thread sleeps and does not spin: on a machine with other work, the
 * thread that formats the section before may not be running. */
static size_t place_section(struct matrix_writer *w, uint64_t section, size_t length)
{
    pthread_mutex_lock(&w->lock);
    while (w->placed != section)
        pthread_cond_wait(&w->turn, &w->lock);
    size_t offset = w->position;
    w->position += length;
    w->placed++;
    pthread_cond_broadcast(&w->turn);
    pthread_mutex_unlock(&w->lock);
    return offset;
}

/* Where a section that was written is the last to begin in its SYNC_BYTES, the disk begins with
 * these. */
static void begin_sync(const struct matrix_writer *w, size_t length, size_t offset)
{
    size_t first = offset / SYNC_BYTES;
    if (first != (offset + length) / SYNC_BYTES)
        outfile_begin_sync(w->file, SYNC_BYTES, first * SYNC_BYTES);
}

static void write_sections(struct matrix_writer *w, char *buffer)
{
    for (;;) {
        uint64_t section;
#pragma omp atomic capture
        section = w->taken++;
        if (section >= w->sections)
            return;
        uint64_t first = section * w->step;
        uint64_t count = w->rows - first < w->step ? w->rows - first : w->step;
        const char *end = format_rows(w->a + first * w->cols, count, w->cols, buffer);
        size_t length = (size_t)(end - buffer), offset = place_section(w, section, length);
        struct error failure = {0};
        if (outfile_write_at(w->file, buffer, length, offset, &failure) != STATUS_OK) {
#pragma omp critical(ktensor_write)
            error_set(w->error, failure.status, "%s", failure.message);
        }
        begin_sync(w, length, offset);
    }
}

/* Writes A (rows x cols) as text at *position with all threads; *position moves behind the text. */
static enum status write_matrix(struct outfile *f, size_t *position, const double *a, uint64_t rows,
                                uint64_t cols, struct error *error)
{
    uint64_t step = cols < SECTION_NUMBERS ? SECTION_NUMBERS / cols : 1;
    struct matrix_writer w = {.file = f,
                              .a = a,
                              .rows = rows,
                              .cols = cols,
                              .step = step,
                              .sections = (rows + step - 1) / step,
                              .position = *position,
                              .lock = PTHREAD_MUTEX_INITIALIZER,
                              .turn = PTHREAD_COND_INITIALIZER,
                              .error = error};
    size_t threads = (size_t)omp_get_max_threads(), room;
    if (w.sections < threads)
        threads = w.sections;
    if (__builtin_mul_overflow(step * cols, NUMBER_MAX_TEXT + 1, &room))
        room = SIZE_MAX; /* memory_array() refuses it as too large */
    char *buffers = memory_array(threads, room, error);
    if (!buffers)
        return error->status;
#pragma omp parallel num_threads((int)threads)
    write_sections(&w, buffers + (size_t)omp_get_thread_num() * room);
    *position = w.position;
    memory_free(buffers);
    return error->status;
}

static enum status write_text(struct outfile *f, size_t *position, const char *text,
                              struct error *error)
{
    size_t length = strlen(text), offset = *position;
    *position += length;
    return outfile_write_at(f, text, length, offset, error);
}

/* Writes the `ktensor` text of Tensor Toolbox. */
static enum status write_ktns(struct outfile *f, const struct ktensor *k, struct error *error)
{
    size_t position = 0;
    char text[MAX_ORDER * 24 + 64];
    int used = snprintf(text, sizeof text, "ktensor\n%d\n", k->shape.order);
    for (int n = 0; n < k->shape.order; n++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%" PRIu64 "%c", k->shape.dims[n],
                         n + 1 < k->shape.order ? ' ' : '\n');
    snprintf(text + used, sizeof text - (size_t)used, "%" PRIu64 "\n", k->rank);
    if (write_text(f, &position, text, error) != STATUS_OK ||
        write_matrix(f, &position, k->lambda, 1, k->rank, error) != STATUS_OK)
        return error->status;
    for (int n = 0; n < k->shape.order; n++) {
        snprintf(text, sizeof text, "matrix\n2\n%" PRIu64 " %" PRIu64 "\n", k->shape.dims[n],
                 k->rank);
        if (write_text(f, &position, text, error) != STATUS_OK ||
            write_matrix(f, &position, k->factor[n], k->shape.dims[n], k->rank, error) != STATUS_OK)
            return error->status;
    }
    return STATUS_OK;
}

/* A file to write: factor matrix n, or lambda if n is the order. */
struct target {
    unsigned format;
    int n;
};

/* A file of text. */
static enum status write_target(const struct target *t, struct outfile *f, const struct ktensor *k,
                                struct error *error)
{
    bool lambda = t->n == k->shape.order;
    size_t position = 0;
    if (t->format == KTENSOR_KTNS)
        return write_ktns(f, k, error);
    return lambda
               ? write_matrix(f, &position, k->lambda, k->rank, 1, error)
               : write_matrix(f, &position, k->factor[t->n], k->shape.dims[t->n], k->rank, error);
}

/* Writes all arrays at once. */
static enum status write_npy(const struct target *target, struct outfile *file, int count,
                             const struct ktensor *k, struct error *error)
{
    struct outfile_extent extent[MAX_ORDER + 1];
    int extents = 0;
    for (int i = 0; i < count; i++) {
        bool lambda = target[i].n == k->shape.order;
        const double *a = lambda ? k->lambda : k->factor[target[i].n];
        uint64_t rows = lambda ? k->rank : k->shape.dims[target[i].n], cols = lambda ? 0 : k->rank;
        if (target[i].format != KTENSOR_NPY)
            continue;
        if (npy_write_header(&file[i], rows, cols, error) != STATUS_OK)
            return error->status;
        extent[extents++] = npy_extent(&file[i], rows, cols, a, 0, rows);
    }
    return outfile_write_extents(extent, extents, error);
}

static char *target_name(const struct target *t, int order, const char *stem, struct error *error)
{
    const char *extension = t->format == KTENSOR_TEXT ? "mat" : "npy";
    if (t->format == KTENSOR_KTNS)
        return memory_text(error, "%s.ktns", stem);
    if (t->n == order)
        return memory_text(error, "%s.lambda.%s", stem, extension);
    return memory_text(error, "%s.mode%d.%s", stem, t->n + 1, extension);
}

/* Lists the files of all formats in the order of writing. */
static int list_targets(struct target *target, int order, unsigned formats)
{
    int count = 0;
    for (unsigned format = KTENSOR_TEXT; format <= KTENSOR_NPY; format <<= 1)
        for (int n = 0; n <= order && (formats & format); n++)
            target[count++] = (struct target){.format = format, .n = n};
    if (formats & KTENSOR_KTNS)
        target[count++] = (struct target){.format = KTENSOR_KTNS};
    return count;
}

enum status ktensor_files_name(struct ktensor_files *files, int order, const char *stem,
                               unsigned formats, struct error *error)
{
    struct target target[KTENSOR_MOST_FILES];
    int count = list_targets(target, order, formats);
    *files = (struct ktensor_files){0};
    for (int i = 0; i < count; i++) {
        char *name = target_name(&target[i], order, stem, error);
        if (!name)
            break;
        files->path[files->count++] = name;
    }
    return error->status;
}

/* A folder is no file of a model. */
static bool is_file(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0 && !S_ISDIR(s.st_mode);
}

enum status ktensor_files_older(struct outfile *file, int *count, const struct stem_lock *lock,
                                struct error *error)
{
    struct ktensor_files all;
    const int replacing = *count;
    ktensor_files_name(&all, MAX_ORDER, lock->stem, KTENSOR_FORMATS, error);
    for (int i = 0; i < all.count && error->status == STATUS_OK; i++) {
        bool goes = is_file(all.path[i]);
        for (int k = 0; k < replacing; k++)
            goes = goes && strcmp(file[k].path, all.path[i]) != 0;
        if (goes)
            outfile_set_take_away(&file[(*count)++], all.path[i], error);
    }
    ktensor_files_free(&all);
    return error->status;
}

enum status ktensor_write(const struct ktensor *k, struct stem_lock *lock, unsigned formats,
                          struct ktensor_files *files, struct error *error)
{
    struct target target[KTENSOR_MOST_FILES];
    struct outfile file[KTENSOR_MOST_FILES] = {0};
    int count = list_targets(target, k->shape.order, formats);
    if (ktensor_files_name(files, k->shape.order, lock->stem, formats, error) != STATUS_OK)
        return error->status;
    for (int i = 0; i < count; i++)
        if (outfile_open(&file[i], files->path[i], error) != STATUS_OK)
            goto end;
    for (int i = 0; i < count; i++)
        if (target[i].format != KTENSOR_NPY &&
            write_target(&target[i], &file[i], k, error) != STATUS_OK)
            goto end;
    if (write_npy(target, file, count, k, error) != STATUS_OK)
        goto end;
    if (ktensor_files_older(file, &count, lock, error) == STATUS_OK &&
        outfile_set_replace(lock, file, count, error) == STATUS_OK)
        outfile_set_keep(lock, file, count);
end:
    for (int i = 0; i < count; i++)
        outfile_discard(&file[i]);
    return error->status;
}

void ktensor_files_free(struct ktensor_files *files)
{
    for (int i = 0; i < files->count; i++)
        memory_free(files->path[i]);
    *files = (struct ktensor_files){0};
}

static enum status try_file(const char *path, struct error *error)
{
    struct outfile file = {0};
    if (outfile_open(&file, path, error) == STATUS_OK)
        outfile_discard(&file);
    return error->status;
}

enum status ktensor_openable(const char *stem, int order, unsigned formats, struct error *error)
{
    struct ktensor_files files;
    struct outfile file[KTENSOR_MOST_FILES] = {0};
    ktensor_files_name(&files, order, stem, formats, error);
    for (int i = 0; i < files.count && error->status == STATUS_OK; i++)
        outfile_open(&file[i], files.path[i], error);
    for (int i = 0; i < files.count; i++)
        outfile_discard(&file[i]);
    ktensor_files_free(&files);
    return error->status;
}

enum status ktensor_writable(const char *stem, unsigned formats, struct error *error)
{
    struct ktensor_files files, all;
    struct stat s;
    if (ktensor_files_name(&files, 1, stem, formats, error) == STATUS_OK)
        try_file(files.path[0], error);
    ktensor_files_free(&files);
    if (error->status != STATUS_OK)
        return error->status;
    ktensor_files_name(&all, MAX_ORDER, stem, KTENSOR_FORMATS, error);
    for (int i = 0; i < all.count && error->status == STATUS_OK; i++)
        if (lstat(all.path[i], &s) == 0)
            try_file(all.path[i], error);
    ktensor_files_free(&all);
    return error->status;
}
