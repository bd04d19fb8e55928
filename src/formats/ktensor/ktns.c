#include "formats/ktensor/ktns.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "formats/ktensor/matrix_text.h"
#include "formats/ktensor/model_text.h"

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
    TRY(next_item(f, &line, expected, error));
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
    TRY(next_item(f, &line, expected, error));
    for (uint64_t i = 0; i < count; i++) {
        TRY(model_text_unsigned(&f->text, &line, &size[i], error));
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
    TRY(take_word(f, "ktensor", error));
    TRY(take_sizes(f, order, 1, MAX_ORDER, "the number of modes", error));
    TRY(take_sizes(f, dims, *order, MAX_LENGTH, "the lengths of the modes", error));
    TRY(take_sizes(f, rank, 1, UINT64_MAX - 1, "the rank", error));

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
    TRY(take_word(f, "matrix", error));
    TRY(take_sizes(f, &dimensions, 1, 2, "the number of dimensions, 2,", error));
    TRY(take_sizes(f, shape, 2, UINT64_MAX - 1, "the shape of the matrix", error));
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

enum status ktns_read(struct ktensor *k, const char *path, struct error *error)
{
    struct ktns f = {0};
    uint64_t order, rank, dims[MAX_ORDER];
    TRY(model_text_open(&f.text, path, error));
    TRY_OR(done, take_header(&f, &order, dims, &rank, error));
    TRY_OR(done, ktensor_create(k, SHAPE((int)order, dims), rank, error));
    TRY_OR(done, model_text_matrix(&f.text, f.next++, 1, rank, k->lambda, error));
    for (int n = 0; n < k->shape.order; n++)
        TRY_OR(done, take_matrix(&f, k->factor[n], k->shape.dims[n], rank, error));
done:
    model_text_close(&f.text);
    return error->status;
}

static enum status put_text(struct outfile *f, size_t *position, const char *text,
                            struct error *error)
{
    size_t length = strlen(text), offset = *position;
    *position += length;
    return outfile_write_at(f, text, length, offset, error);
}

enum status ktns_write(struct outfile *file, const struct ktensor *k, struct error *error)
{
    size_t position = 0;
    char text[MAX_ORDER * 24 + 64];
    int used = snprintf(text, sizeof text, "ktensor\n%d\n", k->shape.order);
    for (int n = 0; n < k->shape.order; n++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%" PRIu64 "%c", k->shape.dims[n],
                         n + 1 < k->shape.order ? ' ' : '\n');
    snprintf(text + used, sizeof text - (size_t)used, "%" PRIu64 "\n", k->rank);
    TRY(put_text(file, &position, text, error));
    TRY(matrix_text_put(file, &position, k->lambda, 1, k->rank, error));
    for (int n = 0; n < k->shape.order; n++) {
        const uint64_t rows = k->shape.dims[n];
        snprintf(text, sizeof text, "matrix\n2\n%" PRIu64 " %" PRIu64 "\n", rows, k->rank);
        TRY(put_text(file, &position, text, error));
        TRY(matrix_text_put(file, &position, k->factor[n], rows, k->rank, error));
    }
    return STATUS_OK;
}
