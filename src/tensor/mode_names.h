/* The names of a tensor's modes, as "user" or "hour". */
#ifndef BLCO_MODE_NAMES_H
#define BLCO_MODE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "numerics/max_order.h"

#define MODE_NAME_BYTES 128 /* with the byte that ends it */

struct mode_names {
    char of[MAX_ORDER][MODE_NAME_BYTES]; /* "": the mode has no name */
};

/* Gives mode n the name text[0..length), which has no byte of value 0. STATUS_INPUT where it has
 * MODE_NAME_BYTES or more. */
enum status mode_names_set(struct mode_names *names, int n, const char *text, size_t length,
                           struct error *error);

/* Whether any mode has a name. */
bool mode_names_any(const struct mode_names *names);

/* Adds "modes", the names of the first `order` modes, to the object that is open, if there are any.
 */
void mode_names_put(struct json *j, const struct mode_names *names, int order);

#endif
