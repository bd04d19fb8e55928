/* Reads JSON (RFC 8259) whole into memory. Implemented in json_tree.c and json_parse.c. */
#ifndef BLCO_JSON_TREE_H
#define BLCO_JSON_TREE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

enum json_kind { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json_value {
    enum json_kind kind;
    const char *name;   /* of a member of an object; else NULL                               */
    const char *text;   /* of a string, without escapes; else NULL. What no character stands for,
                         * and \u0000, are U+FFFD; bytes that are not UTF-8 stay             */
    double number;      /* of a number; 1 of true; else 0                                    */
    size_t count;       /* of the members of an object or array                              */
    size_t first, next; /* the places of the first member and of the next one of the same
                         * container; 0: there is none                                       */
};

struct json_tree {
    char *text; /* which the values' texts are parts of; owned            */
    size_t count, room;
    struct json_value *value; /* (count) value[0] is the document; owned  */
};

#define JSON_TREE_MAX_DEPTH 64

/* Parses text[0..size), which need not be terminated; messages name it `path`. The caller frees
 * *tree with json_tree_free; it is empty on failure. STATUS_INPUT, with line and column, also
 * where containers nest more than JSON_TREE_MAX_DEPTH deep; STATUS_MEMORY. */
enum status json_tree_parse(struct json_tree *tree, const char *text, size_t size, const char *path,
                            struct error *error);

/* The same of the file at `path`. STATUS_INPUT also where it cannot be read. */
enum status json_tree_read(struct json_tree *tree, const char *path, struct error *error);

/* Accepts an empty tree. */
void json_tree_free(struct json_tree *tree);

/* All of these accept NULL for a value that is not there. */

/* The member of this name of an object, the first of several; NULL where there is none. */
const struct json_value *json_member(const struct json_tree *tree, const struct json_value *object,
                                     const char *name);

/* The first member of a container, and the one that follows a member; NULL where there is none. */
const struct json_value *json_first(const struct json_tree *tree,
                                    const struct json_value *container);
const struct json_value *json_next(const struct json_tree *tree, const struct json_value *member);

/* The text of a string, or NULL; the number, or NaN; whether the value is true. */
const char *json_text_of(const struct json_value *value);
double json_number_of(const struct json_value *value);
bool json_is_true(const struct json_value *value);

#endif
