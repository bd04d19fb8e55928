#include "formats/csv/csv_rows.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"

#define BATCH        32               /* rows whose names are looked up together               */
#define FRESH        NAME_TABLE_LIMIT /* set in the number of a name that the section is first to have */
#define LEAST_COPIES ((size_t)4 << 10) /* bytes of copied names */

/* What a thread finds in a section. */
struct section_names {
    uint64_t rows;
    struct csv_fault fault;             /* of the first row at fault                  */
    struct error error;                 /* STATUS_MEMORY                              */
    struct name_table fresh[MAX_ORDER]; /* names that the modes' tables lack          */
    uint32_t *number[MAX_ORDER];        /* (number_room) of these in the tables; owned */
    uint64_t number_room[MAX_ORDER];
    bool binned[MAX_ORDER]; /* a field other than those of csv_bin_is_compact, so far */
    char *copies; /* (copies_room) names of a batch that are not in the text as they are; owned */
    size_t copies_room;
};

void csv_rows_free(struct csv_rows *r)
{
    for (size_t i = 0; i < r->room; i++) {
        for (int n = 0; n < MAX_ORDER; n++) {
            name_table_free(&r->own[i].fresh[n]);
            memory_free(r->own[i].number[n]);
        }
        memory_free(r->own[i].copies);
    }
    memory_free(r->own);
    *r = (struct csv_rows){0};
}

/* --- one section --- */

/* Some rows of a section, and the names in them. */
struct batch {
    const struct csv_columns *columns;
    struct section_names *own;
    const struct coo *x;
    uint64_t first; /* the entry of the first row */
    int rows;
    size_t copied; /* bytes of own->copies */
    const char *row[BATCH];
    struct name name[BATCH][MAX_ORDER];
    uint32_t hash[BATCH][MAX_ORDER];
};

static bool set_fault(struct batch *b, enum csv_fault_kind kind, const char *row, int n,
                      struct name name)
{
    const int column = n < b->columns->modes ? b->columns->mode[n].column : b->columns->value;
    b->own->fault =
        (struct csv_fault){kind, row, column, {.begin = name.text, .end = name.text + name.length}};
    return false;
}

/* Numbers a name that the mode's table lacks. */
static bool take_fresh(struct batch *b, int i, int n, uint32_t *number)
{
    const struct csv_mode *mode = &b->columns->mode[n];
    const struct name name = b->name[i][n];
    double value;
    if (mode->order == CSV_LISTED)
        return set_fault(b, CSV_UNLISTED, b->row[i], n, name);
    if (name.length > NAME_LONGEST)
        return set_fault(b, CSV_LONG, b->row[i], n, name);
    if (memchr(name.text, 0, name.length))
        return set_fault(b, CSV_ZERO_BYTE, b->row[i], n, name);
    if (mode->order == CSV_BY_NUMBER) {
        const char *end = name.text + name.length;
        if (number_parse(name.text, end, &value) != end || isnan(value))
            return set_fault(b, CSV_NUMBER, b->row[i], n, name);
    }
    if (name_table_add(&b->own->fresh[n], name, b->hash[i][n], number, &b->own->error) != STATUS_OK)
        return false;
    *number |= FRESH;
    return true;
}

/* Looks up the names of the rows so far. Returns whether all is well. */
static bool end_batch(struct batch *b)
{
    const int rows = b->rows;
    b->rows = 0;
    b->copied = 0;
    for (int i = 0; i < rows; i++)
        for (int n = 0; n < b->columns->modes; n++)
            name_table_prefetch_text(&b->columns->mode[n].names, b->hash[i][n]);
    for (int i = 0; i < rows; i++) {
        for (int n = 0; n < b->columns->modes; n++) {
            uint32_t *number = &b->x->index[n][b->first + (uint64_t)i];
            if (name_table_find(&b->columns->mode[n].names, b->name[i][n], b->hash[i][n], number))
                continue;
            if (!take_fresh(b, i, n, number))
                return false;
        }
    }
    b->first += (uint64_t)rows;
    b->own->rows += (uint64_t)rows;
    return true;
}

/* Room for `more` bytes of copies; the batch is empty if it has to grow. */
static bool make_copies_room(struct batch *b, size_t more)
{
    struct section_names *own = b->own;
    if (own->copies_room - b->copied >= more)
        return true;
    const size_t room = 2 * more + LEAST_COPIES;
    if (memory_resize(&own->copies, room, 1, &own->error) != STATUS_OK)
        return false;
    own->copies_room = room;
    return true;
}

/* The name that the field of mode n stands for. */
static bool name_of(struct batch *b, const struct csv_field *field, const char *row, int n,
                    struct name *name)
{
    const struct csv_bin *bin = &b->columns->mode[n].bin;
    *name = (struct name){field->begin, (size_t)(field->end - field->begin)};
    if (name->length == 0)
        return set_fault(b, CSV_EMPTY, row, n, *name);
    if (field->doubled) {
        char *copy = b->own->copies + b->copied;
        *name = (struct name){copy, csv_field_copy(field, copy)};
        b->copied += name->length;
    }
    if (bin->kind == CSV_BIN_NONE)
        return true;
    char *binned = b->own->copies + b->copied;
    const size_t length = csv_bin_name(bin, name->text, name->length, binned);
    if (length == 0)
        return set_fault(b, bin->kind == CSV_BIN_NUMBER ? CSV_UNBINNED : CSV_TIME, row, n,
                         (struct name){field->begin, (size_t)(field->end - field->begin)});
    b->own->binned[n] = b->own->binned[n] || !csv_bin_is_compact(name->text, name->length);
    *name = (struct name){binned, length};
    b->copied += length;
    return true;
}

/* A number, or an unknown entry: an empty field, as pandas writes it, or a word for it. */
static bool value_of(struct batch *b, const struct csv_field *field, const char *row, double *value)
{
    if (number_parse(field->begin, field->end, value) == field->end && isfinite(*value))
        return true;
    *value = COO_UNKNOWN;
    if (field->begin == field->end || number_parse_unknown(field->begin, field->end) == field->end)
        return true;
    return set_fault(b, CSV_VALUE, row, b->columns->modes,
                     (struct name){field->begin, (size_t)(field->end - field->begin)});
}

/* Bytes of copies that the row may take. */
static size_t copies_of(const struct csv_columns *c, const struct csv_field *field)
{
    size_t bytes = 0;
    for (int n = 0; n < c->modes; n++) {
        bytes += field[n].doubled ? (size_t)(field[n].end - field[n].begin) : 0;
        bytes += c->mode[n].bin.kind != CSV_BIN_NONE ? CSV_BIN_ROOM : 0;
    }
    return bytes;
}

/* Adds a row to the batch. */
static bool take_row(struct batch *b, const struct csv_field *field, const char *row)
{
    const struct csv_columns *c = b->columns;
    const size_t copies = copies_of(c, field);
    if (b->rows == BATCH || b->own->copies_room - b->copied < copies)
        if (!end_batch(b) || !make_copies_room(b, copies))
            return false;
    const int i = b->rows;
    double *value = &b->x->value[b->first + (uint64_t)i];
    *value = 1;
    b->row[i] = row;
    for (int n = 0; n < c->modes; n++) {
        struct name *name = &b->name[i][n];
        if (!name_of(b, &field[n], row, n, name))
            return false;
        b->hash[i][n] = name_hash(name->text, name->length);
        name_table_prefetch(&c->mode[n].names, b->hash[i][n]);
    }
    if (c->value >= 0 && !value_of(b, &field[c->modes], row, value))
        return false;
    b->rows++;
    return true;
}

/* Rows before a row at fault may be at fault, too, in what is found out only now. */
static void end_section(struct batch *b)
{
    const struct csv_fault later = b->own->fault;
    b->own->fault.kind = CSV_SOUND;
    if (b->own->error.status == STATUS_OK && end_batch(b))
        b->own->fault = later;
}

static void read_section(const struct csv_columns *c, const struct csv_section *s,
                         struct section_names *own, const struct coo *x, uint64_t first)
{
    struct csv_field field[MAX_ORDER + 2];
    struct batch b = {.columns = c, .own = own, .x = x, .first = first};
    own->rows = 0;
    own->fault.kind = CSV_SOUND;
    for (int n = 0; n < c->modes; n++)
        name_table_clear(&own->fresh[n]);
    for (const char *at = csv_record_skip_blank(s->begin, s->end); at && at < s->end;) {
        const char *next = csv_record_read(&c->format, at, s->end, field, &own->fault);
        if (!next || !take_row(&b, field, at))
            break;
        at = csv_record_skip_blank(next, s->end);
    }
    end_section(&b);
}

/* --- all sections --- */

/* Adds the fresh names of all sections to the table of mode n. */
static enum status add_names(struct csv_rows *r, const struct csv_text *t, int n,
                             struct error *error)
{
    struct name_table *names = &r->columns->mode[n].names;
    for (size_t i = 0; i < t->sections; i++) {
        struct section_names *own = &r->own[i];
        const struct name_table *fresh = &own->fresh[n];
        if (fresh->count > own->number_room[n]) {
            TRY(memory_resize(&own->number[n], fresh->count, sizeof *own->number[n], error));
            own->number_room[n] = fresh->count;
        }
        if ((uint64_t)names->count + fresh->count > NAME_TABLE_LIMIT)
            return error_set(error, STATUS_INPUT,
                             "%s: more than %" PRIu32 " names in a column, expected fewer",
                             r->columns->path, NAME_TABLE_LIMIT);
        for (uint32_t k = 0; k < fresh->count; k++) {
            const struct name name = name_table_get(fresh, k);
            const uint32_t hash = name_hash(name.text, name.length);
            TRY(name_table_add(names, name, hash, &own->number[n][k], error));
        }
    }
    return STATUS_OK;
}

static enum status add_all_names(struct csv_rows *r, const struct csv_text *t, struct error *error)
{
    struct error own[MAX_ORDER] = {{0}};
#pragma omp parallel for schedule(dynamic) num_threads(t->threads)
    for (int n = 0; n < r->columns->modes; n++)
        add_names(r, t, n, &own[n]);
    for (int n = 0; n < r->columns->modes; n++)
        if (own[n].status != STATUS_OK)
            return error_set(error, own[n].status, "%s", own[n].message);
    return STATUS_OK;
}

/* Gives the names that were fresh in the section the numbers that they have in the table. */
static void renumber(const struct section_names *own, int modes, const struct coo *x,
                     uint64_t first)
{
    for (int n = 0; n < modes; n++) {
        uint32_t *index = x->index[n] + first;
        for (uint64_t i = 0; i < own->rows && own->fresh[n].count > 0; i++)
            if (index[i] & FRESH)
                index[i] = own->number[n][index[i] & ~FRESH];
    }
}

/* Closes the gaps that text lines without an entry left. */
static void gather(const struct csv_rows *r, const struct csv_text *t, struct coo *x,
                   uint64_t *used)
{
    uint64_t at = *used;
    for (size_t i = 0; i < t->sections; i++) {
        const uint64_t from = *used + t->section[i].first_line, rows = r->own[i].rows;
        for (int n = 0; n < x->shape.order && at != from; n++)
            memmove(x->index[n] + at, x->index[n] + from, rows * sizeof *x->index[n]);
        if (at != from)
            memmove(x->value + at, x->value + from, rows * sizeof *x->value);
        at += rows;
    }
    *used = at;
}

static enum status make_room(struct csv_rows *r, size_t sections, struct error *error)
{
    if (sections <= r->room)
        return STATUS_OK;
    TRY(memory_resize(&r->own, sections, sizeof *r->own, error));
    memset(r->own + r->room, 0, (sections - r->room) * sizeof *r->own);
    r->room = sections;
    return STATUS_OK;
}

enum status csv_rows_read(struct csv_rows *r, const struct csv_text *t, struct coo *x,
                          uint64_t *used, struct error *error)
{
    const struct csv_columns *c = r->columns;
    TRY(make_room(r, t->sections, error));
#pragma omp parallel for schedule(dynamic) num_threads(t->threads)
    for (size_t i = 0; i < t->sections; i++)
        read_section(c, &t->section[i], &r->own[i], x, *used + t->section[i].first_line);
    for (size_t i = 0; i < t->sections; i++) {
        const struct section_names *own = &r->own[i];
        if (own->error.status != STATUS_OK)
            return error_set(error, own->error.status, "%s", own->error.message);
        if (own->fault.kind != CSV_SOUND)
            return csv_text_explain(t, &own->fault, error);
    }
    TRY(add_all_names(r, t, error));
#pragma omp parallel for schedule(dynamic) num_threads(t->threads)
    for (size_t i = 0; i < t->sections; i++)
        renumber(&r->own[i], c->modes, x, *used + t->section[i].first_line);
    gather(r, t, x, used);
    return STATUS_OK;
}

enum status csv_rows_check_times(const struct csv_rows *r, struct error *error)
{
    const struct csv_columns *c = r->columns;
    for (int n = 0; n < c->modes; n++) {
        const struct csv_field *name = &c->name[c->mode[n].column];
        const enum csv_bin_kind kind = c->mode[n].bin.kind;
        bool binned = kind != CSV_BIN_TIME && kind != CSV_BIN_HOUR_OF_WEEK;
        for (size_t i = 0; i < r->room; i++)
            binned = binned || r->own[i].binned[n];
        if (!binned)
            return error_set(error, STATUS_INPUT,
                             "%s: column %d (%.*s): all fields read as dates without hyphens, "
                             "expected 2026-11-23 for 20261123; numbers that are no dates have "
                             "bins of a width without a unit, as --bin COLUMN=3600",
                             c->path, c->mode[n].column + 1, (int)(name->end - name->begin),
                             name->begin);
    }
    return STATUS_OK;
}
