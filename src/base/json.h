/* Writes JSON (RFC 8259) into memory: names and values in the order of the calls, indented, numbers
 * with the fewest digits that read back exactly. After the first failure calls do nothing. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define JSON_MAX_DEPTH 16

struct json {
    struct error *error;
    char *text;                       /* (used), not terminated; owned                   */
    size_t used, room;                /* bytes of text: written, allocated               */
    int depth;                        /* open objects and arrays                         */
    bool on_line;                     /* the innermost is an array on one text line      */
    bool filled[JSON_MAX_DEPTH + 1];  /* the container at this depth has a member        */
    char closing[JSON_MAX_DEPTH + 1]; /* the bracket that ends the container             */
};

/* Empties *j. *error, which outlives *j, receives failures: STATUS_MEMORY, and STATUS_INTERNAL
 * where objects and arrays nest more than JSON_MAX_DEPTH deep. The caller calls json_free. */
void json_begin(struct json *j, struct error *error);

/* Each of the functions json_put_... adds a value: under `name` to the innermost open object, or,
 * where `name` is NULL, to the innermost open array or as the whole document. */
void json_put_object(struct json *j, const char *name);
void json_put_array(struct json *j, const char *name);
void json_put_string(struct json *j, const char *name,
                     const char *value); /* what is not UTF-8 becomes U+FFFD; NULL: null */
void json_put_number(struct json *j, const char *name, double value); /* null where not finite */
void json_put_unsigned(struct json *j, const char *name, uint64_t value);
void json_put_bool(struct json *j, const char *name, bool value);

/* Adds an array of `count` numbers, on one text line. */
void json_put_numbers(struct json *j, const char *name, const double *value, size_t count);
void json_put_unsigneds(struct json *j, const char *name, const uint64_t *value, size_t count);
void json_put_counts(struct json *j, const char *name, const int *value, size_t count); /* >= 0 */

/* Ends the innermost open object or array; a newline follows the outermost. */
void json_end(struct json *j);

/* Frees the text; accepts a zeroed one. */
void json_free(struct json *j);
