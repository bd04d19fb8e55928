/* Writes JSON (RFC 8259) into memory: names and values in the order of the calls, indented, numbers
 * with the fewest digits that read back exactly. The first failure counts; later calls do nothing.
 */
#ifndef BLCO_JSON_H
#define BLCO_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define JSON_MAX_DEPTH 16

struct json {
    struct error *error;
    char *text; /* (used), not terminated; owned          */
    size_t used, room;
    int depth;
    bool filled[JSON_MAX_DEPTH + 1];  /* the container at this depth has a member        */
    char closing[JSON_MAX_DEPTH + 1]; /* the bracket that ends it                        */
};

/* `error` receives what goes wrong. */
void json_begin(struct json *j, struct error *error);

/* A member of the present object, or, where `name` is NULL, of the present array, or the whole. */
void json_object(struct json *j, const char *name);
void json_array(struct json *j, const char *name);
void json_string(struct json *j, const char *name,
                 const char *value); /* bytes that are not UTF-8 become U+FFFD; NULL: null */
void json_number(struct json *j, const char *name, double value); /* null where not finite */
void json_unsigned(struct json *j, const char *name, uint64_t value);
void json_bool(struct json *j, const char *name, bool value);

/* A whole array of `count` numbers, on one line. */
void json_numbers(struct json *j, const char *name, const double *value, size_t count);
void json_unsigneds(struct json *j, const char *name, const uint64_t *value, size_t count);

/* Ends the innermost object or array; the outermost one with a newline. */
void json_end(struct json *j);

/* Accepts a zeroed one. */
void json_free(struct json *j);

#endif
