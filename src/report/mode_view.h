/* How a page shows a mode: a short one as bars of all entries; a long one whose indices have an
 * order, as times have, as a line; any other by its strongest entries. */
#ifndef BLCO_MODE_VIEW_H
#define BLCO_MODE_VIEW_H

#include "model/ktensor.h"
#include "report/profile.h"
#include "report/top_entries.h"

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
    /* The strongest entries: VIEW_NAMED peaks of a line, one entry of bars. */
    struct top_entries top;
};

/* view[n] for each mode n of the model, all of whose rows are here. order[n] says whether the
 * indices of the mode have an order; VIEW_FIND_OUT: profile_smoothness says it. `top`: how many
 * entries are shown of a mode that is shown by its strongest. The caller frees the views with
 * mode_views_free, after a failure too. STATUS_MEMORY. */
enum status mode_views_make(struct mode_view view[MAX_ORDER], const struct ktensor *model,
                            const enum view_order order[MAX_ORDER], uint64_t top,
                            struct error *error);

/* Accepts views that are all zero. */
void mode_views_free(struct mode_view view[MAX_ORDER]);

#endif
