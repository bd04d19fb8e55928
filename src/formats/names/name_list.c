#include "formats/names/name_list.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "formats/tns/foreign_file.h"
#include "formats/tns/line_reader.h"

/* Bytes read at a time: the longest text line, with all that may be at its ends, and one more. */
#define WINDOW (UTF8_MARK_BYTES + 4 * NAME_LONGEST + sizeof "\r\n")

/* --- line ends inside names --- */

#define NEWLINE "\\x0a"
#define RETURN  "\\x0d"

size_t name_escaped(struct name name)
{
    size_t bytes = name.length;
    for (size_t i = 0; i < name.length; i++)
        if (name.text[i] == '\n' || name.text[i] == '\r')
            bytes += NAME_ESCAPE - 1;
    return bytes;
}

char *name_escape(struct name name, char *to)
{
    for (size_t i = 0; i < name.length; i++) {
        const char c = name.text[i];
        if (c == '\n' || c == '\r') {
            memcpy(to, c == '\n' ? NEWLINE : RETURN, NAME_ESCAPE);
            to += NAME_ESCAPE;
        } else {
            *to++ = c;
        }
    }
    return to;
}

size_t name_unescape(char *text, size_t length)
{
    char *to = text;
    for (size_t i = 0; i < length; i++) {
        const bool room = length - i >= NAME_ESCAPE;
        const bool newline = room && memcmp(text + i, NEWLINE, NAME_ESCAPE) == 0;
        if (newline || (room && memcmp(text + i, RETURN, NAME_ESCAPE) == 0)) {
            *to++ = newline ? '\n' : '\r';
            i += NAME_ESCAPE - 1;
        } else {
            *to++ = text[i];
        }
    }
    return (size_t)(to - text);
}

/* --- reading --- */

struct list {
    const char *name; /* of the file */
    uint64_t lines;   /* so far      */
    char *text;       /* (NAME_LONGEST * 4) of a name; owned */
};

static enum status take_name(struct list *l, struct name_table *t, const char *begin,
                             const char *end, struct error *error)
{
    uint32_t number;
    if (l->lines++ == 0 && end - begin >= UTF8_MARK_BYTES &&
        memcmp(begin, UTF8_MARK, UTF8_MARK_BYTES) == 0)
        begin += UTF8_MARK_BYTES;
    if (end > begin && end[-1] == '\r')
        end--;
    size_t length = (size_t)(end - begin);
    if (memchr(begin, 0, length))
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64 ": a byte of value 0, expected a name: text, plain or gzip",
                         l->name, l->lines);
    memcpy(l->text, begin, length);
    length = name_unescape(l->text, length);
    if (length > NAME_LONGEST)
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64 ": a name of %zu bytes, expected %zu at most", l->name,
                         l->lines, length, NAME_LONGEST);
    TRY(name_table_add(t, (struct name){l->text, length}, name_hash(l->text, length), &number,
                       error));
    if (number + 1 != l->lines)
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64 ": the name of line %" PRIu64 " again, expected each name "
                         "once",
                         l->name, l->lines, (uint64_t)number + 1);
    return STATUS_OK;
}

static enum status take_window(struct list *l, struct name_table *t,
                               const struct line_window *window, struct error *error)
{
    if (window->overlong)
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64 ": a name of more than %zu bytes, expected a shorter one",
                         l->name, l->lines + 1, NAME_LONGEST);
    for (const char *at = window->begin; at < window->end;) {
        const char *end = memchr(at, '\n', (size_t)(window->end - at));
        TRY(take_name(l, t, at, end, error));
        at = end + 1;
    }
    return STATUS_OK;
}

enum status name_list_read(struct name_table *t, const char *path, struct error *error)
{
    struct line_reader *reader = NULL;
    struct line_window window;
    struct list l = {.text = memory_array(WINDOW, 1, error)};
    if (!l.text)
        return error->status;
    TRY_OR(done, line_reader_open(&reader, path, WINDOW, error));
    l.name = line_reader_name(reader);
    do {
        TRY_OR(done, line_reader_next(reader, &window, error));
        TRY_OR(done, take_window(&l, t, &window, error));
    } while (window.begin < window.end);
    if (t->count == 0)
        error_set(error, STATUS_INPUT, "%s: is empty, expected names, one on each text line",
                  l.name);
done:
    line_reader_close(reader);
    memory_free(l.text);
    return error->status;
}
