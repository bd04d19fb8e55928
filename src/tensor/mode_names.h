/* The names of a tensor's modes, as "user" or "hour", and how its entries were made of a table. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "numerics/max_order.h"

#define MODE_NAME_BYTES 128 /* with the byte that ends it */

#define SOURCE_TEXT 32 /* bytes of what is said of a column, with the one that ends it */

/* .blco files have it as it is (blco-file(5)): texts are terminated, and zeros follow. */
struct mode_names {
    char bin[MAX_ORDER][SOURCE_TEXT];   /* the width of the mode's bins, as --bin has it, or ""   */
    char order[MAX_ORDER][SOURCE_TEXT]; /* how the names of indices are ordered: one of
                                         * csv_order_words; "": the mode is of no table         */
    char value[MODE_NAME_BYTES];        /* the column of values, or "": the rows are counted    */
    char change[SOURCE_TEXT];           /* what became of the values, as --values has it, or "" */
    char name[MAX_ORDER][MODE_NAME_BYTES]; /* "": the mode has no name */
};

/* Whether the tensor is of a table, whose columns are the modes' names. */
static inline bool mode_names_of_table(const struct mode_names *names)
{
    return names->order[0][0] != '\0';
}

/* Gives mode n the name text[0..length), which has no byte of value 0. STATUS_INPUT where it has
 * MODE_NAME_BYTES or more. */
enum status mode_names_set(struct mode_names *names, int n, const char *text, size_t length,
                           struct error *error);

/* Says of the values that they have had `change` done to them, as --values names it, after what was
 * done before; "": nothing. */
void mode_names_add_change(struct mode_names *names, const char *change);

/* The mode, of the first `order` ones, with the name or, from 1, the number text[0..length); -1
 * where there is none. */
int mode_names_find(const struct mode_names *names, int order, const char *text, size_t length);

/* Whether any mode has a name. */
bool mode_names_any(const struct mode_names *names);

/* Adds "modes", the names of the first `order` modes, to the object that is open, if there are any.
 */
void mode_names_put(struct json *j, const struct mode_names *names, int order);
