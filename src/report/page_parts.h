/* The parts of a page. A part leaves out what the record lacks. Failures of writing stay in the
 * stream. Implemented in page_style.c, page_run.c, page_convergence.c,
 * page_components.c and page_overlay.c. */
#ifndef BLCO_PAGE_PARTS_H
#define BLCO_PAGE_PARTS_H

#include <stdio.h>

#include "report/page_subject.h"

/* The style of all pages, as CSS: for screens of any width, light and dark, and for paper. */
void page_style(FILE *to);

/* What was run and its fit: a table of facts, and the findings. */
void page_run(FILE *to, const struct page *page);

/* A plot of the distance to the best fit after each iteration, by powers of ten; nothing where the
 * record has no two fits that differ. STATUS_MEMORY. */
enum status page_convergence(FILE *to, const struct page *page, struct error *error);

/* A table of the starts, where there were several. */
void page_starts(FILE *to, const struct page *page);

/* A table of all components: weight, and the strongest entry of each mode. */
void page_weights(FILE *to, const struct page *page);

/* A section for each component: its weight, and its profile in each mode. */
void page_components(FILE *to, const struct page *page);

/* A switch that opens, for each mode that is drawn as a line, one plot with the lines of all
 * components over each other, and for each short mode a table with the bars of all side by side: of
 * those with the largest weights where there are more than PLOT_MOST_OVERLAID. Nothing where there
 * is one component or no such mode. The lines are those that page_components draws. */
void page_overlay(FILE *to, const struct page *page);

/* Tables of the seconds of each stage, and of the ranks where there were several. */
void page_times(FILE *to, const struct page *page);

#endif
