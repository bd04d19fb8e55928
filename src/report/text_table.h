/* A table of entries or slices: indices or their labels, and numbers; columns are as wide as their
 * widest cell. And how all tables show indices and numbers. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/json.h"
#include "formats/names/labels.h"

#define TABLE_NUMBERS 6 /* the most columns of numbers */
#define TABLE_COLUMNS (MAX_ORDER + TABLE_NUMBERS)

/* The numbers of a column of a table: the largest one has so many significant digits, and all have
 * its decimals; a number that rounding leaves with fewer than three digits has more decimals, or a
 * power of ten. Points are below each other. */
struct number_column {
    int digits;            /* of the largest number; 0: whole numbers                           */
    bool logarithms;       /* the numbers are natural logarithms of what is shown                */
    bool any;              /* some number is finite and shown as other than 0; of these: ...     */
    double largest, least; /* ... the numbers of largest and of least magnitude            */
};

/* A column of numbers of a table: its heading, and how they are shown (struct number_column). */
struct table_column {
    const char *heading;
    int digits;
    bool logarithms;
};

/* Columns of indices, then columns of numbers. */
struct text_table {
    uint64_t rows; /* below the heading */
    int modes, numbers;
    int mode[MAX_ORDER];               /* (modes) that each column of indices is about, from 0 */
    const struct table_column *column; /* (numbers) borrowed */
    const struct labels *labels;       /* borrowed */
    int index_base;                    /* the number that the first index is shown as */
    const void *context;               /* of row(); borrowed */
    /* index (modes) and number (numbers) = what is in a row, from 0. */
    void (*row)(const struct text_table *t, uint64_t row, uint64_t *index, double *number);
};

void text_table_print(FILE *stream, const struct text_table *t);

/* shown (numbers) = how the columns of numbers are shown. */
void text_table_columns(const struct text_table *t, struct number_column *shown);

#define LABEL_SHOWN_ROOM 512 /* bytes */

/* shown = the label of index i (from 0) of mode n (from 0), printable, cut to 32 columns. Where
 * there is none: the number of the index, `index_base` more than i, after "index " in a mode that
 * has labels. Returns shown. */
const char *label_show(const struct labels *l, int n, uint64_t i, int index_base,
                       char shown[LABEL_SHOWN_ROOM]);

#define MODE_NAME_ROOM LABEL_SHOWN_ROOM

/* name = the name of mode n, from 0, in tables and headings: that of *l, printable and cut as a
 * label is, else "mode 1". *l may be NULL. Returns name. */
const char *mode_name(const struct labels *l, int n, char name[MODE_NAME_ROOM]);

/* Begins an object `object` (or NULL) with "mode", the number of mode n from 1, and "name", its
 * whole name if it has one. */
void mode_begin(struct json *j, const char *object, const struct labels *l, int n);

/* Adds to the object that is open "index", the number of index i (from 0) of mode n, `index_base`
 * more than i, and "label" where the mode has labels. */
void index_put(struct json *j, const struct labels *l, int n, uint64_t i, int index_base);

/* The same of all modes: the arrays "indices" and, where some mode has labels, "labels". */
void indices_put(struct json *j, const struct labels *l, int order, const uint32_t *index,
                 int index_base);

/* Counts x as one of the numbers. */
void number_column_add(struct number_column *c, double x);

#define NUMBER_SHOWN_ROOM 96 /* bytes */

/* text = x as the column shows it, which ends with blanks where others have more decimals; 0 as
 * "0", "nan" and "inf" as printf has them. Returns text. */
const char *number_column_show(const struct number_column *c, double x,
                               char text[NUMBER_SHOWN_ROOM]);

/* Numbers with the same number of decimals, as those of an axis. */

#define DECIMALS_ROOM 48 /* bytes of a number as it is shown */

/* The decimals with which the largest magnitude of a column has `digits` significant digits, 1 or
 * more. Negative where that magnitude is too large or too small for decimals alone: decimals_show
 * then gives each number `digits` digits and a power of ten. */
int decimals_for(double largest, int digits);

/* text = x with so many decimals, and without a sign where all its digits are 0; "nan" and "inf"
 * as printf has them. Returns text. */
const char *decimals_show(double x, int decimals, char text[DECIMALS_ROOM]);

/* Whether all digits are 0 with so many decimals. */
bool decimals_vanish(double x, int decimals);
