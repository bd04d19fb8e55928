/* Shows how far a model is from given values: for people, and as JSON. */
#ifndef BLCO_RESIDUAL_SHOW_H
#define BLCO_RESIDUAL_SHOW_H

#include <stdio.h>

#include "base/json.h"
#include "formats/names/labels.h"
#include "report/residuals.h"

struct residual_view {
    const struct residuals *residuals; /* residuals_rank has been called                  */
    const struct top_entries *slices;  /* (N) of residuals_slices                         */
    const struct labels *labels;
    int index_base; /* the number that the first index is shown as */
};

#define RESIDUAL_TEXT 224

/* text = number, root mean square and mean magnitude of the residuals, in one sentence. Returns
 * text. */
const char *residual_text(const struct residuals *r, char text[RESIDUAL_TEXT]);

/* Prints this sentence, then tables of the strangest entries and of the strangest slices of each
 * mode. Labels are made printable, and long ones cut. Residuals of 0 are left out. */
void residual_print(FILE *stream, const struct residual_view *view);

/* Adds the same to the object that is open, with whole labels and all digits. */
void residual_put_json(struct json *j, const struct residual_view *view);

#endif
