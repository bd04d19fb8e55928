#include "formats/csv/csv_columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/radix_sort.h"
#include "base/shell_word.h"
#include "formats/names/name_list.h"

#define SHOWN_BYTES 60  /* of a name in a message     */
#define SHOWN_ROOM  600 /* bytes of a list of columns */

/* --- the header --- */

/* The separator of the row: the one of comma, tab and semicolon that it has most, outside quotes.
 */
static char find_separator(const char *at, const char *end)
{
    uint64_t commas = 0, tabs = 0, semicolons = 0;
    for (bool inside = false; at < end && (inside || *at != '\n'); at++) {
        inside ^= *at == '"';
        commas += !inside && *at == ',';
        tabs += !inside && *at == '\t';
        semicolons += !inside && *at == ';';
    }
    if (tabs > 0 && tabs >= commas && tabs >= semicolons)
        return '\t';
    return semicolons > commas ? ';' : ',';
}

enum status csv_columns_read(struct csv_columns *c, const char *path, const char *begin,
                             const char *end, struct error *error)
{
    enum csv_fault_kind kind;
    struct csv_field field;
    *c = (struct csv_columns){.path = path, .value = -1};
    c->format.separator = find_separator(begin, end);
    c->text = memory_array((size_t)(end - begin), 1, error);
    TRY(error->status);
    char *to = c->text;
    for (const char *at = begin;; at++) {
        const int count = c->format.columns;
        at = csv_field_read(c->format.separator, at, end, &field, &kind);
        if (!at)
            return error_set(error, STATUS_INPUT,
                             "%s: the header's column %d has a quote in the wrong place, expected "
                             "the name in quotes and each quote inside it twice",
                             path, count + 1);
        if ((count & (count + 1)) == 0) /* room for 1, 3, 7, ... is full */
            TRY(memory_resize(&c->format.name, 2 * (size_t)count + 1, sizeof *c->format.name,
                              error));
        const struct name name = {to, csv_field_copy(&field, to)};
        c->format.name[c->format.columns++] = name;
        to += name.length;
        if (*at == '\n')
            return STATUS_OK;
    }
}

/* The names of the columns, cut to the room. Returns text. */
static char *list_names(const struct csv_columns *c, char text[SHOWN_ROOM])
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < c->format.columns && used + 2 * SHOWN_BYTES < SHOWN_ROOM; i++) {
        const struct name name = c->format.name[i];
        used += (size_t)snprintf(text + used, SHOWN_ROOM - used, "%s%.*s", i ? ", " : "",
                                 name_shown(name, SHOWN_BYTES), name.text);
    }
    if (used + 2 * SHOWN_BYTES >= SHOWN_ROOM)
        snprintf(text + used, SHOWN_ROOM - used, ", ...");
    return text;
}

/* --- the options --- */

/* The first column from number `from` on that has this name; the number of columns where none has.
 */
static int column_named(const struct csv_columns *c, struct name name, int from)
{
    while (from < c->format.columns &&
           (c->format.name[from].length != name.length ||
            memcmp(c->format.name[from].text, name.text, name.length) != 0))
        from++;
    return from;
}

/* *column = the one with this name, which `option` asks for. */
static enum status find_column(const struct csv_columns *c, const char *option, struct name name,
                               int *column, struct error *error)
{
    char names[SHOWN_ROOM];
    const int shown = name_shown(name, SHOWN_BYTES);
    const int first = column_named(c, name, 0);
    if (first == c->format.columns)
        return error_set(error, STATUS_INPUT, "%s: %s: no column '%.*s', expected one of %s",
                         c->path, option, shown, name.text, list_names(c, names));
    const int second = column_named(c, name, first + 1);
    if (second < c->format.columns)
        return error_set(error, STATUS_INPUT,
                         "%s: %s: columns %d and %d have the name '%.*s', expected one such column",
                         c->path, option, first + 1, second + 1, shown, name.text);
    *column = first;
    return STATUS_OK;
}

/* Gives the column to the next slot: a mode's, or that of the values. */
static enum status take_column(struct csv_columns *c, int column, struct error *error)
{
    const struct name name = c->format.name[column];
    if (c->format.slot[column] >= 0)
        return error_set(error, STATUS_INPUT,
                         "%s: column '%.*s' is asked for twice, expected another one", c->path,
                         name_shown(name, SHOWN_BYTES), name.text);
    c->format.slot[column] = c->format.wanted++;
    return STATUS_OK;
}

/* Adds the mode that has this column, which `option` asks for. */
static enum status add_mode(struct csv_columns *c, const char *option, struct name name,
                            struct error *error)
{
    struct csv_mode *mode = &c->mode[c->modes];
    if (c->modes == MAX_ORDER)
        return error_set(error, STATUS_INPUT, "--columns: more than %d columns, expected 1 to %d",
                         MAX_ORDER, MAX_ORDER);
    TRY(find_column(c, option, name, &mode->column, error));
    if (mode_names_set(&c->mode_names, c->modes, name.text, name.length, error) != STATUS_OK)
        return error_prefix(error, "%s: ", c->path);
    mode->kinds = CSV_NUMBERS | CSV_DATES;
    c->modes++;
    return take_column(c, mode->column, error);
}

static enum status choose_modes(struct csv_columns *c, const char *columns, struct error *error)
{
    enum csv_fault_kind kind;
    struct csv_field field;
    char *text = memory_text(error, "%s\n", columns);
    if (!text)
        return error->status;
    const char *end = text + strlen(text), *at = text;
    do {
        at = csv_field_read(',', at, end, &field, &kind);
        if (!at) {
            error_set(error, STATUS_INPUT,
                      "--columns: '%s', expected names with commas between, in quotes where a name "
                      "has a comma",
                      columns);
            break;
        }
        char *name = text + (field.name.text - text); /* a field becomes its name in its place */
        add_mode(c, "--columns", (struct name){name, csv_field_copy(&field, name)}, error);
    } while (error->status == STATUS_OK && *at++ != '\n');
    memory_free(text);
    return error->status;
}

/* *mode = the one whose column's name begins `setting`, COLUMN=..., and *rest what follows the
 * sign; of several the longest name. `had`: the modes that the option has had so far. */
static enum status find_mode(struct csv_columns *c, const char *option, const char *setting,
                             bool *had, struct csv_mode **mode, const char **rest,
                             struct error *error)
{
    struct name name = {0};
    int found = -1;
    for (int n = 0; n < c->modes; n++) {
        const struct name other = c->format.name[c->mode[n].column];
        if (strncmp(setting, other.text, other.length) != 0 || setting[other.length] != '=' ||
            (found >= 0 && other.length <= name.length))
            continue;
        found = n;
        name = other;
    }
    if (found < 0)
        return error_set(error, STATUS_INPUT,
                         "%s: '%s', expected COLUMN=... with a column of --columns", option,
                         setting);
    if (had[found])
        return error_set(error, STATUS_INPUT, "%s: '%.*s' twice, expected each column once", option,
                         name_shown(name, SHOWN_BYTES), name.text);
    had[found] = true;
    *mode = &c->mode[found];
    *rest = setting + name.length + 1;
    return STATUS_OK;
}

/* Numbers the names that are listed before the file is read. */
static enum status list_mode(struct csv_mode *mode, struct error *error)
{
    char name[CSV_BIN_ROOM];
    uint32_t number;
    if (mode->order != CSV_LISTED)
        return STATUS_OK;
    if (mode->file)
        return name_list_read(&mode->names, mode->file, error);
    for (int hour = 0; hour < CSV_BIN_HOURS; hour++) {
        const struct name listed = {name, csv_bin_hour(hour, name)};
        TRY(name_table_add(&mode->names, listed, name_hash(name, listed.length), &number, error));
    }
    return STATUS_OK;
}

#define WORD_ROOM 1024 /* of a command line */

/* word = the first columns as --columns takes them, "..." where their names are long. */
static const char *suggest_columns(const struct csv_columns *c, char word[WORD_ROOM])
{
    char row[WORD_ROOM], *at = row;
    for (int i = 0; i < c->format.columns && i < 3; i++) {
        const struct name name = c->format.name[i];
        if (CSV_FIELD_ROOM(name.length) + 1 >= (size_t)(row + sizeof row - at))
            return strcpy(word, "...");
        if (i > 0)
            *at++ = ',';
        at = csv_field_write(name.text, name.length, at);
    }
    *at = '\0';
    return shell_word(row, word, WORD_ROOM);
}

const struct word csv_order_words[] = {{"value", CSV_BY_VALUE}, {"appearance", CSV_APPEARANCE},
                                       {"sorted", CSV_SORTED},  {"number", CSV_BY_NUMBER},
                                       {"listed", CSV_LISTED},  {NULL, 0}};

/* Takes a text that is kept of the tensor. */
static enum status keep_text(char *to, size_t room, const char *option, const char *text,
                             struct error *error)
{
    if (strlen(text) >= room)
        return error_set(error, STATUS_INPUT, "%s: '%.60s...', expected at most %zu bytes", option,
                         text, room - 1);
    strcpy(to, text);
    return STATUS_OK;
}

static enum status set_bin(struct csv_columns *c, struct csv_mode *mode, const char *width,
                           const char *given, struct error *error)
{
    static const enum csv_order natural[] = {[CSV_BIN_TIME] = CSV_SORTED,
                                             [CSV_BIN_HOUR_OF_WEEK] = CSV_LISTED,
                                             [CSV_BIN_NUMBER] = CSV_BY_NUMBER};
    if (!csv_bin_parse(&mode->bin, width))
        return error_set(error, STATUS_INPUT,
                         "--bin: '%s', expected COLUMN=WIDTH with a width as 1h, 15m or 7d, "
                         "hour-of-week, or a number above 0",
                         given);
    mode->order = natural[mode->bin.kind];
    return keep_text(c->mode_names.bin[mode - c->mode], SOURCE_TEXT, "--bin", width, error);
}

static enum status set_value(struct csv_columns *c, const char *option, const char *column,
                             struct error *error)
{
    const struct name name = {column, strlen(column)};
    TRY(find_column(c, option, name, &c->value, error));
    TRY(take_column(c, c->value, error));
    return keep_text(c->mode_names.value, MODE_NAME_BYTES, option, column, error);
}

/* The columns of a model's table; its values may be left out where only names are wanted. */
static enum status choose_like(struct csv_columns *c, const struct csv_options *options,
                               struct error *error)
{
    static const char option[] = "a column of the model";
    const struct mode_names *like = &options->like->modes;
    for (int n = 0; n < MAX_ORDER && like->order[n][0]; n++) {
        const struct name name = {like->name[n], strlen(like->name[n])};
        int order;
        TRY(add_mode(c, option, name, error));
        if (like->bin[n][0])
            TRY(set_bin(c, &c->mode[n], like->bin[n], like->bin[n], error));
        else if (word_find(csv_order_words, like->order[n], strlen(like->order[n]), &order) &&
                 order != CSV_LISTED)
            c->mode[n].order = (enum csv_order)order;
    }
    const struct name value = {like->value, strlen(like->value)};
    const bool there = column_named(c, value, 0) < c->format.columns;
    if (value.length > 0 && (there || !options->value_optional))
        TRY(set_value(c, option, like->value, error));
    return STATUS_OK;
}

/* Numbers the names of mode n as the model does that has a mode of this name. */
static enum status number_like(struct csv_columns *c, const struct csv_options *options, int n,
                               struct error *error)
{
    struct csv_mode *mode = &c->mode[n];
    const struct labels *like = options->like;
    if (!like || n >= like->order || options->names[n] == CSV_LIKE_FREE ||
        labels_own(like, n)->count == 0 || strcmp(like->modes.name[n], c->mode_names.name[n]) != 0)
        return STATUS_OK;
    name_table_clear(&mode->names);
    for (uint32_t i = 0; i < labels_own(like, n)->count; i++) {
        const struct name name = name_table_get(labels_own(like, n), i);
        uint32_t number;
        TRY(name_table_add(&mode->names, name, name_hash(name.text, name.length), &number, error));
        if (number != i)
            return error_set(error, STATUS_INPUT,
                             "mode %d: the model has the name '%.*s' twice, for indices %u and %u: "
                             "names of %s cannot be found there",
                             n + 1, name_shown(name, SHOWN_BYTES), name.text, number + 1, i + 1,
                             c->path);
    }
    mode->file = NULL;
    mode->order = options->names[n] == CSV_LIKE_FIRST ? CSV_APPEARANCE : CSV_LISTED;
    return STATUS_OK;
}

enum status csv_columns_choose(struct csv_columns *c, const struct csv_options *options,
                               struct error *error)
{
    const bool like =
        options && !options->columns && options->like && mode_names_of_table(&options->like->modes);
    if (!like && (!options || !options->columns)) {
        char names[SHOWN_ROOM], path[WORD_ROOM], columns[WORD_ROOM];
        return error_set(
            error, STATUS_INPUT,
            "%s: is CSV with the columns %s, expected --columns to say which are the modes, "
            "as in: blco convert %s OUT.blco --columns %s",
            c->path, list_names(c, names), shell_word(c->path, path, sizeof path),
            suggest_columns(c, columns));
    }
    const int count = c->format.columns;
    bool is_binned[MAX_ORDER] = {false}, is_ordered[MAX_ORDER] = {false};
    c->format.slot = memory_array((size_t)count, sizeof *c->format.slot, error);
    TRY(error->status);
    for (int i = 0; i < count; i++)
        c->format.slot[i] = -1;
    TRY(like ? choose_like(c, options, error) : choose_modes(c, options->columns, error));
    if (options->value)
        TRY(set_value(c, "--value", options->value, error));
    for (int i = 0; i < options->bins; i++) {
        struct csv_mode *mode;
        const char *width;
        TRY(find_mode(c, "--bin", options->bin[i], is_binned, &mode, &width, error));
        TRY(set_bin(c, mode, width, options->bin[i], error));
    }
    for (int i = 0; i < options->orders; i++) {
        struct csv_mode *mode;
        const char *how;
        int order;
        TRY(find_mode(c, "--order", options->order[i], is_ordered, &mode, &how, error));
        if (*how == '\0')
            return error_set(error, STATUS_INPUT,
                             "--order: '%s', expected COLUMN=sorted, COLUMN=number, "
                             "COLUMN=appearance or COLUMN=FILE",
                             options->order[i]);
        mode->order = CSV_LISTED;
        if (word_find(csv_order_words + 1, how, strlen(how), &order))
            mode->order = (enum csv_order)order;
        if (mode->order == CSV_LISTED)
            mode->file = how;
    }
    for (int n = 0; n < c->modes; n++) {
        TRY(list_mode(&c->mode[n], error));
        TRY(number_like(c, options, n, error));
        strcpy(c->mode_names.order[n], word_of(csv_order_words, (int)c->mode[n].order));
    }
    for (int i = 0; i < count; i++)
        if (c->format.slot[i] < 0)
            c->format.slot[i] = c->format.wanted;
    return STATUS_OK;
}

/* --- a column of numbers that is not used --- */

#define LOOKED_ROWS 100

enum looked { LOOKED_EMPTY, LOOKED_NUMBERS, LOOKED_OTHER };

/* What a column is that was `so_far` before this field. */
static enum looked look_at(enum looked so_far, struct name field)
{
    const char *end = field.text + field.length;
    double number;
    if (so_far == LOOKED_OTHER || field.length == 0 || number_parse_unknown(field.text, end) == end)
        return so_far;
    return number_parse(field.text, end, &number) == end ? LOOKED_NUMBERS : LOOKED_OTHER;
}

static bool is_named_like_value(struct name name)
{
    static const char *const words[] = {"amount", "count",   "n",     "number",   "price",
                                        "rating", "ratings", "score", "quantity", "stars",
                                        "value",  "values",  "weight"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (name.length == strlen(words[i]) && strncasecmp(name.text, words[i], name.length) == 0)
            return true;
    return false;
}

enum status csv_columns_find_unused(struct csv_columns *c, const char *begin, const char *end,
                                    struct error *error)
{
    const int count = c->format.columns;
    enum looked *looked;
    int found = -1;
    if (c->value >= 0)
        return STATUS_OK;
    looked = memory_zeros((size_t)count, sizeof *looked, error);
    TRY(error->status);
    const char *at = csv_record_skip_blank(begin, end);
    for (int row = 0, column = 0; row < LOOKED_ROWS && at < end; column++) {
        enum csv_fault_kind kind;
        struct csv_field field;
        at = csv_field_read(c->format.separator, at, end, &field, &kind);
        if (!at) /* the row is at fault, which its reader will report */
            break;
        if (column < count)
            looked[column] = look_at(looked[column], field.name);
        if (*at++ == '\n') {
            at = csv_record_skip_blank(at, end);
            row++;
            column = -1;
        }
    }
    for (int i = 0; i < count; i++) {
        const struct name name = c->format.name[i];
        const bool is_unused = c->format.slot[i] == c->format.wanted && name.length > 0;
        if (!is_unused || looked[i] != LOOKED_NUMBERS)
            continue;
        found = i;
        if (is_named_like_value(name))
            break;
    }
    memory_free(looked);
    if (found >= 0)
        c->unused = memory_text(error, "%.*s", (int)c->format.name[found].length,
                                c->format.name[found].text);
    return error->status;
}

/* --- the order of names --- */

#define SORT_BYTES 36 /* for each name: key, name and number below, and those of radix_sort() */

static bool waits(const struct csv_mode *mode)
{
    return mode->order != CSV_APPEARANCE && mode->order != CSV_LISTED;
}

bool csv_columns_wait(const struct csv_columns *c)
{
    for (int n = 0; n < c->modes; n++)
        if (waits(&c->mode[n]))
            return true;
    return false;
}

unsigned csv_columns_kinds(unsigned kinds, struct name name)
{
    struct csv_value value;
    if (kinds & CSV_NUMBERS && !csv_value_number(&value, name.text, name.length))
        kinds &= ~(unsigned)CSV_NUMBERS;
    if (kinds & CSV_DATES && !csv_value_date(&value, name.text, name.length))
        kinds &= ~(unsigned)CSV_DATES;
    return kinds;
}

/* What the order of the mode compares before the bytes of a name; 0 where it compares these only.
 */
static struct csv_value name_value(const struct csv_mode *mode, struct name name)
{
    struct csv_value value = {0};
    if (mode->order == CSV_BY_VALUE && mode->kinds == CSV_DATES)
        csv_value_date(&value, name.text, name.length);
    else if (mode->order != CSV_SORTED)
        csv_value_number(&value, name.text, name.length);
    return value;
}

/* Whole numbers in the order of the doubles. */
static uint64_t key_of(double number)
{
    const uint64_t sign = UINT64_C(1) << 63;
    uint64_t bits;
    number += 0.0; /* -0 is 0 */
    memcpy(&bits, &number, sizeof bits);
    return bits & sign ? ~bits : bits | sign;
}

/* One of several names with the same key. */
struct tied {
    struct name name;
    double rest;
    uint64_t number;
};

static int compare(const void *one, const void *other)
{
    const struct tied *a = one, *b = other;
    if (a->rest != b->rest)
        return a->rest < b->rest ? -1 : 1;
    const size_t shorter = a->name.length < b->name.length ? a->name.length : b->name.length;
    const int bytes = memcmp(a->name.text, b->name.text, shorter);
    return bytes ? bytes : a->name.length < b->name.length ? -1 : 1;
}

/* The end of the names with the key of name i. */
static uint32_t ties_end(const uint64_t *key, uint32_t i, uint32_t count)
{
    const uint64_t same = key[i];
    while (i < count && key[i] == same)
        i++;
    return i;
}

/* Sorts the names that have the same key; name[i] is the number of the name of key[i]. */
static enum status sort_ties(const struct csv_mode *mode, const uint64_t *key, uint64_t *name,
                             struct error *error)
{
    const uint32_t count = mode->names.count;
    uint32_t most = 0;
    for (uint32_t i = 0, end; i < count; i = end) {
        end = ties_end(key, i, count);
        most = end - i > most ? end - i : most;
    }
    struct tied *tied = most > 1 ? memory_array(most, sizeof *tied, error) : NULL;
    for (uint32_t i = 0, end; i < count && tied; i = end) {
        end = ties_end(key, i, count);
        for (uint32_t k = i; k < end; k++) {
            const struct name text = name_table_get(&mode->names, (uint32_t)name[k]);
            tied[k - i] = (struct tied){text, name_value(mode, text).rest, name[k]};
        }
        qsort(tied, end - i, sizeof *tied, compare);
        for (uint32_t k = i; k < end; k++)
            name[k] = tied[k - i].number;
    }
    memory_free(tied);
    return error->status;
}

/* Numbers the names of the mode in their new order, and renumbers index (nnz). */
static enum status order_mode(struct csv_mode *mode, uint32_t *index, uint64_t nnz,
                              struct error *error)
{
    const uint32_t count = mode->names.count;
    bool in_order = true;
    uint64_t *key = memory_array(count, sizeof *key, error);
    uint64_t *name = memory_array(count, sizeof *name, error);     /* by the new number */
    uint32_t *number = memory_array(count, sizeof *number, error); /* by the number so far */
    TRY_OR(done, error->status);
    for (uint32_t i = 0; i < count; i++) {
        key[i] = key_of(name_value(mode, name_table_get(&mode->names, i)).whole);
        name[i] = i;
        in_order = in_order && (i == 0 || key[i - 1] < key[i]);
    }
    if (in_order)
        goto done;
    TRY_OR(done, radix_sort(key, name, count, error));
    TRY_OR(done, sort_ties(mode, key, name, error));
    for (uint32_t i = 0; i < count; i++)
        number[name[i]] = i;
    TRY_OR(done, name_table_renumber(&mode->names, number, error));
#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < nnz; i++)
        index[i] = number[index[i]];
done:
    memory_free(key, name, number);
    return error->status;
}

enum status csv_columns_number(struct csv_columns *c, struct coo *x, struct error *error)
{
    for (int n = 0; n < c->modes; n++) {
        if (!waits(&c->mode[n]))
            continue;
        TRY(order_mode(&c->mode[n], x->index[n], x->nnz, error));
        c->mode[n].order = CSV_LISTED;
    }
    return STATUS_OK;
}

uint64_t csv_columns_bytes(const struct csv_columns *c)
{
    uint64_t bytes = 0;
    for (int n = 0; n < c->modes; n++)
        bytes += name_table_bytes(&c->mode[n].names);
    return bytes;
}

uint64_t csv_columns_sort_bytes(const struct csv_columns *c)
{
    uint64_t bytes = 0;
    for (int n = 0; n < c->modes; n++) {
        const uint64_t names = waits(&c->mode[n]) ? c->mode[n].names.count : 0;
        bytes = names * SORT_BYTES > bytes ? names * SORT_BYTES : bytes;
    }
    return bytes;
}

void csv_columns_free(struct csv_columns *c)
{
    for (int n = 0; n < c->modes; n++)
        name_table_free(&c->mode[n].names);
    memory_free(c->format.slot, c->format.name, c->text, c->unused);
    *c = (struct csv_columns){0};
}
