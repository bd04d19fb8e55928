#include "report/prediction_file.h"

#include <stdio.h>
#include <string.h>

#include "base/least.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/outfile.h"
#include "base/utf8.h"
#include "formats/ktensor/npy.h"

#define SECTION_LINES 32768
#define SECTION_BYTES ((size_t)8 << 20) /* fewer text lines where labels are long */
#define NO_LABEL      "index "          /* before the number of an index without a label */

bool prediction_file_is_array(const char *path)
{
    size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".npy") == 0;
}

/* --- text --- */

/* Bytes that the longest text line may take. */
static size_t line_room(const struct prediction_form *form)
{
    size_t room = (1 + RESIDUAL_NUMBERS) * (NUMBER_MAX_TEXT + 1);
    for (int n = 0; n < form->order; n++)
        room += sizeof NO_LABEL + NUMBER_MAX_TEXT + PRINTABLE_ROOM(labels_longest(form->labels, n));
    return room;
}

/* The entries whose text lines are written together. */
struct prediction_lines {
    const struct prediction_form *form;
    const struct coo *x;
    const double *model;
};

static bool any_labels(const struct prediction_form *form)
{
    bool any = false;
    for (int n = 0; n < form->order; n++)
        any = any || form->labels->mode[n].count > 0;
    return any;
}

static char *format_index(const struct prediction_form *form, int n, uint32_t index, char *text)
{
    const char *label = labels_get(form->labels, n, index);
    if (label) {
        printable(label, text, PRINTABLE_ROOM(strlen(label)));
        return text + strlen(text);
    }
    if (form->labels->mode[n].count > 0)
        text = stpcpy(text, NO_LABEL);
    return number_format_unsigned((uint64_t)index + (uint64_t)form->index_base, text);
}

static char *format_lines(const void *lines, uint64_t begin, uint64_t end, char *text)
{
    const struct prediction_lines *l = lines;
    const struct prediction_form *form = l->form;
    const char between = any_labels(form) ? '\t' : ' ';
    double number[RESIDUAL_NUMBERS];
    for (uint64_t i = begin; i < end; i++) {
        for (int n = 0; n < form->order; n++) {
            text = format_index(form, n, l->x->index[n][i], text);
            *text++ = between;
        }
        text = number_format(l->model[i], text);
        if (form->residuals)
            form->loss->residual_numbers(l->x->value[i], l->model[i], number);
        for (int k = 0; form->residuals && k < form->loss->residuals; k++) {
            *text++ = between;
            text = number_format(number[k], text);
        }
        *text++ = '\n';
    }
    return text;
}

/* --- an array, whose number of rows is known at the end --- */

static uint64_t columns_of(const struct prediction_form *form)
{
    return form->residuals ? 1 + (uint64_t)form->loss->residuals : 0;
}

static enum status make_room(struct prediction_file *f, uint64_t entries, struct error *error)
{
    if (entries <= f->room)
        return STATUS_OK;
    TRY(memory_resize(&f->row, entries, columns_of(&f->form) * sizeof *f->row, error));
    f->room = entries;
    return STATUS_OK;
}

static enum status append_to_array(struct prediction_file *f, const struct coo *x,
                                   const double *model, struct error *error)
{
    const double *rows = model;
    if (f->form.residuals) {
        TRY(make_room(f, x->nnz, error));
#pragma omp parallel for schedule(static)
        for (uint64_t i = 0; i < x->nnz; i++) {
            double *row = f->row + i * columns_of(&f->form);
            row[0] = model[i];
            f->form.loss->residual_numbers(x->value[i], model[i], row + 1);
        }
        rows = f->row;
    }
    const struct outfile_extent extent =
        npy_extent(&f->array, 0, columns_of(&f->form), rows, f->count, x->nnz);
    f->count += x->nnz;
    return outfile_write_extents(&extent, 1, error);
}

/* --- both --- */

enum status prediction_file_open(struct prediction_file *f, const char *path,
                                 const struct prediction_form *form, struct error *error)
{
    *f = (struct prediction_file){.form = *form, .array = {.fd = -1}};
    if (prediction_file_is_array(path))
        return outfile_open(&f->array, path, error);
    const size_t room = line_room(form);
    const uint64_t lines = least_of(SECTION_LINES, SECTION_BYTES / room + 1);
    const struct line_sections sections = {.lines = lines, .bytes = lines * room};
    return line_writer_open(&f->lines, path, &sections, error);
}

enum status prediction_file_append(struct prediction_file *f, const struct coo *x,
                                   const double *model, struct error *error)
{
    const struct prediction_lines lines = {&f->form, x, model};
    const struct line_piece piece = {.lines = x->nnz, .context = &lines, .format = format_lines};
    if (f->lines)
        return line_writer_append(f->lines, &piece, error);
    return append_to_array(f, x, model, error);
}

enum status prediction_file_commit(struct prediction_file *f, struct error *error)
{
    if (f->lines)
        return line_writer_commit(f->lines, NULL, error);
    TRY(npy_write_header(&f->array, f->count, columns_of(&f->form), error));
    return outfile_commit(&f->array, error);
}

void prediction_file_free(struct prediction_file *f)
{
    line_writer_free(f->lines);
    outfile_discard(&f->array);
    memory_free(f->row);
    *f = (struct prediction_file){.array = {.fd = -1}};
}
