/* The part of a page that shows all components together, on one scale, where the reader asks for
 * it. */
#ifndef BLCO_PAGE_OVERLAY_H
#define BLCO_PAGE_OVERLAY_H

#include <stdio.h>

#include "report/page_subject.h"

/* A switch that opens, for each mode that is drawn as a line, one plot with the lines of all
 * components over each other, and for each short mode a table with the bars of all side by side: of
 * those with the largest weights where there are more than PLOT_MOST_OVERLAID. Nothing where there
 * is one component or no such mode. The lines are those that page_components draws. */
void page_overlay(FILE *to, const struct page *page);

#endif
