/* Shows the entries of a slice where a model is largest: for people, and as JSON. */
#ifndef BLCO_UNLISTED_SHOW_H
#define BLCO_UNLISTED_SHOW_H

#include <stdio.h>

#include "report/unlisted_best.h"
#include "base/json.h"
#include "formats/names/labels.h"

struct unlisted_view {
    const struct unlisted_slice *slice;
    const struct unlisted_best *best;
    const struct labels *labels; /* read */
    const char *tensor;          /* its name */
    int index_base;              /* the number that the first index is shown as */
};

/* Prints which slice it is, and a table of the entries: the indices that are not given, and the
 * values of the model. Labels are made printable, and long ones cut. */
void unlisted_print(FILE *stream, const struct unlisted_view *view);

/* Adds the same to the object that is open, with whole labels and all digits. */
void unlisted_put_json(struct json *j, const struct unlisted_view *view);

#endif
