#include "formats/ktensor/matrix_csv.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "formats/csv/csv_record.h"
#include "formats/ktensor/matrix_text.h"
#include "formats/names/name_list.h"

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

/* The first column of a factor matrix. */
struct column {
    const struct labels *names; /* or NULL */
    int n;                      /* the mode */
};

static char *put_index(const void *column, uint64_t row, char *text)
{
    const struct column *c = column;
    const char *label = c->names ? labels_get(c->names, c->n, row) : NULL;
    text = label ? put_name(label, text) : number_format_unsigned(row + 1, text);
    *text++ = ',';
    return text;
}

static char *put_component(const void *context, uint64_t row, char *text)
{
    (void)context;
    text = number_format_unsigned(row + 1, stpcpy(text, "component"));
    *text++ = ',';
    return text;
}

static char *put_heading(const struct column *c, char *text)
{
    char number[32];
    snprintf(number, sizeof number, "mode%d", c->n + 1);
    const bool named = c->names && c->names->modes.of[c->n][0];
    return put_name(named ? c->names->modes.of[c->n] : number, text);
}

/* Writes the header of a factor matrix. */
static enum status write_header(struct outfile *f, const struct column *c, uint64_t rank,
                                size_t *size, struct error *error)
{
    const size_t component = sizeof ",component" + NUMBER_MAX_TEXT;
    char *header = memory_array(NAME_ROOM(MODE_NAME_BYTES) + 2 + rank * component, 1, error);
    if (!header)
        return error->status;
    char *at = put_heading(c, header);
    for (uint64_t r = 0; r < rank; r++)
        at = number_format_unsigned(r + 1, stpcpy(at, ",component"));
    *at++ = '\n';
    *size = (size_t)(at - header);
    outfile_write_at(f, header, *size, 0, error);
    memory_free(header);
    return error->status;
}

static enum status write_factor(struct outfile *f, const struct ktensor *k, const struct column *c,
                                struct error *error)
{
    size_t position = 0;
    const size_t longest = c->names ? labels_longest(c->names, c->n) : 0;
    const struct text_matrix m = {.a = k->factor[c->n],
                                  .rows = k->shape.dims[c->n],
                                  .cols = k->rank,
                                  .separator = ',',
                                  .before = put_index,
                                  .context = c,
                                  .room = NAME_ROOM(longest) + NUMBER_MAX_TEXT + 1};
    TRY(write_header(f, c, k->rank, &position, error));
    return matrix_text_put_rows(f, &position, &m, error);
}

enum status matrix_csv_write(struct outfile *file, const struct ktensor *k,
                             const struct labels *names, struct error *error)
{
    static const char header[] = "component,weight\n";
    size_t position = sizeof header - 1;
    const struct text_matrix weights = {.a = k->lambda,
                                        .rows = k->rank,
                                        .cols = 1,
                                        .separator = ',',
                                        .before = put_component,
                                        .room = sizeof "component," + NUMBER_MAX_TEXT};
    for (int n = 0; n < k->shape.order; n++) {
        const struct column column = {names, n};
        TRY(write_factor(&file[n], k, &column, error));
    }
    TRY(outfile_write_at(&file[k->shape.order], header, position, 0, error));
    return matrix_text_put_rows(&file[k->shape.order], &position, &weights, error);
}
