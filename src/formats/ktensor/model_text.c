#include "formats/ktensor/model_text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/infile.h"
#include "base/memory.h"
#include "base/number.h"

#define SECTION_BYTES ((size_t)1 << 18)

/* The text lines that begin within the same SECTION_BYTES bytes of the file. */
struct text_section {
    size_t begin;  /* position in the file                      */
    uint64_t line; /* text lines of the file before the section */
    uint64_t item; /* items of the file before the section      */
};

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

static enum status index_lines(struct model_text *t, struct error *error)
{
    t->nsections = (t->size + SECTION_BYTES - 1) / SECTION_BYTES;
    t->section = memory_array(t->nsections + 1, sizeof *t->section, error);
    TRY(error->status);
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (uint64_t c = 0; c <= t->nsections; c++)
            t->section[c].begin = line_start(t, c * SECTION_BYTES);
#pragma omp for schedule(static)
        for (uint64_t c = 0; c < t->nsections; c++) {
            const char *at = t->bytes + t->section[c].begin;
            const char *end = t->bytes + t->section[c + 1].begin;
            uint64_t lines = 0, items = 0;
            struct text_line line;
            for (; at < end; lines++) {
                at = cut_line(at, end, &line);
                items += line.begin < line.end;
            }
            t->section[c].line = lines;
            t->section[c].item = items;
        }
    }
    for (uint64_t c = 0; c < t->nsections; c++) {
        uint64_t lines = t->section[c].line, items = t->section[c].item;
        t->section[c].line = t->lines;
        t->section[c].item = t->items;
        t->lines += lines;
        t->items += items;
    }
    t->section[t->nsections].line = t->lines;
    t->section[t->nsections].item = t->items;
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
        index_lines(t, error);
    if (error->status != STATUS_OK)
        model_text_close(t);
    return error->status;
}

void model_text_close(struct model_text *t)
{
    memory_free(t->bytes, t->section);
    *t = (struct model_text){0};
}

/* The section that has item number `item`. */
static uint64_t section_of(const struct model_text *t, uint64_t item)
{
    uint64_t low = 0, high = t->nsections;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (t->section[middle].item <= item)
            low = middle;
        else
            high = middle;
    }
    return low;
}

struct text_line model_text_item(const struct model_text *t, uint64_t item)
{
    const struct text_section *section = &t->section[section_of(t, item)];
    const char *at = t->bytes + section->begin, *end = t->bytes + t->size;
    uint64_t passed = section->item;
    struct text_line line = {.number = section->line};
    do {
        at = cut_line(at, end, &line);
        line.number++;
        passed += line.begin < line.end;
    } while (passed <= item);
    return line;
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
    char word[4 * SHOWN + 1], *out = word;
    size_t length = 0; /* of the word */
    while (line->begin + length < line->end && !is_blank(line->begin[length]))
        length++;
    *out = '\0';
    for (size_t i = 0; i < length && i < SHOWN; i++) {
        unsigned char c = (unsigned char)line->begin[i];
        out += sprintf(out, c > ' ' && c <= '~' ? "%c" : "\\x%02x", c);
    }
    if (length == 0)
        return error_set(error, STATUS_INPUT, "%s:%" PRIu64 ": the line ends, expected %s", t->path,
                         line->number, expected);
    return error_set(error, STATUS_INPUT, "%s:%" PRIu64 ": read \"%s%s\", expected %s", t->path,
                     line->number, word, length > SHOWN ? "..." : "", expected);
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
                     t->path, line->number, numbers + model_text_count(line), numbers);
}

/* Explains what is wrong with the text line of a row. */
static enum status refuse_row(const struct model_text *t, struct text_line line, uint64_t cols,
                              struct error *error)
{
    uint64_t count = model_text_count(&line);
    if (count != cols)
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64 ": %" PRIu64 " numbers, expected %" PRIu64, t->path,
                         line.number, count, cols);
    double value;
    while (take_number(&line, &value)) {
    }
    return model_text_refuse(t, &line, "a finite number", error);
}

struct matrix {
    uint64_t first, rows, cols;
    double *entry; /* (rows x cols) */
};

/* Parses the items of the section that belong to the matrix. */
static enum status read_section(const struct model_text *t, uint64_t c, const struct matrix *m,
                                struct error *error)
{
    const char *at = t->bytes + t->section[c].begin;
    const char *end = t->bytes + t->section[c + 1].begin;
    uint64_t item = t->section[c].item;
    struct text_line line = {.number = t->section[c].line};
    while (at < end && item < m->first + m->rows) {
        at = cut_line(at, end, &line);
        line.number++;
        if (line.begin == line.end)
            continue;
        if (item >= m->first) {
            double *row = m->entry + (item - m->first) * m->cols;
            struct text_line rest = line;
            uint64_t col = 0;
            while (col < m->cols && take_number(&rest, &row[col]))
                col++;
            if (col < m->cols || rest.begin < rest.end)
                return refuse_row(t, line, m->cols, error);
        }
        item++;
    }
    return STATUS_OK;
}

enum status model_text_matrix(const struct model_text *t, uint64_t first, uint64_t rows,
                              uint64_t cols, double *matrix, struct error *error)
{
    const struct matrix m = {first, rows, cols, matrix};
    uint64_t begin = section_of(t, first), end = section_of(t, first + rows - 1) + 1;
    uint64_t wrong = end; /* the first section with an error */
#pragma omp parallel for schedule(dynamic, 1)
    for (uint64_t c = begin; c < end; c++) {
        uint64_t known;
#pragma omp atomic read
        known = wrong;
        struct error found = {0};
        if (c < known && read_section(t, c, &m, &found) != STATUS_OK) {
#pragma omp critical(model_text_matrix)
            if (c < wrong) {
                *error = found;
#pragma omp atomic write
                wrong = c;
            }
        }
    }
    return error->status;
}
