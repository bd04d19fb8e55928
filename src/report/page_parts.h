/* The parts of a page. A part leaves out what the record lacks. Failures of writing stay in the
 * stream. Implemented in page_style.c, page_run.c, page_convergence.c, page_entries.c,
 * page_components.c and page_residuals.c. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "base/json_read.h"
#include "formats/names/labels.h"
#include "formats/ktensor/model_facts.h"
#include "report/mode_view.h"
#include "report/plot.h"
#include "report/residuals.h"
#include "report/text_table.h"

/* The subject of a page, and values of its record, any of which may be missing. */

/* All is borrowed. */
struct page {
    const char *stem;            /* of the model                              */
    const struct ktensor *model; /* as in its files                           */
    const struct labels *labels;
    const struct model_facts *facts;   /* what STEM.model.json says */
    const struct mode_view *view;      /* [n] of mode n                            */
    const json_t *record;              /* of the run, checked; NULL: there is none */
    const struct residuals *residuals; /* of a tensor; NULL: there are none     */
    const char *tensor;                /* its name, if there are                 */
};

/* The member `name` of the member `object` of the record, or, where `name` is NULL, the member
 * `object` itself; NULL where it is missing. */
json_t *page_at(const struct page *page, const char *object, const char *name);

/* Its text; NULL where there is none. */
const char *page_text_at(const struct page *page, const char *object, const char *name);

/* Its number; NaN where there is none. */
double page_number_at(const struct page *page, const char *object, const char *name);

/* Whether the model is one of counts, with a Poisson likelihood. */
bool page_has_likelihood(const struct page *page);

/* The style of all pages, as CSS: for screens of any width, light and dark, and for paper. */
extern const char page_style_screen[], page_style_paper[];

/* How far the model can be trusted: the findings, and a table of fit, held-out error, core
 * consistency and halves. Nothing without a record. */
void page_trust(FILE *to, const struct page *page);

/* What was run, how long and where: a table of facts. */
void page_run(FILE *to, const struct page *page);

/* A plot of the distance to the best fit after each iteration, by powers of ten; nothing where the
 * record has no two fits that differ. STATUS_MEMORY. */
enum status page_convergence(FILE *to, const struct page *page, struct error *error);

/* A table of the starts, where there were several. */
void page_starts(FILE *to, const struct page *page);

/* What is strangest in a tensor: entries, entries that are not listed, slices; and how well the
 * model's distribution agrees with the counts. Nothing without residuals. */
void page_residuals(FILE *to, const struct page *page);

/* A table of all components: weight, and the strongest entry of each mode. */
void page_weights(FILE *to, const struct page *page);

/* A section for each component: its weight, and its profile in each mode; before them, folded, all
 * components over each other. */
void page_components(FILE *to, const struct page *page);

/* Tables of the seconds of each stage, and of the ranks where there were several. */
void page_times(FILE *to, const struct page *page);

/* How the parts of a page show facts, numbers and entries of factor matrices: indices, numbers, how
 * many entries are too small to be shown, and lines. */

#define PAGE_DIGITS 4 /* of the largest number of a column of a table */

/* The row of a table of facts: its name, what is written in between, its end. */
void page_fact_begin(FILE *to, const char *name);
void page_fact_end(FILE *to);

/* A fact that is written as by printf. */
void page_fact_print(FILE *to, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A fact that is a number of the record (page_number_at), as printf writes it; nothing where there
 * is none. */
void page_fact_number(FILE *to, const struct page *page, const char *name, const char *format,
                      const char *object, const char *member);

/* A fact that is a text; nothing where `text` is NULL. */
void page_fact(FILE *to, const char *name, const char *text);

/* Begins a table of this class, up to the rows of its body, and ends it. heading[0..count) are
 * those of the columns, with a # before that of numbers. */
void page_table_begin(FILE *to, const char *class, const char *caption, const char *const *heading,
                      int count);
void page_table_end(FILE *to);

/* A cell of a table with a number. */
void page_cell(FILE *to, double x, int decimals);
void page_cell_of(FILE *to, const struct number_column *column, double x);

/* Numbers of a table that have bars, which begin at 0. */
struct page_bars {
    struct plot_scale scale;
    struct number_column column;
};

void page_bars_begin(struct page_bars *bars);
void page_bars_add(struct page_bars *bars, double x);

/* Once all numbers were added, plot_scale_finish has been called for the scale: a cell with a
 * number, and one with its bar, in the colour of overlaid line number `colour` unless that is
 * negative. */
void page_bar(FILE *to, const struct page_bars *bars, double x, int colour);

/* A core consistency, with its standard error where that is a number: "87.2 &#177; 3.1". */
void page_core(FILE *to, double percent, double error);

/* The name of mode n, from 0, at the beginning of a heading; "Mode 1" where it has none. */
void page_mode(FILE *to, const struct page *page, int n);

/* An index, from 0, as people read it: its number from 1, or its label, which a tooltip shows whole
 * where it may be cut. */
void page_index(FILE *to, const struct page *page, int n, uint64_t i);

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
