/* Shows which components of two models belong together: for people, and as JSON. */
#ifndef BLCO_MATCH_SHOW_H
#define BLCO_MATCH_SHOW_H

#include <stdio.h>

#include "base/json.h"
#include "formats/names/labels.h"
#include "model/ktensor_match.h"

/* Prints the scores, a table with a text line for each pair, and the components that have no
 * partner. Components and modes count from 1; modes that have a name show it. */
void match_print(FILE *stream, const struct ktensor_match *match, const struct labels *names);

/* Adds the same, with all digits, to the object that is open. */
void match_put_json(struct json *j, const struct ktensor_match *match);

#endif
