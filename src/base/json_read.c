#include "base/json_read.h"

#include <math.h>
#include <string.h>

#include "base/infile.h"
#include "base/memory.h"

/* The most that Jansson allocates for a byte of text: 248 bytes for the three of "{},", rounded up.
 */
#define BYTES_PER_BYTE 96

/* Jansson skips some bytes of value 0. */
static enum status check_bytes(const char *text, size_t size, const char *path, struct error *error)
{
    const char *zero = memchr(text, 0, size);
    if (!zero)
        return STATUS_OK;
    size_t line = 1;
    const char *start = text;
    for (const char *at = text; at < zero; at++)
        if (*at == '\n') {
            line++;
            start = at + 1;
        }
    return error_set(error, STATUS_INPUT, "%s:%zu:%zu: not JSON: a byte of value 0", path, line,
                     (size_t)(zero - start) + 1);
}

enum status json_parse(json_t **value, const char *text, size_t size, const char *path,
                       struct error *error)
{
    json_error_t wrong;
    *value = NULL;
    TRY(check_bytes(text, size, path, error));
    /* Jansson does not survive an allocation that fails, so the memory is tried before. */
    memory_free(memory_array(size + 1, BYTES_PER_BYTE, error));
    TRY(error->status);
    *value = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, &wrong);
    if (*value)
        return STATUS_OK;
    /* Jansson's column is that of the last character that it has taken; what is missing or is not
     * UTF-8 comes after it. */
    enum json_error_code code = json_error_code(&wrong);
    int after = code == json_error_premature_end_of_input || code == json_error_invalid_utf8;
    return error_set(error, STATUS_INPUT, "%s:%d:%d: not JSON: %s", path, wrong.line,
                     wrong.column + after, wrong.text);
}

enum status json_read(json_t **value, const char *path, struct error *error)
{
    size_t size;
    char *text = infile_whole(path, &size, error);
    *value = NULL;
    if (!text)
        return error->status;
    json_parse(value, text, size, path, error);
    memory_free(text);
    return error->status;
}

double json_number_of(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : NAN;
}

double json_number_at(const json_t *object, const char *name)
{
    return json_number_of(json_object_get(object, name));
}

const char *json_text_at(const json_t *object, const char *name)
{
    return json_string_value(json_object_get(object, name));
}
