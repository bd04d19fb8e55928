/* Shows the strongest entries of components: for people, and as JSON. */
#ifndef BLCO_TOP_SHOW_H
#define BLCO_TOP_SHOW_H

#include <stdio.h>

#include "base/json.h"
#include "model/ktensor.h"
#include "formats/names/labels.h"
#include "report/top_entries.h"

/* What is shown: some components and modes of a model. Numbers count from 0; an end is one after
 * the last. */
struct top_view {
    const struct ktensor *model;
    const struct labels *labels;   /* read                                      */
    const struct top_entries *top; /* (N) of each mode that is shown            */
    int index_base;                /* the number that the first index is shown as */
    uint64_t component, end_component;
    int mode, end_mode;
};

/* Prints a block of text lines for each component, with as many modes side by side as 80 columns
 * hold. Labels are made printable, and long ones cut. Entries of 0 are left out. */
void top_print(FILE *stream, const struct top_view *view);

/* Adds the same to the object that is open, with whole labels and all digits. */
void top_put_json(struct json *j, const struct top_view *view);

#endif
