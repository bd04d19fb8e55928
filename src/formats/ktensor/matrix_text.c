#include "formats/ktensor/matrix_text.h"

#include <omp.h>
#include <pthread.h>

#include "base/least.h"
#include "base/memory.h"
#include "base/number.h"

/* A thread formats this many numbers, or one row, before it writes them; fewer where much text
 * comes before the numbers of a row. */
#define SECTION_NUMBERS 16384
#define SECTION_TEXT    ((size_t)8 << 20) /* bytes */

#define SAMPLES 4096 /* numbers of a factor matrix whose text is measured */

/* Bytes of a file that the disk is asked to begin with at a time. */
#define SYNC_BYTES ((size_t)8 << 20)

/* Formats rows first to first + rows - 1, each as a text line. Returns the end of the text. */
static char *format_rows(const struct text_matrix *m, uint64_t first, uint64_t rows, char *text)
{
    for (uint64_t i = first; i < first + rows; i++) {
        if (m->before)
            text = m->before(m->context, m->first + i, text);
        for (uint64_t r = 0; r < m->cols; r++) {
            text = number_format(m->a[i * m->cols + r], text);
            *text++ = r + 1 < m->cols ? m->separator : '\n';
        }
    }
    return text;
}

/* A matrix that is written to a file in sections of rows, which threads take in turn. */
struct matrix_writer {
    struct outfile *file;
    const struct text_matrix *matrix;
    uint64_t step, sections; /* rows of a section; number of sections        */
    uint64_t taken;          /* sections that a thread has taken             */
    uint64_t placed;         /* sections whose position in the file is known */
    size_t position;         /* in the file, after the placed sections       */
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

static void write_sections(struct matrix_writer *w, char *buffer)
{
    for (;;) {
        uint64_t section;
#pragma omp atomic capture
        section = w->taken++;
        if (section >= w->sections)
            return;
        uint64_t first = section * w->step;
        uint64_t count = least_of(w->matrix->rows - first, w->step);
        const char *end = format_rows(w->matrix, first, count, buffer);
        size_t length = (size_t)(end - buffer), offset = place_section(w, section, length);
        struct error failure = {0};
        if (outfile_write_at(w->file, buffer, length, offset, &failure) != STATUS_OK) {
#pragma omp critical(matrix_text_error)
            error_set(w->error, failure.status, "%s", failure.message);
        }
        /* The disk begins with SYNC_BYTES after the last section that begins in them. */
        if (offset / SYNC_BYTES != (offset + length) / SYNC_BYTES)
            outfile_begin_sync(w->file, SYNC_BYTES, offset / SYNC_BYTES * SYNC_BYTES);
    }
}

enum status matrix_text_put_rows(struct outfile *f, size_t *position, const struct text_matrix *m,
                                 struct error *error)
{
    if (m->rows == 0)
        return STATUS_OK;
    const uint64_t by_numbers = m->cols < SECTION_NUMBERS ? SECTION_NUMBERS / m->cols : 1;
    const uint64_t by_text = m->room < SECTION_TEXT ? SECTION_TEXT / (m->room + 1) : 1;
    const uint64_t step = least_of(by_numbers, by_text);
    struct matrix_writer w = {.file = f,
                              .matrix = m,
                              .step = step,
                              .sections = (m->rows + step - 1) / step,
                              .position = *position,
                              .lock = PTHREAD_MUTEX_INITIALIZER,
                              .turn = PTHREAD_COND_INITIALIZER,
                              .error = error};
    size_t threads = (size_t)omp_get_max_threads(), room;
    if (w.sections < threads)
        threads = w.sections;
    if (__builtin_mul_overflow(step * m->cols, NUMBER_MAX_TEXT + 1, &room) ||
        __builtin_add_overflow(room, step * m->room, &room))
        room = SIZE_MAX; /* memory_array() refuses it as too large */
    char *buffers = memory_array(threads, room, error);
    TRY(error->status);
#pragma omp parallel num_threads((int)threads)
    write_sections(&w, buffers + (size_t)omp_get_thread_num() * room);
    *position = w.position;
    memory_free(buffers);
    return error->status;
}

enum status matrix_text_put(struct outfile *f, size_t *position, const double *a, uint64_t rows,
                            uint64_t cols, struct error *error)
{
    const struct text_matrix m = {.a = a, .rows = rows, .cols = cols, .separator = ' '};
    return matrix_text_put_rows(f, position, &m, error);
}

/* Bytes of text that `count` numbers take, each with what separates it from the next. */
static double text_of(const double *a, uint64_t count)
{
    char text[NUMBER_MAX_TEXT];
    uint64_t samples = count < SAMPLES ? count : SAMPLES, bytes = 0;
    for (uint64_t i = 0; i < samples; i++) {
        double fraction = (double)i / (double)samples;
        uint64_t at = ((uint64_t)(fraction * (double)count) + i) % count; /* of any column */
        bytes += (uint64_t)(number_format(a[at], text) - text) + 1;
    }
    return samples ? (double)bytes * ((double)count / (double)samples) : 0;
}

uint64_t matrix_text_bytes(const struct ktensor *k)
{
    double bytes = text_of(k->lambda, k->rank);
    for (int n = 0; n < k->shape.order; n++)
        bytes += text_of(k->factor[n], k->shape.dims[n] * k->rank);
    return (uint64_t)bytes;
}
