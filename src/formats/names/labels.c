#include "formats/names/labels.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/outfile_set.h"
#include "formats/names/name_list.h"
#include "formats/tns/foreign_file.h"
#include "formats/tns/line_reader.h"

/* Bytes that are read at a time: the longest text line, and one more, which shows whether that line
 * is the last. */
#define WINDOW (UTF8_MARK_BYTES + NAME_ESCAPE * NAME_LONGEST + sizeof "\r\n")

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

enum status labels_add(struct labels *l, const char *text, struct error *error)
{
    const char *at = text, *name, *end;
    if (strcmp(text, "none") == 0) {
        l->none = true;
        return STATUS_OK;
    }
    do {
        uint64_t mode;
        name = parse_mode(at, &mode);
        end = name ? name_end(name) : NULL;
        if (!name || end == name)
            return error_set(error, STATUS_INPUT,
                             "--labels: '%s', expected MODE=FILE, as 1=dates.map, or several of "
                             "them separated by commas, or none",
                             text);
        if (mode < 1 || mode > MAX_ORDER)
            return error_set(error, STATUS_INPUT, "--labels: mode %" PRIu64 ", expected 1 to %d",
                             mode, MAX_ORDER);
        char **path = &l->mode[mode - 1].path;
        if (*path)
            return error_set(error, STATUS_INPUT,
                             "--labels: mode %" PRIu64 " twice, expected one file for each mode",
                             mode);
        *path = memory_text(error, "%.*s", (int)(end - name), name);
        TRY(error->status);
        at = end + 1;
    } while (*end);
    return STATUS_OK;
}

/* --- the files --- */

struct label_file {
    struct line_reader reader;
    uint64_t lines;      /* text lines so far                    */
    uint64_t used, room; /* bytes of the labels' text, and space */
};

static enum status refuse_long(const struct label_file *f, uint64_t line, struct error *error)
{
    return error_set(error, STATUS_INPUT,
                     "%s:%" PRIu64 ": a label of more than %zu bytes, expected a shorter one",
                     f->reader.name, line, NAME_LONGEST);
}

/* Takes the text line [begin, end) without its line end. Labels beyond the mode's length are only
 * counted. There is room for the label. */
static enum status take_line(struct label_file *f, struct mode_labels *m, const char *begin,
                             const char *end, struct error *error)
{
    f->lines++;
    if (memchr(begin, 0, (size_t)(end - begin)))
        return error_set(error, STATUS_INPUT,
                         "%s:%" PRIu64 ": a byte of value 0, expected a label: text, plain or gzip",
                         f->reader.name, f->lines);
    if (f->lines > m->count)
        return STATUS_OK;
    const size_t length = name_of_line(begin, end, f->lines == 1, m->text + f->used);
    if (length > NAME_LONGEST)
        return refuse_long(f, f->lines, error);
    m->first[f->lines - 1] = f->used;
    m->text[f->used + length] = '\0';
    f->used += length + 1;
    return STATUS_OK;
}

/* Reads the file m->path, which is to have `count` labels, one for each of what `of` says. */
static enum status read_file(struct mode_labels *m, uint64_t count, const char *of,
                             struct error *error)
{
    struct label_file f = {0};
    TRY(line_reader_open(&f.reader, m->path, WINDOW, error));
    struct line_window window = {0};
    m->first = memory_array(count, sizeof *m->first, error);
    TRY_OR(done, error->status);
    m->count = count;
    do {
        TRY_OR(done, line_reader_next(&f.reader, &window, error));
        if (window.overlong)
            TRY_OR(done, refuse_long(&f, f.lines + 1, error));
        /* a terminated label takes no more bytes than its text line */
        const uint64_t needed = f.used + (uint64_t)(window.end - window.begin);
        if (f.lines < m->count && needed > f.room) {
            TRY_OR(done, memory_resize(&m->text, needed + f.used / 2, 1, error));
            f.room = needed + f.used / 2;
        }
        for (const char *at = window.begin; at < window.end;) {
            const char *end = memchr(at, '\n', (size_t)(window.end - at));
            TRY_OR(done, take_line(&f, m, at, end, error));
            at = end + 1;
        }
    } while (window.begin < window.end);
    if (f.lines != count)
        error_set(error, STATUS_INPUT,
                  "%s: %" PRIu64 " label%s, expected %" PRIu64 ", one for each %s", f.reader.name,
                  f.lines, f.lines == 1 ? "" : "s", count, of);
done:
    if (error->status != STATUS_OK)
        m->count = 0;
    line_reader_close(&f.reader);
    return error->status;
}

static void free_mode(struct mode_labels *m)
{
    memory_free(m->path);
    memory_free(m->first);
    memory_free(m->text);
    *m = (struct mode_labels){0};
}

enum status labels_read(struct labels *l, const struct shape *shape, struct error *error)
{
    for (int n = shape->order; n < MAX_ORDER; n++)
        if (l->mode[n].path)
            return error_set(error, STATUS_INPUT, "--labels: mode %d, expected 1 to %d", n + 1,
                             shape->order);
    for (int n = 0; n < shape->order; n++) {
        char of[32];
        snprintf(of, sizeof of, "index of mode %d", n + 1);
        if (l->mode[n].path)
            TRY(read_file(&l->mode[n], shape->dims[n], of, error));
    }
    return STATUS_OK;
}

/* --- files beside a tensor or a model --- */

/* *path = the name of the file that counts as STEM.SUFFIX, or NULL where there is none. */
static enum status find_file(char **path, const char *log, const char *stem, const char *suffix,
                             struct error *error)
{
    TRY(outfile_set_find(path, log, stem, suffix, error));
    if (*path && access(*path, F_OK) != 0) {
        memory_free(*path);
        *path = NULL;
    }
    return STATUS_OK;
}

static enum status read_mode_names(struct labels *l, const char *log, const char *stem, int order,
                                   struct error *error)
{
    struct mode_labels m = {0};
    char suffix[NAME_MAPS_SUFFIX];
    if (mode_names_any(&l->modes))
        return STATUS_OK;
    TRY(find_file(&m.path, log, stem, name_maps_suffix(NAME_MAPS_MODES, suffix), error));
    if (m.path)
        TRY_OR(done, read_file(&m, (uint64_t)order, "mode", error));
    for (uint64_t n = 0; n < m.count; n++) {
        const char *name = m.text + m.first[n];
        if (mode_names_set(&l->modes, (int)n, name, strlen(name), error) != STATUS_OK) {
            error_prefix(error, "%s: ", m.path);
            break;
        }
    }
done:
    free_mode(&m);
    return error->status;
}

enum status labels_find(struct labels *l, const char *stem, int order, struct error *error)
{
    char *log = NULL, suffix[NAME_MAPS_SUFFIX];
    l->order = order;
    if (l->none)
        return STATUS_OK;
    TRY(stem_lock_read(stem, &log, error));
    for (int n = 0; n < order; n++)
        if (!l->mode[n].path)
            TRY_OR(done,
                   find_file(&l->mode[n].path, log, stem, name_maps_suffix(n, suffix), error));
    read_mode_names(l, log, stem, order, error);
done:
    memory_free(log);
    return error->status;
}

enum status labels_find_tensor(struct labels *l, const char *path, int order, struct error *error)
{
    char *stem = NULL;
    l->order = order;
    if (strcmp(path, "-") == 0)
        return STATUS_OK;
    stem = name_maps_stem(path, error);
    if (stem)
        labels_find(l, stem, order, error);
    memory_free(stem);
    return error->status;
}

/* --- names of CSV --- */

enum status labels_take(struct labels *l, struct tensor_names *names, struct error *error)
{
    l->modes = names->modes;
    l->order = names->order;
    for (int n = 0; n < names->order; n++) {
        struct mode_labels *m = &l->mode[n];
        struct name_table *from = &names->index[n];
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < from->count; i++)
            bytes += name_table_get(from, i).length + 1;
        m->first = memory_array(from->count, sizeof *m->first, error);
        m->text = memory_array(bytes, 1, error);
        TRY(error->status);
        char *at = m->text;
        for (uint32_t i = 0; i < from->count; i++) {
            const struct name name = name_table_get(from, i);
            m->first[i] = (uint64_t)(at - m->text);
            at = mempcpy(at, name.text, name.length);
            *at++ = '\0';
        }
        m->count = from->count;
        name_table_free(from);
    }
    tensor_names_free(names);
    return STATUS_OK;
}

/* --- both --- */

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
    for (int n = 0; n < MAX_ORDER; n++)
        free_mode(&l->mode[n]);
    *l = (struct labels){0};
}

#define PIECE ((size_t)1 << 20) /* bytes handed over at a time, at least */

bool map_exists(const struct labels *names, int i)
{
    if (!names)
        return false;
    if (i < NAME_MAPS_MODES)
        return names->mode[i].count > 0;
    bool any = mode_names_any(&names->modes);
    for (int n = 0; n < NAME_MAPS_MODES; n++)
        any = any || names->mode[n].count > 0;
    return any;
}

/* A function that takes the text of a file piece by piece. */
typedef enum status taker(void *context, const char *piece, size_t size, struct error *error);

/* Copies text line k of file i to `to`; returns the end of the copy. Readers skip one mark of UTF-8
 * before the first name. */
static char *put_line(const struct labels *names, int i, uint64_t k, char *to)
{
    const char *name =
        i == NAME_MAPS_MODES ? names->modes.of[k] : names->mode[i].text + names->mode[i].first[k];
    if (k == 0 && strncmp(name, UTF8_MARK, UTF8_MARK_BYTES) == 0)
        to = stpcpy(to, UTF8_MARK);
    to = name_escape((struct name){name, strlen(name)}, to);
    *to++ = '\n';
    return to;
}

/* Hands the text of file i over to `take`. */
static enum status each_piece(const struct labels *names, int i, taker *take, void *context,
                              struct error *error)
{
    const uint64_t lines = i == NAME_MAPS_MODES ? (uint64_t)names->order : names->mode[i].count;
    const size_t longest = i == NAME_MAPS_MODES ? MODE_NAME_BYTES : labels_longest(names, i);
    char *piece = memory_array(PIECE + UTF8_MARK_BYTES + NAME_ESCAPE * longest + 1, 1, error);
    if (!piece)
        return error->status;
    char *at = piece;
    for (uint64_t k = 0; k < lines; k++) {
        at = put_line(names, i, k, at);
        if (at < piece + PIECE && k + 1 < lines)
            continue;
        if (take(context, piece, (size_t)(at - piece), error) != STATUS_OK)
            break;
        at = piece;
    }
    memory_free(piece);
    return error->status;
}

static enum status append(void *file, const char *piece, size_t size, struct error *error)
{
    return outfile_write(file, piece, size, error);
}

enum status map_write(struct outfile *f, const struct labels *names, int i, struct error *error)
{
    return each_piece(names, i, append, f, error);
}

/* A file that is compared with the text. */
struct comparison {
    FILE *file;
    bool same; /* so far */
};

static enum status compare(void *comparison, const char *piece, size_t size, struct error *error)
{
    struct comparison *c = comparison;
    char part[4096];
    (void)error;
    for (size_t at = 0; at < size && c->same; at += sizeof part) {
        const size_t wanted = size - at < sizeof part ? size - at : sizeof part;
        c->same =
            fread(part, 1, wanted, c->file) == wanted && memcmp(part, piece + at, wanted) == 0;
    }
    return STATUS_OK;
}

enum status map_is_same(bool *same, const char *path, const struct labels *names, int i,
                        struct error *error)
{
    struct comparison c = {.file = fopen(path, "re"), .same = true};
    *same = false;
    if (!c.file)
        return STATUS_OK;
    TRY_OR(done, each_piece(names, i, compare, &c, error));
    *same = c.same && getc(c.file) == EOF;
done:
    fclose(c.file);
    return error->status;
}
