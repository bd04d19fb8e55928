/* Prints how long each way of ALS took to come near the best fit, and writes that, with every run,
 * as JSON. Implemented in to_fit_table.c and to_fit_record.c. */
#ifndef BLCO_TO_FIT_SHOW_H
#define BLCO_TO_FIT_SHOW_H

#include <stdio.h>

#include "base/json.h"
#include "bench/to_fit.h"

/* Prints the summaries of *t to `stream`, at most 100 columns wide. */
void to_fit_table(FILE *stream, const struct to_fit *t);

/* Adds to the object that is open in j: tensor (with the name `tensor`), options, to_fit, and, if
 * there are several ranks, ranks with count and grid. null means never reached; times are in
 * seconds. An error stays in j. */
void to_fit_record(struct json *j, const char *tensor, const struct to_fit_request *request,
                   const struct to_fit *t);

#endif
