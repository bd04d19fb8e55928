/* The oracle of CSV: a reader that goes through the text byte by byte. */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A field: decoded text. */
struct naive_field {
    char *text;
    size_t length;
};

/* Reads the field at text[*at]; false where it is at fault. *at = its separator or newline. The
 * text ends with a newline. */
static inline int naive_csv_field(const char *text, size_t size, size_t *at, struct naive_field *f)
{
    size_t p = *at;
    const int quoted = text[p] == '"';
    f->text = malloc(size + 1);
    f->length = 0;
    if (!f->text)
        abort();
    for (p += (size_t)quoted; p < size; p++) {
        if (quoted && text[p] == '"' && text[p + 1] == '"')
            p++;
        else if (quoted && text[p] == '"')
            break;
        else if (!quoted && (text[p] == ',' || text[p] == '\n'))
            break;
        else if (!quoted && text[p] == '"')
            return 0;
        f->text[f->length++] = text[p];
    }
    if (p == size)
        return 0;
    p += (size_t)quoted;
    if (quoted && text[p] == '\r' && text[p + 1] == '\n')
        p++;
    if (!quoted && text[p] == '\n' && f->length > 0 && f->text[f->length - 1] == '\r')
        f->length--;
    *at = p;
    return text[p] == ',' || text[p] == '\n';
}

/* Reads all rows of text[0..size) with `columns` columns, all of them names. Returns the number of
 * rows, or -1 where one is at fault; field (rows x columns) is theirs, freed by naive_csv_free. */
static inline long naive_csv(const char *text, size_t size, int columns, struct naive_field **field)
{
    long count = 0, bad = 0;
    *field = calloc((size + 1) * (size_t)columns, sizeof **field);
    for (size_t at = 0; at < size && !bad;) {
        if (text[at] == '\n' || (text[at] == '\r' && text[at + 1] == '\n')) {
            at += text[at] == '\n' ? 1 : 2;
            continue;
        }
        struct naive_field *row = *field + count * columns;
        int column = 0;
        for (; !bad; column++, at++) {
            struct naive_field none, *to = column < columns ? &row[column] : &none;
            bad = !naive_csv_field(text, size, &at, to);
            bad |= to->length == 0 || memchr(to->text, 0, to->length) != NULL;
            if (column >= columns)
                free(none.text);
            if (!bad && text[at] == '\n')
                break;
        }
        bad |= column + 1 != columns;
        at++;
        count++;
    }
    return bad ? -1 : count;
}

static inline void naive_csv_free(struct naive_field *field, size_t size, int columns)
{
    for (size_t i = 0; i < (size + 1) * (size_t)columns; i++)
        free(field[i].text);
    free(field);
}
