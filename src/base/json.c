#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/utf8.h"

#define FIRST_ROOM 4096

void json_begin(struct json *j, struct error *error)
{
    *j = (struct json){.error = error};
}

void json_free(struct json *j)
{
    memory_free(j->text);
    j->text = NULL;
    j->used = j->room = 0;
}

static void put(struct json *j, const char *bytes, size_t count)
{
    if (j->error->status != STATUS_OK)
        return;
    if (count > j->room - j->used) {
        size_t room = j->room ? 2 * j->room : FIRST_ROOM;
        while (room - j->used < count)
            room *= 2;
        if (memory_resize(&j->text, room, 1, j->error) != STATUS_OK)
            return;
        j->room = room;
    }
    memcpy(j->text + j->used, bytes, count);
    j->used += count;
}

static void put_text(struct json *j, const char *text)
{
    put(j, text, strlen(text));
}

static void put_newline(struct json *j)
{
    put_text(j, "\n");
    for (int i = 0; i < j->depth; i++)
        put_text(j, "  ");
}

/* Puts a character by its code point, with the two halves of a surrogate pair above U+FFFF. */
static void put_escaped(struct json *j, uint32_t c)
{
    static const char shorts[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    for (size_t i = 0; i + 1 < sizeof shorts; i += 2)
        if ((uint32_t)shorts[i] == c) {
            put_text(j, "\\");
            put(j, shorts + i + 1, 1);
            return;
        }
    char text[16];
    if (c < 0x10000)
        snprintf(text, sizeof text, "\\u%04x", c);
    else
        snprintf(text, sizeof text, "\\u%04x\\u%04x", 0xd7c0 + (c >> 10), 0xdc00 + (c & 0x3ff));
    put_text(j, text);
}

static void put_string(struct json *j, const char *value)
{
    put_text(j, "\"");
    for (const char *at = value; *at;) {
        size_t length = utf8_length(at);
        if (length == 0)
            put_text(j, "\\ufffd");
        else if (*at == '"' || *at == '\\' || printable_length(at) == 0)
            put_escaped(j, utf8_code_point(at, length));
        else
            put(j, at, length);
        at += length ? length : 1;
    }
    put_text(j, "\"");
}

/* Puts what stands before a value: comma, newline and indent, name. */
static void put_lead(struct json *j, const char *name)
{
    if (j->depth > 0 && j->filled[j->depth])
        put_text(j, j->on_line ? ", " : ",");
    if (j->depth > 0 && !j->on_line)
        put_newline(j);
    j->filled[j->depth] = true;
    if (name) {
        put_string(j, name);
        put_text(j, ": ");
    }
}

static void open_container(struct json *j, const char *name, const char *opening, char closing)
{
    put_lead(j, name);
    put_text(j, opening);
    if (j->depth == JSON_MAX_DEPTH) {
        error_set(j->error, STATUS_INTERNAL, "JSON nested more than %d deep", JSON_MAX_DEPTH);
        return;
    }
    j->depth++;
    j->filled[j->depth] = false;
    j->closing[j->depth] = closing;
}

void json_put_object(struct json *j, const char *name)
{
    open_container(j, name, "{", '}');
}

void json_put_array(struct json *j, const char *name)
{
    open_container(j, name, "[", ']');
}

void json_end(struct json *j)
{
    if (j->depth == 0)
        return;
    char closing = j->closing[j->depth];
    bool filled = j->filled[j->depth--];
    if (filled && !j->on_line)
        put_newline(j);
    j->on_line = false;
    put(j, &closing, 1);
    if (j->depth == 0)
        put_text(j, "\n");
}

void json_put_string(struct json *j, const char *name, const char *value)
{
    put_lead(j, name);
    if (value)
        put_string(j, value);
    else
        put_text(j, "null");
}

void json_put_number(struct json *j, const char *name, double value)
{
    char text[NUMBER_MAX_TEXT];
    put_lead(j, name);
    if (isfinite(value))
        put(j, text, (size_t)(number_format(value, text) - text));
    else
        put_text(j, "null");
}

void json_put_unsigned(struct json *j, const char *name, uint64_t value)
{
    char text[NUMBER_MAX_TEXT];
    put_lead(j, name);
    put(j, text, (size_t)(number_format_unsigned(value, text) - text));
}

void json_put_bool(struct json *j, const char *name, bool value)
{
    put_lead(j, name);
    put_text(j, value ? "true" : "false");
}

void json_put_numbers(struct json *j, const char *name, const double *value, size_t count)
{
    json_put_array(j, name);
    j->on_line = true;
    for (size_t i = 0; i < count; i++)
        json_put_number(j, NULL, value[i]);
    json_end(j);
}

void json_put_unsigneds(struct json *j, const char *name, const uint64_t *value, size_t count)
{
    json_put_array(j, name);
    j->on_line = true;
    for (size_t i = 0; i < count; i++)
        json_put_unsigned(j, NULL, value[i]);
    json_end(j);
}

void json_put_counts(struct json *j, const char *name, const int *value, size_t count)
{
    json_put_array(j, name);
    j->on_line = true;
    for (size_t i = 0; i < count; i++)
        json_put_unsigned(j, NULL, (uint64_t)value[i]);
    json_end(j);
}
