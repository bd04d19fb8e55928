/* Reads JSON (RFC 8259) by the library Jansson. Its functions take NULL for a value that is not
 * there, and json_string_value returns NULL for what is not a string, so that a chain of look-ups
 * needs no check before its end. */
#pragma once

#include <stddef.h>

#include <jansson.h>

#include "base/error.h"

/* *value becomes the object or array that text[0..size) is, NULL on failure; messages call the text
 * `path`. All numbers are doubles, the nearest ones. The caller frees *value with json_decref,
 * which accepts NULL. STATUS_INPUT with line and column, also where an object has two members of
 * one name, a text is not UTF-8 or a number is too large for a double; STATUS_MEMORY. */
enum status json_parse(json_t **value, const char *text, size_t size, const char *path,
                       struct error *error);

/* The same for the file at `path`. STATUS_INPUT also where it cannot be read. */
enum status json_read(json_t **value, const char *path, struct error *error);

/* The number that a value is; NaN where it is none or `value` is NULL. */
double json_number_of(const json_t *value);

/* The same of a member of an object, and its text; NULL where it is none. */
double json_number_at(const json_t *object, const char *name);
const char *json_text_at(const json_t *object, const char *name);
