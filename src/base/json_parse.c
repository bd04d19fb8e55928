/* The parser of json_tree.h: recursive descent over a copy of the text, in which strings lose their
 * escapes in place. */
#include <string.h>

#include "base/json_tree.h"
#include "base/memory.h"
#include "base/number.h"

#define FIRST_ROOM 256

struct parser {
    struct json_tree *tree;
    const char *path;
    char *at, *end;  /* what is left of the text; *end is 0 */
    size_t line;     /* at which p->at stands, from 1       */
    char *line_text; /* its first byte                      */
    int depth;
    struct error *error;
};

static enum status wrong(const struct parser *p, const char *expected)
{
    return error_set(p->error, STATUS_INPUT, "%s:%zu:%zu: not JSON: %s", p->path, p->line,
                     (size_t)(p->at - p->line_text) + 1, expected);
}

/* Newlines of the text stand nowhere else. */
static void skip_space(struct parser *p)
{
    for (; *p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r'; p->at++)
        if (*p->at == '\n') {
            p->line++;
            p->line_text = p->at + 1;
        }
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The four digits at `at`, of which the text ends behind none; -1 where they are no digits. */
static int read_unit(const char *at)
{
    int unit = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(at[i]);
        if (digit < 0)
            return -1;
        unit = unit << 4 | digit;
    }
    return unit;
}

static char *put_utf8(char *to, unsigned code)
{
    if (code < 0x80) {
        *to++ = (char)code;
        return to;
    }
    int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const unsigned lead[] = {0, 0xc0, 0xe0, 0xf0};
    *to++ = (char)(lead[more] | code >> 6 * more);
    while (more-- > 0)
        *to++ = (char)(0x80 | (code >> 6 * more & 0x3f));
    return to;
}

/* The character of \uXXXX, perhaps of a pair of them, behind whose "\u" p->at stands. */
static enum status parse_unicode(struct parser *p, char **to)
{
    int unit = read_unit(p->at);
    if (unit < 0)
        return wrong(p, "four hexadecimal digits expected");
    p->at += 4;
    unsigned code = (unsigned)unit;
    if (code >= 0xd800 && code < 0xdc00 && p->at[0] == '\\' && p->at[1] == 'u') {
        int low = read_unit(p->at + 2);
        if (low >= 0xdc00 && low < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + ((unsigned)low - 0xdc00);
            p->at += 6;
        }
    }
    if (code == 0 || (code >= 0xd800 && code < 0xe000))
        code = 0xfffd;
    *to = put_utf8(*to, code);
    return STATUS_OK;
}

/* The character of an escape, behind whose backslash p->at stands. */
static enum status parse_escape(struct parser *p, char **to)
{
    static const char escapes[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
    if (*p->at == 'u') {
        p->at++;
        return parse_unicode(p, to);
    }
    for (size_t i = 0; i + 1 < sizeof escapes; i += 2)
        if (*p->at == escapes[i]) {
            *(*to)++ = escapes[i + 1];
            p->at++;
            return STATUS_OK;
        }
    return wrong(p, "there is no such escape");
}

/* The string whose quote p->at stands on; *text becomes its text, terminated in place. */
static enum status parse_string(struct parser *p, const char **text)
{
    if (*p->at != '"')
        return wrong(p, "a string expected");
    char *to = ++p->at;
    *text = to;
    while (*p->at != '"') {
        if (p->at == p->end || (unsigned char)*p->at < 0x20)
            return wrong(p, "a string has no end");
        if (*p->at != '\\')
            *to++ = *p->at++;
        else if (p->at++, parse_escape(p, &to) != STATUS_OK)
            return p->error->status;
    }
    p->at++;
    *to = '\0';
    return STATUS_OK;
}

static const char *skip_digits(const char *at)
{
    while (*at >= '0' && *at <= '9')
        at++;
    return at;
}

/* The end of the number at `at`, by JSON's grammar; NULL where there is none. */
static const char *number_end(const char *at)
{
    at += *at == '-';
    const char *digits = at;
    at = skip_digits(at);
    if (at == digits || (*digits == '0' && at > digits + 1))
        return NULL;
    if (*at == '.') {
        digits = ++at;
        at = skip_digits(at);
        if (at == digits)
            return NULL;
    }
    if (*at == 'e' || *at == 'E') {
        at++;
        at += *at == '+' || *at == '-';
        digits = at;
        at = skip_digits(at);
        if (at == digits)
            return NULL;
    }
    return at;
}

static enum status parse_number(struct parser *p, struct json_value *value)
{
    const char *end = number_end(p->at);
    if (!end)
        return wrong(p, "a value expected");
    value->kind = JSON_NUMBER;
    number_parse(p->at, end, &value->number);
    p->at += end - p->at;
    return STATUS_OK;
}

static enum status parse_scalar(struct parser *p, struct json_value *value)
{
    static const struct {
        const char *word;
        enum json_kind kind;
        double number;
    } words[] = {{"null", JSON_NULL, 0}, {"false", JSON_BOOL, 0}, {"true", JSON_BOOL, 1}};
    if (*p->at == '"') {
        value->kind = JSON_STRING;
        return parse_string(p, &value->text);
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t length = strlen(words[i].word);
        if (strncmp(p->at, words[i].word, length) == 0) {
            value->kind = words[i].kind;
            value->number = words[i].number;
            p->at += length;
            return STATUS_OK;
        }
    }
    return parse_number(p, value);
}

/* The place of a new value, after which pointers into tree->value may be others. */
static enum status add_value(struct parser *p, size_t *place)
{
    struct json_tree *tree = p->tree;
    if (tree->count == tree->room) {
        size_t room = tree->room ? 2 * tree->room : FIRST_ROOM;
        if (memory_resize(&tree->value, room, sizeof *tree->value, p->error) != STATUS_OK)
            return p->error->status;
        tree->room = room;
    }
    *place = tree->count++;
    tree->value[*place] = (struct json_value){0};
    return STATUS_OK;
}

static enum status parse_value(struct parser *p, size_t place);

/* One member of the container at `parent`, behind the one at *last. */
static enum status parse_member(struct parser *p, size_t parent, size_t *last)
{
    size_t place = 0;
    const char *name = NULL;
    skip_space(p);
    if (p->tree->value[parent].kind == JSON_OBJECT) {
        if (parse_string(p, &name) != STATUS_OK)
            return p->error->status;
        skip_space(p);
        if (*p->at != ':')
            return wrong(p, "':' expected");
        p->at++;
    }
    if (add_value(p, &place) != STATUS_OK || parse_value(p, place) != STATUS_OK)
        return p->error->status;
    struct json_value *value = p->tree->value;
    value[place].name = name;
    if (*last)
        value[*last].next = place;
    else
        value[parent].first = place;
    value[parent].count++;
    *last = place;
    return STATUS_OK;
}

static enum status parse_container(struct parser *p, size_t place)
{
    bool object = *p->at++ == '{';
    char closing = object ? '}' : ']';
    size_t last = 0;
    p->tree->value[place].kind = object ? JSON_OBJECT : JSON_ARRAY;
    if (++p->depth > JSON_TREE_MAX_DEPTH)
        return wrong(p, "nested too deep");
    skip_space(p);
    while (*p->at != closing) {
        if (last && *p->at++ != ',') {
            p->at--;
            return wrong(p, object ? "',' or '}' expected" : "',' or ']' expected");
        }
        if (parse_member(p, place, &last) != STATUS_OK)
            return p->error->status;
        skip_space(p);
    }
    p->at++;
    p->depth--;
    return STATUS_OK;
}

static enum status parse_value(struct parser *p, size_t place)
{
    skip_space(p);
    if (*p->at == '{' || *p->at == '[')
        return parse_container(p, place);
    return parse_scalar(p, &p->tree->value[place]);
}

enum status json_tree_parse(struct json_tree *tree, const char *text, size_t size, const char *path,
                            struct error *error)
{
    size_t root = 0;
    *tree = (struct json_tree){0};
    tree->text = memory_array(size + 1, 1, error);
    if (!tree->text)
        return error->status;
    memcpy(tree->text, text, size);
    tree->text[size] = '\0';
    struct parser p = {.tree = tree,
                       .path = path,
                       .at = tree->text,
                       .end = tree->text + size,
                       .line = 1,
                       .line_text = tree->text,
                       .error = error};
    if (add_value(&p, &root) == STATUS_OK && parse_value(&p, root) == STATUS_OK) {
        skip_space(&p);
        if (p.at != p.end)
            wrong(&p, "something stands behind the value");
    }
    if (error->status != STATUS_OK)
        json_tree_free(tree);
    return error->status;
}
