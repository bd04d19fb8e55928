#include "formats/ktensor/model_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/infile.h"
#include "base/least.h"
#include "base/memory.h"
#include "base/number.h"

#define PARTS 256 /* of the file; a thread looks for items in one at a time */
#define ROWS  256 /* of a matrix that a thread parses at a time             */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* *line = the text line that begins at `at`, without the blanks at both ends. Returns where the
 * next text line begins. Every text line of an accepted file has a newline. */
static const char *cut_line(const char *at, const char *end, struct text_line *line)
{
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    const char *last = newline;
    while (at < last && is_blank(*at))
        at++;
    while (last > at && is_blank(last[-1]))
        last--;
    line->begin = at;
    line->end = last;
    return newline + 1;
}

/* The first byte from `near` on that begins a text line. */
static size_t line_start(const struct model_text *t, size_t near)
{
    if (near == 0)
        return 0;
    if (near >= t->size)
        return t->size;
    const char *newline = memchr(t->bytes + near - 1, '\n', t->size - near + 1);
    return newline ? (size_t)(newline - t->bytes) + 1 : t->size;
}

/* Counts the items of part `part` of the file; item[0..) = where they begin, unless it is NULL. */
static uint64_t list_items(const struct model_text *t, int part, size_t *item)
{
    const char *at = t->bytes + line_start(t, even_cut(t->size, part, PARTS));
    const char *end = t->bytes + line_start(t, even_cut(t->size, part + 1, PARTS));
    uint64_t count = 0;
    struct text_line line;
    while (at < end) {
        at = cut_line(at, end, &line);
        if (line.begin == line.end)
            continue;
        if (item)
            item[count] = (size_t)(line.begin - t->bytes);
        count++;
    }
    return count;
}

static enum status index_items(struct model_text *t, struct error *error)
{
    uint64_t first[PARTS];
#pragma omp parallel for schedule(dynamic)
    for (int p = 0; p < PARTS; p++)
        first[p] = list_items(t, p, NULL);
    for (int p = 0; p < PARTS; p++) {
        const uint64_t count = first[p];
        first[p] = t->items;
        t->items += count;
    }
    t->item = memory_array(t->items, sizeof *t->item, error);
    TRY(error->status);
#pragma omp parallel for schedule(dynamic)
    for (int p = 0; p < PARTS; p++)
        list_items(t, p, t->item + first[p]);
    return STATUS_OK;
}

enum status model_text_open(struct model_text *t, const char *path, struct error *error)
{
    *t = (struct model_text){.path = path};
    t->bytes = infile_whole(path, &t->size, error);
    if (!t->bytes)
        return error->status;
    if (t->size > 1 && memcmp(t->bytes, "\x1f\x8b", 2) == 0)
        error_set(error, STATUS_INPUT, "%s: is compressed by gzip, expected plain text: gzip -d",
                  path);
    else if (t->size > 0 && t->bytes[t->size - 1] != '\n')
        error_set(error, STATUS_INPUT, "%s: the last line has no end: the file was cut off", path);
    else
        index_items(t, error);
    if (error->status != STATUS_OK)
        model_text_close(t);
    return error->status;
}

void model_text_close(struct model_text *t)
{
    memory_free(t->bytes, t->item);
    *t = (struct model_text){0};
}

struct text_line model_text_item(const struct model_text *t, uint64_t item)
{
    struct text_line line;
    cut_line(t->bytes + t->item[item], t->bytes + t->size, &line);
    return line;
}

uint64_t model_text_lines(const struct model_text *t, const char *at)
{
    uint64_t lines = 0;
    for (const char *c = t->bytes; c < at; c++)
        lines += *c == '\n';
    return lines;
}

uint64_t model_text_count(const struct text_line *line)
{
    uint64_t count = 0;
    for (const char *at = line->begin; at < line->end; at++)
        count += !is_blank(*at) && (at == line->begin || is_blank(at[-1]));
    return count;
}

enum status model_text_refuse(const struct model_text *t, const struct text_line *line,
                              const char *expected, struct error *error)
{
    enum { SHOWN = 23 };
    char word[4 * SHOWN + 1], *to = word;
    size_t length = 0; /* of the word */
    while (line->begin + length < line->end && !is_blank(line->begin[length]))
        length++;
    *to = '\0';
    for (size_t i = 0; i < length && i < SHOWN; i++) {
        unsigned char c = (unsigned char)line->begin[i];
        to += sprintf(to, c > ' ' && c <= '~' ? "%c" : "\\x%02x", c);
    }
    if (length == 0)
        return error_set(error, STATUS_INPUT, "%s:%" PRIu64 ": the line ends, expected %s", t->path,
                         model_text_lines(t, line->begin) + 1, expected);
    return error_set(error, STATUS_INPUT, "%s:%" PRIu64 ": read \"%s%s\", expected %s", t->path,
                     model_text_lines(t, line->begin) + 1, word, length > SHOWN ? "..." : "",
                     expected);
}

/* Whether the word that begins the line ends at `next`, which may be NULL; if so, line->begin moves
 * to the word after it. */
static inline bool take_word(struct text_line *line, const char *next)
{
    if (!next || (next < line->end && !is_blank(*next)))
        return false;
    line->begin = next;
    while (line->begin < line->end && is_blank(*line->begin))
        line->begin++;
    return true;
}

/* Whether a finite number begins the line: then it is taken. */
static inline bool take_number(struct text_line *line, double *value)
{
    const char *next = number_parse(line->begin, line->end, value);
    return next && __builtin_isfinite(*value) && take_word(line, next);
}

enum status model_text_unsigned(const struct model_text *t, struct text_line *line, uint64_t *value,
                                struct error *error)
{
    if (take_word(line, number_parse_unsigned(line->begin, line->end, value)))
        return STATUS_OK;
    return model_text_refuse(t, line, "a whole number", error);
}

enum status model_text_line_end(const struct model_text *t, const struct text_line *line,
                                uint64_t numbers, struct error *error)
{
    if (line->begin == line->end)
        return STATUS_OK;
    return error_set(error, STATUS_INPUT, "%s:%" PRIu64 ": %" PRIu64 " numbers, expected %" PRIu64,
                     t->path, model_text_lines(t, line->begin) + 1,
                     numbers + model_text_count(line), numbers);
}

/* Explains what is wrong with the text line of a row. */
static enum status refuse_row(const struct model_text *t, struct text_line line, uint64_t cols,
                              struct error *error)
{
    uint64_t count = model_text_count(&line);
    if (count != cols)
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64 ": %" PRIu64 " numbers, expected %" PRIu64, t->path,
                         model_text_lines(t, line.begin) + 1, count, cols);
    double value;
    while (take_number(&line, &value)) {
    }
    return model_text_refuse(t, &line, "a finite number", error);
}

enum status model_text_matrix(const struct model_text *t, uint64_t first, uint64_t rows,
                              uint64_t cols, double *matrix, struct error *error)
{
    uint64_t wrong = UINT64_MAX; /* the first row that is */
#pragma omp parallel for schedule(dynamic, ROWS) reduction(min : wrong)
    for (uint64_t i = 0; i < rows; i++) {
        struct text_line line = model_text_item(t, first + i);
        uint64_t col = 0;
        while (col < cols && take_number(&line, &matrix[i * cols + col]))
            col++;
        if (col < cols || line.begin < line.end)
            wrong = least_of(wrong, i);
    }
    if (wrong == UINT64_MAX)
        return STATUS_OK;
    return refuse_row(t, model_text_item(t, first + wrong), cols, error);
}
