/* How a page shows a mode: a short one as bars of all entries; a long one whose indices have an
 * order, as times have, as a line; any other by its strongest entries. */
#pragma once

#include <stdbool.h>

#include "formats/names/labels.h"
#include "model/ktensor.h"
#include "report/plot.h"
#include "report/top_entries.h"

/* The columns of a factor matrix as lines that a page can show: however many rows there are, a
 * profile has few columns. Each has the least and the largest entry of its rows, so that no peak is
 * lost. */
struct profile {
    uint64_t columns;   /* C, at most as many as rows                                   */
    double *low, *high; /* (C x R) the least and largest finite entry; NaN where there is
                         * none. Column c has the rows c I / C to (c + 1) I / C - 1. Owned */
};

/* *p = the profiles of the columns of A (rows x R, row-major) in `columns` columns, or as many as
 * there are rows. All OpenMP threads read A once. The caller frees *p with profile_free; it is
 * empty on failure. STATUS_MEMORY. */
enum status profile_take(struct profile *p, const double *a, uint64_t rows, uint64_t rank,
                         uint64_t columns, struct error *error);

/* Accepts an empty one. */
void profile_free(struct profile *p);

/* How much neighbouring rows resemble each other: the correlation of a column's rows i and i + 1,
 * over at most 16384 pairs that are spread evenly, the mean over the columns of A (rows x R) that
 * are finite and not constant; 0 where there are none. */
double profile_smoothness(const double *a, uint64_t rows, uint64_t rank);

/* Of the peaks of a component in a mode whose indices have an order, as times have. Between two
 * peaks the column falls to PEAK_FALL of the lower one, or less; peaks below PEAK_LEAST of the
 * highest one are left out. */
#define PEAK_FALL  0.5
#define PEAK_LEAST 0.1

/* *top = the `count` highest peaks of each column of the factor matrix A (rows x R, row-major), or
 * as many as there are rows: entries that are the largest between two falls, or, of negative
 * entries, the least; of a plateau its first entry. The highest peak, the entry of largest
 * magnitude, comes first; entries after the last peak have value 0. NaN counts as 0. A is
 * read once, by as many OpenMP threads as it has eights of columns. The caller frees *top with
 * top_entries_free; it is empty on failure. STATUS_MEMORY. */
enum status peaks_find(struct top_entries *top, const double *a, uint64_t rows, uint64_t rank,
                       uint64_t count, struct error *error);

#define VIEW_BARS       20  /* the longest mode that is shown as bars                         */
#define VIEW_SMOOTHNESS 0.5 /* from this smoothness on, the indices are taken to have an order */
#define VIEW_NAMED      3   /* the most peaks that are named in a mode shown as a line        */

/* All lines of a page together have so many columns at most, unless each has the least number. */
#define VIEW_ALL_COLUMNS   80000
#define VIEW_MOST_COLUMNS  240
#define VIEW_LEAST_COLUMNS 40

enum view_kind { VIEW_AS_BARS, VIEW_AS_LINE, VIEW_AS_TOP };

enum view_order { VIEW_FIND_OUT, VIEW_ORDERED, VIEW_UNORDERED };

struct mode_view {
    enum view_kind kind;
    struct profile profile; /* of a line; else empty */
    /* Of a line whose names ascend: where a round number, an hour, a day, a month begins, with the
     * name or the part of a date that tells it; 0: none. */
    struct plot_tick tick[PLOT_TICKS];
    int ticks;
    /* The strongest entries: VIEW_NAMED peaks of a line, one entry of bars. */
    struct top_entries top;
};

/* Whether the names of mode n's indices, `rows` of them, say that these have an order: all are
 * numbers, dates, months, times of a day or hours of the week ("Mon 00"), ascending. */
bool names_ascend(const struct labels *labels, int n, uint64_t rows);

/* view[n] for each mode n of the model, all of whose rows are here. order[n] says whether the
 * indices of the mode have an order; VIEW_FIND_OUT: names_ascend or profile_smoothness says it.
 * `top`: how many entries are shown of a mode that is shown by its strongest. The caller frees the
 * views with mode_views_free, after a failure too. STATUS_MEMORY. */
enum status mode_views_make(struct mode_view view[MAX_ORDER], const struct ktensor *model,
                            const struct labels *labels, const enum view_order order[MAX_ORDER],
                            uint64_t top, struct error *error);

/* Accepts views that are all zero. */
void mode_views_free(struct mode_view view[MAX_ORDER]);
