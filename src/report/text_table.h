/* A table of text: its columns are as wide as their widest cell. */
#ifndef BLCO_TEXT_TABLE_H
#define BLCO_TEXT_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "report/label_show.h"
#include "report/residual_kind.h"

#define TABLE_NUMBERS (2 + RESIDUAL_NUMBERS) /* the most columns of numbers */
#define TABLE_COLUMNS (MAX_ORDER + TABLE_NUMBERS)

/* Row 0 is the heading. cell() writes a cell's text, which has less than LABEL_SHOWN_ROOM bytes. */
struct text_table {
    const void *context; /* of cell(); borrowed */
    uint64_t rows;       /* below the heading */
    int columns;
    int mode;                    /* for cell() */
    int decimals[TABLE_NUMBERS]; /* for cell(), of the columns with numbers */
    void (*cell)(const struct text_table *t, uint64_t row, int column, char *text);
    bool left[TABLE_COLUMNS]; /* columns that begin at the left; the others end at the right */
};

void text_table_print(FILE *stream, const struct text_table *t);

#endif
