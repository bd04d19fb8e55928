/* How the parts of a page show facts, numbers and entries of factor matrices: indices, numbers, how
 * many entries are too small to be shown, and lines. */
#ifndef BLCO_PAGE_ENTRIES_H
#define BLCO_PAGE_ENTRIES_H

#include <stdbool.h>
#include <stdio.h>

#include "report/page_subject.h"
#include "report/plot.h"

#define PAGE_DIGITS 4 /* of the largest number of a column of a table */

/* The row of a table of facts: its name, what is written in between, its end. */
void page_fact_begin(FILE *to, const char *name);
void page_fact_end(FILE *to);

/* A fact that is a text; nothing where `text` is NULL. */
void page_fact(FILE *to, const char *name, const char *text);

/* A cell of a table with a number; a cell with a number of the scale, and one with its bar. */
void page_cell(FILE *to, double x, int decimals);
void page_bar(FILE *to, const struct plot_scale *scale, double x);

/* A core consistency, with its standard error where that is a number: "87.2 &#177; 3.1". */
void page_core(FILE *to, double percent, double error);

/* The decimals of a column of numbers on the scale. */
int page_decimals(const struct plot_scale *scale);

/* The name of mode n, from 0, at the beginning of a heading; "Mode 1" where it has none. */
void page_mode(FILE *to, const struct page *page, int n);

/* An index, from 0, as people read it: its number from 1, or its label, which a tooltip shows whole
 * where it may be cut. */
void page_index(FILE *to, const struct page *page, int n, uint64_t i);

/* A row of a table of so many columns, with the number of entries that vanish with these decimals
 * (decimals_vanish): "and 14 zeros", "and 14 below 0.00005" where not all of them are zeros.
 * `alone`: the table has no other entries. */
void page_rest(FILE *to, uint64_t rest, bool zeros, int decimals, int columns, bool alone);

/* The plot of a component in a mode that is drawn as a line, and the texts that it refers to. */
struct page_line {
    struct plot_line plot;
    struct plot_tick tick[PLOT_TICKS];
    char first[32], last[32], id[48];
};

/* The least and the largest entry of component r in mode n; none where none is a number. */
struct plot_scale page_line_range(const struct page *page, int n, uint64_t r);

/* *line = the plot of component r in mode n without title and about; *line may not be copied. */
void page_line_make(struct page_line *line, const struct page *page, int n, uint64_t r);

#endif
