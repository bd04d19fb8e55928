/* What a page is about. */
#ifndef BLCO_PAGE_SUBJECT_H
#define BLCO_PAGE_SUBJECT_H

#include "base/json_tree.h"
#include "report/labels.h"
#include "report/mode_view.h"

/* All is borrowed. */
struct page {
    const char *stem;            /* of the model                              */
    const struct ktensor *model; /* arranged (ktensor_arrange)                */
    const struct labels *labels;
    const struct mode_view *view;   /* [n] of mode n                          */
    const struct json_tree *record; /* of the run, checked; NULL: there is none */
};

#endif
