#include "formats/ktensor/ktensor_formats.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "formats/csv/csv_text.h"
#include "formats/ktensor/matrix_text.h"
#include "formats/ktensor/model_text.h"
#include "formats/ktensor/npy.h"

/* --- Writes a model as CSV (RFC 4180), for spreadsheets, pandas and R: a header, and in each row a
 * name and numbers with the fewest digits that read back to the same number. --- */

/* The most bytes that a name of so many bytes takes. */
#define NAME_ROOM(bytes) CSV_FIELD_ROOM(NAME_ESCAPE *(bytes))

/* Writes the name, which is as in `.map` files, so that a row is one text line. The field is made
 * of the escaped name behind it, which it does not reach before that is read. */
static char *put_name(const char *name, char *to)
{
    const size_t length = strlen(name);
    char *escaped = to + NAME_ESCAPE * length + 2;
    const char *end = name_escape((struct name){name, length}, escaped);
    return csv_field_write(escaped, (size_t)(end - escaped), to);
}

/* The first column of a file: labels, or a word and the number of the row. */
struct column {
    const struct labels *names; /* or NULL */
    int n;                      /* the mode that they are of */
    const char *word;
};

static char *put_row_name(const void *column, uint64_t row, char *text)
{
    const struct column *c = column;
    const char *label = c->names ? labels_get(c->names, c->n, row) : NULL;
    text = label ? put_name(label, text) : number_format_unsigned(row + 1, stpcpy(text, c->word));
    *text++ = ',';
    return text;
}

/* Writes the header of a factor matrix. */
static enum status write_header(struct ktensor_output *o, int n, struct error *error)
{
    const char *name = o->names ? o->names->modes.name[n] : "";
    char number[32];
    const size_t component = sizeof ",component" + NUMBER_MAX_TEXT;
    char *header =
        memory_array(NAME_ROOM(MODE_NAME_BYTES) + 2 + o->whole->rank * component, 1, error);
    TRY(error->status);
    snprintf(number, sizeof number, "mode%d", n + 1);
    char *at = put_name(*name ? name : number, header);
    for (uint64_t r = 0; r < o->whole->rank; r++)
        at = number_format_unsigned(r + 1, stpcpy(at, ",component"));
    *at++ = '\n';
    o->end[n] = (size_t)(at - header);
    outfile_write_at(&o->file[n], header, o->end[n], 0, error);
    memory_free(header);
    return error->status;
}

/* The header of the file of factor matrix n has the name of the mode, or "mode1", and the
 * components, "component1", ...; the first column has the names of the indices, or their numbers
 * from 1. Names are as in `.map` files (name_list.h), quoted where they have to be. The file after
 * them has the components and their weights. */
static enum status csv_begin(struct ktensor_output *o, struct error *error)
{
    static const char header[] = "component,weight\n";
    const int order = o->whole->shape.order;
    const struct text_matrix weights = {.a = o->whole->lambda,
                                        .rows = o->whole->rank,
                                        .cols = 1,
                                        .separator = ',',
                                        .before = put_row_name,
                                        .context = &(struct column){.word = "component"},
                                        .room = sizeof "component," + NUMBER_MAX_TEXT};
    for (int n = 0; n < order; n++) {
        o->longest[n] = o->names ? labels_longest(o->names, n) : 0;
        TRY(write_header(o, n, error));
    }
    o->end[order] = sizeof header - 1;
    TRY(outfile_write_at(&o->file[order], header, o->end[order], 0, error));
    return matrix_text_put_rows(&o->file[order], &o->end[order], &weights, error);
}

static enum status csv_put(struct ktensor_output *o, const struct ktensor *piece,
                           struct error *error)
{
    for (int n = 0; n < piece->shape.order; n++) {
        const struct column column = {o->names, n, ""};
        const struct text_matrix m = {.a = piece->factor[n],
                                      .first = piece->first[n],
                                      .rows = piece->shape.dims[n],
                                      .cols = piece->rank,
                                      .separator = ',',
                                      .before = put_row_name,
                                      .context = &column,
                                      .room = NAME_ROOM(o->longest[n]) + NUMBER_MAX_TEXT + 1};
        TRY(matrix_text_put_rows(&o->file[n], &o->end[n], &m, error));
    }
    return STATUS_OK;
}

/* --- Writes a model as text. --- */

static enum status text_begin(struct ktensor_output *o, struct error *error)
{
    const int order = o->whole->shape.order;
    return matrix_text_put(&o->file[order], &o->end[order], o->whole->lambda, o->whole->rank, 1,
                           error);
}

static enum status text_put(struct ktensor_output *o, const struct ktensor *piece,
                            struct error *error)
{
    for (int n = 0; n < piece->shape.order; n++)
        TRY(matrix_text_put(&o->file[n], &o->end[n], piece->factor[n], piece->shape.dims[n],
                            piece->rank, error));
    return STATUS_OK;
}

/* --- Writes a model as NumPy arrays. --- */

static enum status numpy_begin(struct ktensor_output *o, struct error *error)
{
    const struct ktensor *k = o->whole;
    const int order = k->shape.order;
    for (int n = 0; n < order; n++)
        TRY(npy_write_header(&o->file[n], k->shape.dims[n], k->rank, error));
    TRY(npy_write_header(&o->file[order], k->rank, 0, error));
    const struct outfile_extent weights = npy_extent(&o->file[order], 0, k->lambda, 0, k->rank);
    return outfile_write_extents(&weights, 1, error);
}

static enum status numpy_put(struct ktensor_output *o, const struct ktensor *piece,
                             struct error *error)
{
    struct outfile_extent extent[MAX_ORDER];
    for (int n = 0; n < piece->shape.order; n++)
        extent[n] = npy_extent(&o->file[n], piece->rank, piece->factor[n], piece->first[n],
                               piece->shape.dims[n]);
    return outfile_write_extents(extent, piece->shape.order, error);
}

/* --- Reads and writes the `ktensor` text of Tensor Toolbox, pyttb and GenTen (.ktns). --- */

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
                         f->text.path, model_text_lines(&f->text, f->text.bytes + f->text.size),
                         expected);
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
            return error_set(
                error, STATUS_INPUT, "%s:%" PRIu64 ": %" PRIu64 ", expected %s from 1 to %" PRIu64,
                f->text.path, model_text_lines(&f->text, line.begin) + 1, size[i], expected, most);
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
                         f->text.path, model_text_lines(&f->text, line.begin) + 1);
    if (shape[0] != rows || shape[1] != rank)
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64 ": a matrix of %" PRIu64 " x %" PRIu64 ", expected %" PRIu64
                         " x %" PRIu64,
                         f->text.path, model_text_lines(&f->text, line.begin) + 1, shape[0],
                         shape[1], rows, rank);
    uint64_t first = f->next;
    f->next += rows;
    return model_text_matrix(&f->text, first, rows, rank, matrix, error);
}

/* Reads the model in the file. The caller frees *k with ktensor_free, after a failure too.
 * STATUS_INPUT, with file and text line in the message; STATUS_MEMORY. */
static enum status ktns_read(struct ktensor *k, const char *path, struct error *error)
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

static enum status put_text(struct ktensor_output *o, const char *text, struct error *error)
{
    const size_t length = strlen(text), offset = o->end[0];
    o->end[0] += length;
    return outfile_write_at(o->file, text, length, offset, error);
}

static enum status ktns_begin(struct ktensor_output *o, struct error *error)
{
    const struct ktensor *k = o->whole;
    char text[MAX_ORDER * 24 + 64];
    int used = snprintf(text, sizeof text, "ktensor\n%d\n", k->shape.order);
    for (int n = 0; n < k->shape.order; n++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%" PRIu64 "%c", k->shape.dims[n],
                         n + 1 < k->shape.order ? ' ' : '\n');
    snprintf(text + used, sizeof text - (size_t)used, "%" PRIu64 "\n", k->rank);
    TRY(put_text(o, text, error));
    return matrix_text_put(o->file, &o->end[0], k->lambda, 1, k->rank, error);
}

static enum status ktns_put(struct ktensor_output *o, const struct ktensor *piece,
                            struct error *error)
{
    char text[64];
    for (int n = 0; n < piece->shape.order; n++) {
        if (piece->shape.dims[n] > 0 && piece->first[n] == 0) {
            snprintf(text, sizeof text, "matrix\n2\n%" PRIu64 " %" PRIu64 "\n",
                     o->whole->shape.dims[n], piece->rank);
            TRY(put_text(o, text, error));
        }
        TRY(matrix_text_put(o->file, &o->end[0], piece->factor[n], piece->shape.dims[n],
                            piece->rank, error));
    }
    return STATUS_OK;
}

/* --- The table of formats, and names of files. --- */

const struct word ktensor_format_words[KTENSOR_FORMAT_COUNT + 1] = {{"text", KTENSOR_TEXT},
                                                                    {"npy", KTENSOR_NPY},
                                                                    {"ktns", KTENSOR_KTNS},
                                                                    {"csv", KTENSOR_CSV},
                                                                    {NULL, 0}};

const struct ktensor_format ktensor_formats[KTENSOR_FORMAT_COUNT] = {
    {.flag = KTENSOR_CSV,
     .suffix = "csv",
     .text = true,
     .open = matrix_file_csv,
     .begin = csv_begin,
     .put = csv_put},
    {.flag = KTENSOR_TEXT,
     .suffix = "mat",
     .text = true,
     .open = matrix_file_text,
     .begin = text_begin,
     .put = text_put},
    {.flag = KTENSOR_NPY,
     .suffix = "npy",
     .open = matrix_file_npy,
     .begin = numpy_begin,
     .put = numpy_put},
    {.flag = KTENSOR_KTNS,
     .suffix = "ktns",
     .text = true,
     .read = ktns_read,
     .begin = ktns_begin,
     .put = ktns_put},
};

const struct ktensor_format *ktensor_file_format(const char *path)
{
    const char *dot = strrchr(path, '.');
    for (int i = 0; dot && i < KTENSOR_FORMAT_COUNT; i++)
        if (ktensor_formats[i].read && strcmp(dot + 1, ktensor_formats[i].suffix) == 0)
            return &ktensor_formats[i];
    return NULL;
}

int ktensor_format_files(const struct ktensor_format *format, int order)
{
    return format->read ? 1 : order + 1;
}

const char *ktensor_suffix(const struct ktensor_format *format, int i, int order,
                           char text[KTENSOR_SUFFIX_TEXT])
{
    if (format->read)
        snprintf(text, KTENSOR_SUFFIX_TEXT, "%s", format->suffix);
    else if (i == order)
        snprintf(text, KTENSOR_SUFFIX_TEXT, "lambda.%s", format->suffix);
    else
        snprintf(text, KTENSOR_SUFFIX_TEXT, "mode%d.%s", i + 1, format->suffix);
    return text;
}

enum status ktensor_files_name(struct ktensor_files *files, int order, const char *stem,
                               unsigned formats, struct error *error)
{
    char suffix[KTENSOR_SUFFIX_TEXT];
    *files = (struct ktensor_files){0};
    for (const struct ktensor_format *f = ktensor_formats;
         f < ktensor_formats + KTENSOR_FORMAT_COUNT; f++)
        for (int i = 0; (formats & f->flag) && i < ktensor_format_files(f, order); i++) {
            char *name = memory_text(error, "%s.%s", stem, ktensor_suffix(f, i, order, suffix));
            if (!name)
                return error->status;
            files->path[files->count++] = name;
        }
    return STATUS_OK;
}

enum status ktensor_files_add_maps(struct ktensor_files *files, const char *stem,
                                   const struct labels *names, struct error *error)
{
    for (int i = 0; i < NAME_MAPS; i++) {
        if (names && !map_exists(names, i))
            continue;
        char *name = name_maps_path(stem, i, error);
        if (!name)
            return error->status;
        files->path[files->count++] = name;
    }
    return STATUS_OK;
}

enum status ktensor_files_add_facts(struct ktensor_files *files, const char *stem,
                                    struct error *error)
{
    char *path = memory_text(error, "%s." MODEL_FACTS_SUFFIX, stem);
    if (path)
        files->path[files->count++] = path;
    return error->status;
}

char *ktensor_stem(const char *stem, struct error *error)
{
    const struct ktensor_format *format = ktensor_file_format(stem);
    const size_t ending = format ? strlen(format->suffix) + 1 : 0;
    return memory_text(error, "%.*s", (int)(strlen(stem) - ending), stem);
}

void ktensor_files_free(struct ktensor_files *files)
{
    for (int i = 0; i < files->count; i++)
        memory_free(files->path[i]);
    *files = (struct ktensor_files){0};
}
