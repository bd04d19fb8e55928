/* The plot of a component in a mode that is drawn as a line. */
#ifndef BLCO_PAGE_LINE_H
#define BLCO_PAGE_LINE_H

#include "report/page_subject.h"
#include "report/plot.h"

/* The plot, and the texts that it refers to. */
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
