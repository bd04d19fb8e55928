#include "formats/names/name_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "formats/tns/foreign_file.h"
#include "formats/tns/line_reader.h"

/* Bytes read at a time: the longest text line, with all that may be at its ends, and one more. */
#define WINDOW (UTF8_MARK_BYTES + 4 * NAME_LONGEST + sizeof "\r\n")

/* --- bytes that files have in another way --- */

static const struct escape {
    char byte, text[NAME_ESCAPE + 1];
} escapes[] = {{'\n', "\\x0a"}, {'\r', "\\x0d"}, {'\\', "\\x5c"}};

#define ESCAPES (sizeof escapes / sizeof *escapes)

/* The escape that begins [at, end), or NULL. */
static const struct escape *escape_at(const char *at, const char *end)
{
    for (size_t i = 0; i < ESCAPES && end - at >= NAME_ESCAPE; i++)
        if (memcmp(at, escapes[i].text, NAME_ESCAPE) == 0)
            return &escapes[i];
    return NULL;
}

char *name_escape(struct name name, char *to)
{
    const char *end = name.text + name.length;
    for (const char *at = name.text; at < end; at++) {
        const struct escape *escape = NULL;
        for (size_t i = 0; i < ESCAPES; i++)
            if (*at == escapes[i].byte && (*at != '\\' || escape_at(at, end)))
                escape = &escapes[i];
        if (escape)
            to = stpcpy(to, escape->text);
        else
            *to++ = *at;
    }
    return to;
}

size_t name_of_line(const char *begin, const char *end, bool first, char *to)
{
    char *name = to;
    if (first && end - begin >= UTF8_MARK_BYTES && memcmp(begin, UTF8_MARK, UTF8_MARK_BYTES) == 0)
        begin += UTF8_MARK_BYTES;
    if (end > begin && end[-1] == '\r')
        end--;
    while (begin < end) {
        const struct escape *escape = *begin == '\\' ? escape_at(begin, end) : NULL;
        *to++ = escape ? escape->byte : *begin;
        begin += escape ? NAME_ESCAPE : 1;
    }
    return (size_t)(to - name);
}

/* --- reading --- */

struct list {
    const char *name; /* of the file */
    uint64_t lines;   /* so far      */
    char *text;       /* (NAME_LONGEST * 4) of a name; owned */
};

enum status name_list_read(struct name_table *t, const char *path, struct error *error)
{
    struct line_reader reader = {0};
    struct line_window window;
    struct list l = {.text = memory_array(WINDOW, 1, error)};
    if (!l.text)
        return error->status;
    TRY_OR(done, line_reader_open(&reader, path, WINDOW, error));
    l.name = reader.name;
    do {
        TRY_OR(done, line_reader_next(&reader, &window, error));
        if (window.overlong)
            TRY_OR(done, error_set(error, STATUS_INPUT,
                                   "%s:%" PRIu64
                                   ": a name of more than %zu bytes, expected a shorter one",
                                   l.name, l.lines + 1, NAME_LONGEST));
        for (const char *at = window.begin; at < window.end;) {
            const char *end = memchr(at, '\n', (size_t)(window.end - at));
            uint32_t number;
            l.lines++;
            const size_t length = name_of_line(at, end, l.lines == 1, l.text);
            if (memchr(l.text, 0, length))
                TRY_OR(done, error_set(error, STATUS_INPUT,
                                       "%s:%" PRIu64
                                       ": a byte of value 0, expected a name: text, plain or gzip",
                                       l.name, l.lines));
            if (length > NAME_LONGEST)
                TRY_OR(done, error_set(error, STATUS_INPUT,
                                       "%s:%" PRIu64 ": a name of %zu bytes, expected %zu at most",
                                       l.name, l.lines, length, NAME_LONGEST));
            TRY_OR(done, name_table_add(t, (struct name){l.text, length}, name_hash(l.text, length),
                                        &number, error));
            if (number + 1 != l.lines)
                TRY_OR(done, error_set(error, STATUS_INPUT,
                                       "%s:%" PRIu64 ": the name of line %" PRIu64
                                       " again, expected each name "
                                       "once",
                                       l.name, l.lines, (uint64_t)number + 1));
            at = end + 1;
        }
    } while (window.begin < window.end);
    if (t->count == 0)
        error_set(error, STATUS_INPUT, "%s: is empty, expected names, one on each text line",
                  l.name);
done:
    line_reader_close(&reader);
    memory_free(l.text);
    return error->status;
}

static const char *const endings[] = {".blco", ".tns", ".tns.gz", ".npy"};

const char *name_maps_suffix(int i, char text[NAME_MAPS_SUFFIX])
{
    if (i == NAME_MAPS_MODES)
        snprintf(text, NAME_MAPS_SUFFIX, "modes.map");
    else
        snprintf(text, NAME_MAPS_SUFFIX, "mode%d.map", i + 1);
    return text;
}

size_t name_maps_length(const char *path)
{
    const char *pair = strstr(path, ".npy,");
    return pair ? (size_t)(pair - path) + strlen(".npy") : strlen(path);
}

char *name_maps_stem(const char *path, struct error *error)
{
    const size_t length = name_maps_length(path);
    size_t stem = length;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t end = strlen(endings[i]);
        if (length > end && memcmp(path + length - end, endings[i], end) == 0)
            stem = length - end;
    }
    return memory_text(error, "%.*s", (int)stem, path);
}

char *name_maps_path(const char *stem, int i, struct error *error)
{
    char suffix[NAME_MAPS_SUFFIX];
    return memory_text(error, "%s.%s", stem, name_maps_suffix(i, suffix));
}
