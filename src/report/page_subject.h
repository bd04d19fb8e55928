/* The subject of a page, and values of its record, any of which may be missing. */
#ifndef BLCO_PAGE_SUBJECT_H
#define BLCO_PAGE_SUBJECT_H

#include "base/json_read.h"
#include "formats/names/labels.h"
#include "report/mode_view.h"

/* All is borrowed. */
struct page {
    const char *stem;            /* of the model                              */
    const struct ktensor *model; /* arranged (ktensor_arrange)                */
    const struct labels *labels;
    const struct mode_view *view; /* [n] of mode n                            */
    const json_t *record;         /* of the run, checked; NULL: there is none */
};

/* The member `name` of the member `object` of the record, or, where `name` is NULL, the member
 * `object` itself; NULL where it is missing. */
json_t *page_at(const struct page *page, const char *object, const char *name);

/* Its text; NULL where there is none. */
const char *page_text_at(const struct page *page, const char *object, const char *name);

/* Its number; NaN where there is none. */
double page_number_at(const struct page *page, const char *object, const char *name);

#endif
