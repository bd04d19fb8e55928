#include "formats/ktensor/matrix_file.h"

#include <stdbool.h>

#include "base/memory.h"

enum status matrix_file_text(struct matrix_file *f, struct error *error)
{
    TRY(model_text_open(&f->text, f->path, error));
    if (f->text.items == 0)
        return error_set(error, STATUS_INPUT, "%s: empty, expected rows of numbers", f->path);
    struct text_line line = model_text_item(&f->text, 0);
    f->rows = f->text.items;
    f->cols = model_text_count(&line);
    return STATUS_OK;
}

/* Leaves only the numbers of the text line [at, end): the first field, which is a name or a number,
 * and the commas become blanks. Returns whether numbers are left. */
static bool blank_name(char *at, char *end)
{
    bool quoted = false, numbers = false;
    for (; at < end && (quoted || *at != ','); at++) {
        quoted ^= *at == '"';
        *at = ' ';
    }
    for (; at < end; at++) {
        if (*at == ',')
            *at = ' ';
        numbers |= *at != ' ' && *at != '\t' && *at != '\r';
    }
    return numbers;
}

/* The rows come after the header. */
enum status matrix_file_csv(struct matrix_file *f, struct error *error)
{
    TRY(matrix_file_text(f, error));
    for (uint64_t i = 0; i < f->text.items; i++) {
        const struct text_line line = model_text_item(&f->text, i);
        char *begin = f->text.bytes + (line.begin - f->text.bytes);
        if (!blank_name(begin, begin + (line.end - line.begin)))
            return error_set(error, STATUS_INPUT,
                             "%s:%ju: expected a name and numbers, separated by commas", f->path,
                             (uintmax_t)model_text_lines(&f->text, line.begin) + 1);
    }
    f->rows = f->text.items - 1;
    if (f->rows == 0)
        return error_set(error, STATUS_INPUT, "%s: no rows after the header", f->path);
    const struct text_line first = model_text_item(&f->text, 1);
    f->cols = model_text_count(&first);
    return STATUS_OK;
}

enum status matrix_file_npy(struct matrix_file *f, struct error *error)
{
    TRY(npy_open(&f->array, f->path, error));
    f->rows = f->array.rows;
    f->cols = f->array.cols;
    if (f->rows == 0 || f->cols == 0)
        return error_set(error, STATUS_INPUT, "%s: empty, expected a matrix", f->path);
    return STATUS_OK;
}

enum status matrix_file_read(const struct matrix_file *f, uint64_t rows, double *matrix,
                             struct error *error)
{
    if (!f->text.bytes)
        return npy_matrix(&f->array, rows, matrix, error);
    return model_text_matrix(&f->text, f->text.items - f->rows, rows, f->cols, matrix, error);
}

void matrix_file_close(struct matrix_file *f)
{
    npy_file_close(&f->array);
    model_text_close(&f->text);
    memory_free(f->path);
}
