/* Shows the entries that a search of a slice has found, to people or as JSON. */
#ifndef BLCO_UNLISTED_VIEW_H
#define BLCO_UNLISTED_VIEW_H

#include <stdio.h>

#include "base/json.h"
#include "formats/names/labels.h"
#include "problem/loss.h"
#include "report/unlisted_best.h"

struct unlisted_view {
    const struct unlisted_slice *slice;
    const struct unlisted_best *best;
    const struct labels *labels; /* read */
    const char *tensor;          /* its name */
    int index_base;              /* the number that the first index is shown as */
    const struct loss *loss;     /* of the model                                */
    int each;                    /* the mode that each index was searched of; -1: none */
};

/* Prints which slice it is, and a table of the entries: the indices that are not given, and the
 * values of the model. Labels are made printable, and long ones cut. */
void unlisted_print(FILE *stream, const struct unlisted_view *view);

/* Adds to the object that is open which slice it is, and begins an array of entries. */
void unlisted_begin_json(struct json *j, const struct unlisted_view *view);

/* Adds entries to the array, with whole labels and all digits. */
void unlisted_put_entries(struct json *j, const struct unlisted_view *view);

#endif
