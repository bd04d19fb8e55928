/* The columns of a CSV file: its header, and which columns are modes or values, as the options say.
 */
#pragma once

#include "base/words.h"
#include "formats/csv/csv_bin.h"
#include "formats/csv/csv_options.h"
#include "formats/csv/csv_text.h"
#include "formats/names/name_table.h"
#include "tensor/coo.h"
#include "tensor/mode_names.h"

enum csv_order {
    CSV_BY_VALUE, /* if all names are numbers, or all are dates; else by appearance */
    CSV_APPEARANCE,
    CSV_SORTED,
    CSV_BY_NUMBER,
    CSV_LISTED
};

/* Their names: as --order has them, or, of CSV_BY_VALUE and CSV_LISTED, only in what is kept of a
 * tensor (struct mode_names). */
extern const struct word csv_order_words[];

/* What all names of a column may be. */
enum { CSV_NUMBERS = 1, CSV_DATES = 2 };

/* A column that is a mode. */
struct csv_mode {
    int column; /* of the file, from 0 */
    struct csv_bin bin;
    enum csv_order order;
    unsigned kinds;          /* CSV_BY_VALUE: CSV_NUMBERS, CSV_DATES or both that the names so far
                              * are                                                             */
    const char *file;        /* CSV_LISTED: the file of --order, or NULL: a list of blco's own */
    struct name_table names; /* owned                                                          */
};

struct csv_columns {
    const char *path;         /* of the file, for messages                */
    char *text;               /* a copy of the header; owned              */
    struct csv_format format; /* names in `text`; slots of modes, then of the values */
    int modes, value;         /* value: the column of values, or -1 */
    struct csv_mode mode[MAX_ORDER];
    struct mode_names mode_names; /* of the columns that are modes, and what is done with them */
    char *unused; /* the name of a column of numbers that nothing asks for, or NULL; owned */
};

/* Reads the header of the file `path` at `begin`, which ends before `end`. The caller calls
 * csv_columns_free, after a failure too. STATUS_INPUT, STATUS_MEMORY. */
enum status csv_columns_read(struct csv_columns *c, const char *path, const char *begin,
                             const char *end, struct error *error);

/* Finds the columns that the options name; *options outlives *c. Reads the files of --order.
 * STATUS_INPUT, with the header's names, where the file has no such column; also without --columns,
 * with the command that would read the file. STATUS_MEMORY. */
enum status csv_columns_choose(struct csv_columns *c, const struct csv_options *options,
                               struct error *error);

/* Where rows are counted: finds a column c->unused of numbers in the rows [begin, end), of which it
 * looks at the first; one that is named like a value, as "rating", else the last one.
 * STATUS_MEMORY.
 */
enum status csv_columns_find_unused(struct csv_columns *c, const char *begin, const char *end,
                                    struct error *error);

/* Whether the names of some mode wait for their numbers: they may have to be sorted. */
bool csv_columns_wait(const struct csv_columns *c);

/* Returns those of `kinds` that the name is, too. */
unsigned csv_columns_kinds(unsigned kinds, struct name name);

/* Numbers the names of modes that wait, and renumbers the entries of x. Names of equal value are in
 * the order of their bytes. From now on only these names are taken, as if they were listed in a
 * file. STATUS_MEMORY. */
enum status csv_columns_number(struct csv_columns *c, struct coo *x, struct error *error);

/* The bytes that the names of all modes take. */
uint64_t csv_columns_bytes(const struct csv_columns *c);

/* The bytes that csv_columns_number() takes beside. */
uint64_t csv_columns_sort_bytes(const struct csv_columns *c);

/* Accepts empty columns. */
void csv_columns_free(struct csv_columns *c);
