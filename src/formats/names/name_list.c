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

#define ESCAPED "\n\r\\" /* each is \x and two digits in a file */

/* The byte whose escape begins [at, end); 0 where none does. */
static char escaped_at(const char *at, const char *end)
{
    char text[NAME_ESCAPE + 1];
    for (const char *byte = ESCAPED; *byte && end - at >= NAME_ESCAPE; byte++) {
        snprintf(text, sizeof text, "\\x%02x", *byte);
        if (memcmp(at, text, NAME_ESCAPE) == 0)
            return *byte;
    }
    return 0;
}

char *name_escape(struct name name, char *to)
{
    const char *end = name.text + name.length;
    for (const char *at = name.text; at < end; at++)
        if (*at == '\n' || *at == '\r' || (*at == '\\' && escaped_at(at, end)))
            to += sprintf(to, "\\x%02x", *at);
        else
            *to++ = *at;
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
        const char escaped = *begin == '\\' ? escaped_at(begin, end) : '\0';
        *to++ = escaped ? escaped : *begin;
        begin += escaped ? NAME_ESCAPE : 1;
    }
    return (size_t)(to - name);
}

/* --- reading --- */

/* A file that is read. */
struct list {
    const char *file;         /* its name for messages                                      */
    const char *word, *thing; /* "label", and what each of them is for; or "name", and NULL */
    uint64_t count;           /* of labels that are expected; more are only counted         */
    uint64_t lines;           /* so far                                                     */
    char *text;               /* (WINDOW) of a name; owned                                  */
};

static enum status refuse_long(const struct list *l, uint64_t line, struct error *error)
{
    return error_set(error, STATUS_INPUT,
                     "%s:%" PRIu64 ": a %s of more than %zu bytes, expected a shorter one", l->file,
                     line, l->word, NAME_LONGEST);
}

/* Takes the text line [begin, end) without its newline. */
static enum status take_line(struct list *l, struct name_table *t, const char *begin,
                             const char *end, struct error *error)
{
    uint32_t number;
    l->lines++;
    if (memchr(begin, 0, (size_t)(end - begin)))
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64 ": a byte of value 0, expected a %s: text, plain or gzip",
                         l->file, l->lines, l->word);
    if (l->thing && l->lines > l->count)
        return STATUS_OK;
    const struct name name = {l->text, name_of_line(begin, end, l->lines == 1, l->text)};
    if (name.length > NAME_LONGEST)
        return refuse_long(l, l->lines, error);
    if (l->thing)
        return name_table_append(t, name, error);
    TRY(name_table_add(t, name, name_hash(name.text, name.length), &number, error));
    if (number + 1 == l->lines)
        return STATUS_OK;
    return error_set(error, STATUS_INPUT,
                     "%s:%" PRIu64 ": the name of line %" PRIu64 " again, expected each name once",
                     l->file, l->lines, (uint64_t)number + 1);
}

static enum status read_lines(struct list *l, struct name_table *t, const char *path,
                              struct error *error)
{
    struct line_reader reader = {0};
    struct line_window window;
    l->text = memory_array(WINDOW, 1, error);
    TRY_OR(done, error->status);
    TRY_OR(done, line_reader_open(&reader, path, WINDOW, error));
    l->file = reader.name;
    do {
        TRY_OR(done, line_reader_next(&reader, &window, error));
        if (window.overlong)
            TRY_OR(done, refuse_long(l, l->lines + 1, error));
        for (const char *at = window.begin; at < window.end;) {
            const char *end = memchr(at, '\n', (size_t)(window.end - at));
            TRY_OR(done, take_line(l, t, at, end, error));
            at = end + 1;
        }
    } while (window.begin < window.end);
    if (l->thing && l->lines != l->count && l->count != ANY_LABELS)
        error_set(error, STATUS_INPUT,
                  "%s: %" PRIu64 " label%s, expected %" PRIu64 ", one for each %s", l->file,
                  l->lines, l->lines == 1 ? "" : "s", l->count, l->thing);
    else if (l->lines == 0)
        error_set(error, STATUS_INPUT, "%s: is empty, expected names, one on each text line",
                  l->file);
done:
    line_reader_close(&reader);
    memory_free(l->text);
    return error->status;
}

enum status name_list_read(struct name_table *t, const char *path, struct error *error)
{
    return read_lines(&(struct list){.word = "name"}, t, path, error);
}

enum status name_list_labels(struct name_table *t, const char *path, uint64_t count,
                             const char *thing, struct error *error)
{
    struct list l = {.word = "label", .thing = thing, .count = count};
    if (read_lines(&l, t, path, error) != STATUS_OK)
        name_table_free(t);
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
