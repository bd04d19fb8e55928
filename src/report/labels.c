#include "report/labels.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "formats/tns/foreign_file.h"
#include "formats/tns/line_reader.h"

#define LONGEST ((size_t)1 << 20) /* bytes of a label */

/* Bytes that are read at a time: the longest text line, and one more, which shows whether that line
 * is the last. */
#define WINDOW (UTF8_MARK_BYTES + LONGEST + sizeof "\r\n")

/* --- the option --- */

/* What follows "MODE=" at `text`, and the mode; NULL if there is something else. */
static const char *parse_mode(const char *text, uint64_t *mode)
{
    const char *end = text + strlen(text), *rest = number_parse_unsigned(text, end, mode);
    return rest && rest > text && *rest == '=' ? rest + 1 : NULL;
}

/* The comma that ends the file's name, or the end of the text. */
static const char *name_end(const char *name)
{
    uint64_t mode;
    const char *end = name + strcspn(name, ",");
    while (*end && !parse_mode(end + 1, &mode))
        end += 1 + strcspn(end + 1, ",");
    return end;
}

/* Adds the file named in name[0..length). */
static enum status add_file(struct labels *l, uint64_t mode, const char *name, size_t length,
                            struct error *error)
{
    if (mode < 1 || mode > MAX_ORDER)
        return error_set(error, STATUS_INPUT, "--labels: mode %" PRIu64 ", expected 1 to %d", mode,
                         MAX_ORDER);
    char **path = &l->mode[mode - 1].path;
    if (*path)
        return error_set(error, STATUS_INPUT,
                         "--labels: mode %" PRIu64 " twice, expected one file for each mode", mode);
    *path = memory_text(error, "%.*s", (int)length, name);
    return error->status;
}

enum status labels_add(struct labels *l, const char *text, struct error *error)
{
    const char *at = text, *name, *end;
    do {
        uint64_t mode;
        name = parse_mode(at, &mode);
        end = name ? name_end(name) : NULL;
        if (!name || end == name)
            return error_set(error, STATUS_INPUT,
                             "--labels: '%s', expected MODE=FILE, as 1=dates.map, or several of "
                             "them separated by commas",
                             text);
        if (add_file(l, mode, name, (size_t)(end - name), error) != STATUS_OK)
            return error->status;
        at = end + 1;
    } while (*end);
    return STATUS_OK;
}

/* --- the files --- */

struct label_file {
    struct line_reader *reader;
    const char *name;
    uint64_t lines;      /* text lines so far                    */
    uint64_t used, room; /* bytes of the labels' text, and space */
};

static enum status make_room(struct label_file *f, struct mode_labels *m, uint64_t more,
                             struct error *error)
{
    if (f->used + more <= f->room)
        return STATUS_OK;
    uint64_t room = f->used + more + f->used / 2;
    if (memory_resize(&m->text, room, 1, error) != STATUS_OK)
        return error->status;
    f->room = room;
    return STATUS_OK;
}

static enum status refuse_long(const struct label_file *f, struct error *error)
{
    return error_set(error, STATUS_INPUT,
                     "%s:%" PRIu64 ": a label of more than %zu bytes, expected a shorter one",
                     f->name, f->lines + 1, LONGEST);
}

/* Takes the text line [begin, end) without its line end. Labels beyond the mode's length are only
 * counted. There is room for the label. */
static enum status take_line(struct label_file *f, struct mode_labels *m, const char *begin,
                             const char *end, struct error *error)
{
    if (f->lines == 0 && end - begin >= UTF8_MARK_BYTES &&
        memcmp(begin, UTF8_MARK, UTF8_MARK_BYTES) == 0)
        begin += UTF8_MARK_BYTES;
    if (end > begin && end[-1] == '\r')
        end--;
    size_t length = (size_t)(end - begin);
    if (length > LONGEST)
        return refuse_long(f, error);
    f->lines++;
    if (memchr(begin, 0, length))
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64 ": a byte of value 0, expected a label: text, plain or gzip",
                         f->name, f->lines);
    if (f->lines > m->count)
        return STATUS_OK;
    m->first[f->lines - 1] = f->used;
    memcpy(m->text + f->used, begin, length);
    m->text[f->used + length] = '\0';
    f->used += length + 1;
    return STATUS_OK;
}

/* Takes the text lines of the window. A terminated label takes no more bytes than its text line. */
static enum status take_window(struct label_file *f, struct mode_labels *m,
                               const struct line_window *window, struct error *error)
{
    if (window->overlong)
        return refuse_long(f, error);
    uint64_t bytes = (uint64_t)(window->end - window->begin);
    if (f->lines < m->count)
        if (make_room(f, m, bytes, error) != STATUS_OK)
            return error->status;
    for (const char *at = window->begin; at < window->end;) {
        const char *end = memchr(at, '\n', (size_t)(window->end - at));
        if (take_line(f, m, at, end, error) != STATUS_OK)
            return error->status;
        at = end + 1;
    }
    return STATUS_OK;
}

/* Reads the labels of mode n, which has `length` indices, from the open file. */
static enum status read_labels(struct label_file *f, struct mode_labels *m, int n, uint64_t length,
                               struct error *error)
{
    struct line_window window = {0};
    m->first = memory_array(length, sizeof *m->first, error);
    if (!m->first)
        return error->status;
    m->count = length;
    do {
        if (line_reader_next(f->reader, &window, error) != STATUS_OK)
            return error->status;
        if (take_window(f, m, &window, error) != STATUS_OK)
            return error->status;
    } while (window.begin < window.end);
    if (f->lines != length)
        return error_set(error, STATUS_INPUT,
                         "%s: %" PRIu64 " label%s, expected %" PRIu64
                         ", one for each index of mode %d",
                         f->name, f->lines, f->lines == 1 ? "" : "s", length, n + 1);
    return STATUS_OK;
}

/* Reads the file of mode n, which has `length` indices. */
static enum status read_mode(struct mode_labels *m, int n, uint64_t length, struct error *error)
{
    struct label_file f = {0};
    if (line_reader_open(&f.reader, m->path, WINDOW, error) != STATUS_OK)
        return error->status;
    f.name = line_reader_name(f.reader);
    if (read_labels(&f, m, n, length, error) != STATUS_OK)
        m->count = 0;
    line_reader_close(f.reader);
    return error->status;
}

enum status labels_read(struct labels *l, const struct shape *shape, struct error *error)
{
    for (int n = shape->order; n < MAX_ORDER; n++)
        if (l->mode[n].path)
            return error_set(error, STATUS_INPUT, "--labels: mode %d, expected 1 to %d", n + 1,
                             shape->order);
    for (int n = 0; n < shape->order; n++)
        if (l->mode[n].path && read_mode(&l->mode[n], n, shape->dims[n], error) != STATUS_OK)
            return error->status;
    return STATUS_OK;
}

const char *labels_get(const struct labels *l, int n, uint64_t i)
{
    const struct mode_labels *m = &l->mode[n];
    const char *label = i < m->count ? m->text + m->first[i] : NULL;
    return label && *label ? label : NULL;
}

size_t labels_longest(const struct labels *l, int n)
{
    const struct mode_labels *m = &l->mode[n];
    size_t longest = 0;
    for (uint64_t i = 0; i < m->count; i++) {
        size_t length = strlen(m->text + m->first[i]);
        longest = length > longest ? length : longest;
    }
    return longest;
}

void labels_free(struct labels *l)
{
    for (int n = 0; n < MAX_ORDER; n++) {
        memory_free(l->mode[n].path);
        memory_free(l->mode[n].first);
        memory_free(l->mode[n].text);
    }
    *l = (struct labels){0};
}

const char *mode_name(int n, char name[MODE_NAME_ROOM])
{
    snprintf(name, MODE_NAME_ROOM, "mode %d", n + 1);
    return name;
}

const char *mode_heading(int n, char name[MODE_NAME_ROOM])
{
    mode_name(n, name);
    name[0] = 'M';
    return name;
}
